"""``PolicyLearner``: from a log to a new policy and the proof that it is better, in scikit-learn's words."""

import inspect
import json
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from surelift.decisions.certificate import Certificate
from surelift.decisions.compare import compare
from surelift.decisions.guarantee import Guarantee
from surelift.decisions.improvement import Improvement
from surelift.decisions.method import check_delta
from surelift.errors import UsageError, share
from surelift.learning.checkpoint import Checkpoint
from surelift.learning.features import Features, standardised
from surelift.learning.fit import Training, train
from surelift.learning.guarantee import NAME, guarantee_of
from surelift.learning.learned import LearnedPolicy, ModuleRule, SoftmaxRule, as_table
from surelift.learning.options import Choice
from surelift.learning.policies import LinearGaussian, SoftmaxOfScores
from surelift.learning.rows import Rows, decided_fingerprint, survey, tables_of
from surelift.learning.rule import GaussianRule, Single
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.policies.resolve import as_policy

Progress = Callable[[int, int, float], None]
"""Called after every pass over the rounds: its number, how many there are at most, and the bound so far."""


class PolicyLearner:
    """Learns a policy that carries its own certificate.

    A "gaussian" policy is a random linear rule: it is certified on the very rounds it was learned from, since the bound
    holds for all such rules at once and pays for the distance from a prior. The prior is "fitted" on the first
    ``prior_share`` of the rounds, which then certify nothing, or "zero", or means of your own, (actions, features), fixed
    before these rounds. "softmax" and any torch module from features to one score per action maximise a plain estimate
    (``objective="logarithmic-smoothing"``, "ips", "snips", "doubly-robust") and are certified on the last ``holdout`` of the
    rounds.
    """

    def __init__(
        self,
        policy: Any = "gaussian",
        *,
        objective: str | None = None,
        control: Any = "auto",
        delta: float = 0.05,
        prior: Any = "fitted",
        prior_share: float = 0.1,
        covariance: Literal["shared", "diagonal"] = "shared",
        intercept: bool = True,
        holdout: float = 0.3,
        grid: Any = None,
        smoothing: float | None = None,
        order: int | None = None,
        clip: float | None = None,
        baseline: float | None = None,
        alpha: float | None = None,
        epochs: int = 10,
        batch_size: int = 128,
        learning_rate: float = 1e-2,
        weight_decay: float = 0.0,
        patience: int | None = 3,
        seed: int = 0,
        device: str = "cpu",
        checkpoint: str | None = None,
    ) -> None:
        given = locals()
        for name in _PARAMETERS:
            setattr(self, name, given[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> "PolicyLearner":
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise UsageError(f"PolicyLearner has no parameter {name!r}; it has {', '.join(_PARAMETERS)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        shown = {name: value for name, value in self.get_params().items() if value is not usual[name]}
        return f"PolicyLearner({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def fit(
        self,
        contexts: Any,
        action: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        logging: Any = None,
        actions: Any = None,
        action_count: Any = None,
        reward_range: tuple[float, float] = (0, 1),
        progress: Progress | None = None,
    ) -> "PolicyLearner":
        """Learn from ``Logs`` with ``contexts=`` and ``action=``, or from a frame or matrix with arrays beside it."""
        choice, _ = self._choice(), self._training()
        given = {
            "action": action, "reward": reward, "cost": cost, "propensity": propensity, "logging": logging,
            "actions": actions, "action_count": action_count,
        }  # fmt: skip
        logs = _logs_of(contexts, {name: value for name, value in given.items() if value is not None}, reward_range)
        torch.manual_seed(self.seed)  # type: ignore[attr-defined]
        fit = self._fit_certified if choice.certifies else self._fit_plain
        self.policy_: LearnedPolicy
        self.answer_: Guarantee | Improvement
        self.policy_, self.answer_ = fit(logs, choice, progress)
        self.certificate_ = self.policy_.certificate
        self.classes_ = self.policy_.classes_
        return self

    def predict_proba(self, contexts: Any) -> Any:
        return self._fitted().predict_proba(contexts)

    def predict(self, contexts: Any) -> Any:
        """The likeliest action of every context. It carries no certificate: ``sample`` does."""
        return self._fitted().predict(contexts)

    def sample(self, contexts: Any, seed: Any = None) -> Any:
        return self._fitted().sample(contexts, seed)

    def save(self, path: str) -> None:
        self._fitted().save(path)

    def as_reader(self) -> Any:
        return self._fitted().as_reader()

    def _fitted(self) -> LearnedPolicy:
        if not hasattr(self, "policy_"):
            raise UsageError("this learner has not learned yet; call fit first.")
        return self.policy_

    def _choice(self) -> Choice:
        mine = self.get_params()
        usual = "improvement" if mine["policy"] == "gaussian" else "logarithmic-smoothing"
        names = ("control", "grid", "smoothing", "order", "clip", "baseline", "alpha")
        choice = Choice(objective=mine["objective"] or usual, **{name: mine[name] for name in names})
        check_delta(mine["delta"])
        if mine["covariance"] not in ("shared", "diagonal"):
            raise UsageError(f"no covariance {mine['covariance']!r}; it is 'shared' or 'diagonal'.")
        if mine["policy"] not in ("gaussian", "softmax") and not isinstance(mine["policy"], nn.Module):
            raise UsageError(f"policy must be 'gaussian', 'softmax' or a torch module, but is {mine['policy']!r}.")
        if (mine["policy"] == "gaussian") != choice.certifies:
            raise UsageError(
                f"objective {choice.objective!r} does not go with this policy: bounds that certify on the rounds they learn "
                "from are of policy 'gaussian', plain estimates of 'softmax' or a torch module."
            )
        return choice

    def _training(self) -> Training:
        names = ("epochs", "batch_size", "learning_rate", "weight_decay", "patience", "seed", "device")
        return Training(**{name: getattr(self, name) for name in names})

    def _fit_certified(self, logs: Logs, choice: Choice, progress: Progress | None) -> tuple[LearnedPolicy, Guarantee]:
        mine = self.get_params()
        features, actions, whole = survey(logs, intercept=mine["intercept"])
        fitted = isinstance(mine["prior"], str) and mine["prior"] == "fitted"
        aside = int(share("prior_share", mine["prior_share"]) * logs.count()) if fitted else 0
        parts: tuple[Fingerprint, ...] = (whole,)
        if aside:
            before, logs_left = logs.part(0, aside), logs.part(aside, logs.count())
            parts = (whole, decided_fingerprint(before), decided_fingerprint(logs_left))
            features = standardised(features, tables_of(before, features.names))
            prior = self._fit_prior(before, choice, features, actions)
            told = f"fitted on the first {aside:,} rounds, which certify nothing"
        else:
            logs_left = logs
            prior, told = self._given_prior(features, actions, whole)
        rule = self._learn(logs_left, choice, features, actions, prior, progress, whole)
        control: Any = choice.control if choice.model is None else dict(choice.model.describe())
        asked = {
            "objective": choice.objective, "control": control, "delta": mine["delta"], "set_aside": aside, "prior": told,
            **{
                name: getattr(choice, name)
                for name in ("grid", "smoothing", "order", "clip", "baseline", "alpha")
                if getattr(choice, name) is not None
            },
        }  # fmt: skip
        if hasattr(asked.get("grid"), "describe"):
            raise UsageError("a grid of your own cannot be written into the certificate of a policy; name one.")
        bare = LearnedPolicy(rule, features, logs.actions, actions, parts)
        answer = guarantee_of(bare, logs, asked, control=choice.model)
        return LearnedPolicy(rule, features, logs.actions, actions, parts, Certificate.of(answer), asked), answer

    def _fit_prior(self, logs: Logs, choice: Choice, features: Features, actions: int) -> Single:
        """The same learning on the rounds that are set aside, from zero."""
        zero = np.zeros((actions, features.size), dtype=np.float32)
        return self._learn(logs, choice, features, actions, zero, None, None).means

    def _given_prior(self, features: Features, actions: int, rounds: Fingerprint) -> tuple[Single, str]:
        given = self.get_params()["prior"]
        shape = (actions, features.size)
        if isinstance(given, str):
            if given in ("zero", "fitted"):
                return np.zeros(shape, dtype=np.float32), "zero"
            raise UsageError(f"no prior {given!r}; give 'fitted', 'zero', an array of means, or a learned policy.")
        told = "means given by the user, fixed before these rounds"
        if isinstance(given, PolicyLearner):
            given = given._fitted()
        if isinstance(given, LearnedPolicy):
            if rounds in given.learned_from:
                raise UsageError(
                    "the prior was learned from the very rounds that are to be certified, which voids the certificate; "
                    "learn it from other rounds, or say prior='fitted'."
                )
            if not isinstance(given.rule, GaussianRule) or given.features != features:
                raise UsageError("the prior must be a gaussian policy with the same contexts, laid out alike.")
            given, told = given.rule.means, "a policy learned from other rounds"
        means = np.ascontiguousarray(given, dtype=np.float32)
        if means.shape != shape:
            raise UsageError(
                f"the prior must have a mean for each of {actions} actions and {features.size} features (intercept last, "
                f"where there is one), but has shape {means.shape}."
            )
        return means, told

    def _learn(
        self, logs: Logs, choice: Choice, features: Features, actions: int, prior: Single, progress: Progress | None,
        whole: Fingerprint | None,
    ) -> GaussianRule:  # fmt: skip
        mine, training = self.get_params(), self._training()
        rows = Rows(logs, features, actions, choice.model)
        objective = choice.build(rounds=rows.rounds, actions=actions, distributions=logs.logging is not None)
        policy = LinearGaussian(torch.from_numpy(prior.copy()), mine["covariance"])
        found = train(
            policy, objective, rows, training, delta=mine["delta"], checkpoint=self._checkpoint(whole),
            report=None if progress is None else lambda epoch, bound: progress(epoch, training.epochs, bound),
        )  # fmt: skip
        deviation = torch.exp(found["log_deviation"]).expand(features.size)
        return GaussianRule(found["means"].numpy(), deviation.contiguous().numpy(), prior)

    def _fit_plain(self, logs: Logs, choice: Choice, progress: Progress | None) -> tuple[LearnedPolicy, Improvement]:
        mine, training = self.get_params(), self._training()
        features, actions, whole = survey(logs, intercept=mine["intercept"])
        rounds = logs.count()
        cut = rounds - int(share("holdout", mine["holdout"]) * rounds)
        if not 0 < cut < rounds:
            raise UsageError("holdout must leave rounds to learn from, and rounds to certify with.")
        learned_on, judge = logs.part(0, cut), logs.part(cut, rounds)
        features = standardised(features, tables_of(learned_on, features.names))
        rows = Rows(learned_on, features, actions, choice.model)
        linear = mine["policy"] == "softmax"
        module = nn.Linear(features.size, actions, bias=False) if linear else mine["policy"]
        if linear:
            module.load_state_dict({"weight": torch.zeros(actions, features.size)})
        found = train(
            SoftmaxOfScores(module), choice.estimate(rounds=rows.rounds), rows, training, delta=mine["delta"],
            checkpoint=self._checkpoint(whole),
            report=None if progress is None else lambda epoch, score: progress(epoch, training.epochs, score),
        )  # fmt: skip
        module.load_state_dict({name.removeprefix("scores."): tensor for name, tensor in found.items()})
        rule = SoftmaxRule(found["scores.weight"].numpy()) if linear else ModuleRule(module.eval())
        parts = (whole, decided_fingerprint(learned_on))
        bare = LearnedPolicy(rule, features, logs.actions, actions, parts)
        answer = compare(judge, {NAME: as_policy(bare)}, delta=mine["delta"])
        asked = {"judged": [cut, rounds]}
        return LearnedPolicy(rule, features, logs.actions, actions, parts, Certificate.of(answer), asked), answer

    def _checkpoint(self, rounds: Fingerprint | None) -> Checkpoint | None:
        mine = self.get_params()
        if mine["checkpoint"] is None or rounds is None:
            return None
        setting = {name: repr(value) for name, value in mine.items() if name not in ("checkpoint", "epochs")}
        return Checkpoint(mine["checkpoint"], json.dumps({**setting, "rounds": str(rounds)}))


_PARAMETERS = tuple(inspect.signature(PolicyLearner.__init__).parameters)[1:]


def _logs_of(contexts: Any, given: dict[str, Any], reward_range: tuple[float, float]) -> Logs:
    if isinstance(contexts, Logs):
        if given:
            raise UsageError(f"{next(iter(given))}= is declared by the logs already; leave it out.")
        return contexts
    labels: dict[str, Any] = {name: given.pop(name) for name in ("actions", "action_count") if name in given}
    matrix = np.asarray(contexts) if not hasattr(contexts, "columns") else None
    names = [f"x{k}" for k in range(1 if matrix is None or matrix.ndim == 1 else matrix.shape[1])]
    table = as_table(contexts, names)
    columns = {name: table[name] for name in table.column_names}
    clash = [name for name in given if name in columns]
    if clash:
        raise UsageError(f"the contexts have a column {clash[0]!r}, which is also an argument of fit; rename it.")
    logging = given.get("logging")
    if logging is not None:
        given["logging"] = np.asarray(logging)
    declared: dict[str, Any] = {**{name: name for name in given}, **labels}
    return Logs({**columns, **given}, contexts=list(columns), reward_range=reward_range, **declared)
