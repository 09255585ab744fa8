"""``PolicyLearner``: from a log to a new policy and the proof that it is better, in scikit-learn's words."""

import copy
import hashlib
import inspect
import json
import pickle
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from surelift.controls.held_out import SAME_ROUNDS
from surelift.decisions.certificate import Certificate
from surelift.decisions.compare import compare
from surelift.decisions.method import check_delta
from surelift.errors import UsageError, share
from surelift.grids import Grid
from surelift.learning import files
from surelift.learning.checkpoint import Checkpoint
from surelift.learning.features import standardised
from surelift.learning.fit import train
from surelift.learning.guarantee import NAME, guarantee_of
from surelift.learning.item_rule import ItemRule
from surelift.learning.items import ItemSoftmax, SampledSoftmax
from surelift.learning.learned import LearnedPolicy, ModuleRule, Rule, SoftmaxRule, as_table
from surelift.learning.options import Choice
from surelift.learning.policies import LinearGaussian, SoftmaxOfScores
from surelift.learning.prior import Prior, given_prior
from surelift.learning.processes import own_device
from surelift.learning.rows import Rows, Survey, decided_fingerprint, survey, tables_of
from surelift.learning.rule import GaussianRule
from surelift.learning.training import Problem, Training
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.policies.resolve import as_policy
from surelift.results.guarantee import Guarantee
from surelift.results.improvement import Improvement

Progress = Callable[[int, int, float], None]
"""Called after every pass over the rounds: its number, how many there are at most, and the bound so far."""
Learned = dict[str, torch.Tensor]
CHOOSING = 0.15
"""The share of the rounds to learn from that choose the best pass."""


class PolicyLearner:
    """Learns a policy that carries its own certificate.

    A "gaussian" policy is a random linear rule: it is certified on the very rounds it was learned from, since the bound
    holds for all such rules at once and pays for the distance from a prior. The prior is "fitted" on the first
    ``prior_share`` of the rounds, which then certify nothing, or "zero", or means of your own, (actions, features), fixed
    before these rounds. "softmax" and any torch module from features to one score per action maximise a plain estimate
    (``objective="logarithmic-smoothing"``, "ips", "snips", "doubly-robust"), take the pass that the rounds before the last
    ``holdout`` bound best, and are certified on those last; so is ``ItemSoftmax``, for very many items.
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
        given = {
            "action": action, "reward": reward, "cost": cost, "propensity": propensity, "logging": logging,
            "actions": actions, "action_count": action_count,
        }  # fmt: skip
        logs = _logs_of(contexts, {name: value for name, value in given.items() if value is not None}, reward_range)
        steps = self.steps(logs, progress)
        problem = next(steps, None)
        while problem is not None:
            # Seeds are set within, and the user's own stream of random numbers goes on as if nothing had been.
            with torch.random.fork_rng():
                (learned,) = train([problem])
            problem = advanced(steps, learned)
        return self

    def steps(self, logs: Logs, progress: Progress | None = None) -> Generator[Problem, Learned, None]:
        """``fit``, for one who trains: yields the problems on the way, and goes on with what was learned of each."""
        choice, _ = self._choice(), self._training()
        fit = self._fit_certified if choice.certifies else self._fit_plain
        self.policy_: LearnedPolicy
        self.answer_: Guarantee | Improvement
        self.policy_, self.answer_ = yield from fit(logs, choice, progress)
        assert self.policy_.certificate is not None
        self.certificate_: Certificate = self.policy_.certificate
        self.classes_ = self.policy_.classes_

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
        certifies = isinstance(mine["policy"], str) and mine["policy"] == "gaussian"
        usual = "improvement" if certifies else "logarithmic-smoothing"
        names = ("control", "grid", "smoothing", "order", "clip", "baseline", "alpha")
        objective = usual if mine["objective"] is None else mine["objective"]
        choice = Choice(objective=objective, **{name: mine[name] for name in names})
        check_delta(mine["delta"])
        if mine["covariance"] not in ("shared", "diagonal"):
            raise UsageError(f"no covariance {mine['covariance']!r}; it is 'shared' or 'diagonal'.")
        policy = mine["policy"]
        named = isinstance(policy, str) and policy in ("gaussian", "softmax")
        if not isinstance(policy, nn.Module | ItemSoftmax) and not named:
            raise UsageError(f"policy must be 'gaussian', 'softmax', a torch module or ItemSoftmax, but is {policy!r}.")
        if certifies != choice.certifies:
            raise UsageError(
                f"objective {choice.objective!r} does not go with this policy: bounds that certify on the rounds they learn "
                "from are of policy 'gaussian', plain estimates of 'softmax', a torch module or ItemSoftmax."
            )
        return choice

    def _training(self) -> Training:
        names = ("epochs", "batch_size", "learning_rate", "weight_decay", "patience", "seed")
        return Training(**{name: getattr(self, name) for name in names}, device=own_device(self.get_params()["device"]))

    def _fit_certified(
        self, logs: Logs, choice: Choice, progress: Progress | None
    ) -> Generator[Problem, Learned, tuple[LearnedPolicy, Guarantee]]:
        mine = self.get_params()
        found = survey(logs, intercept=mine["intercept"])
        features, actions = found.features, found.actions
        parts: tuple[Fingerprint, ...] = (found.rounds,)
        fitted = isinstance(mine["prior"], str) and mine["prior"] == "fitted"
        aside = int(share("prior_share", mine["prior_share"]) * logs.count()) if fitted else 0
        if aside >= logs.count():
            raise UsageError("prior_share must leave rounds to certify with.")
        left = logs
        if aside:
            before, left = logs.part(0, aside), logs.part(aside, logs.count())
            parts += (decided_fingerprint(before), decided_fingerprint(left))
        refuse_model(choice, parts)
        if aside:
            features = standardised(features, tables_of(before, features.names))
            # The same learning on the rounds that are set aside, from zero.
            problem = self._problem_of(
                before, choice, given_prior("zero", features, actions, found.rounds), found, None
            )
            learned = yield replace(problem, checkpoint=None)
            told = f"fitted on the first {aside:,} rounds, which certify nothing"
            prior = Prior(learned["means"].numpy(), told, features)
        else:
            given = mine["prior"]
            given = given._fitted() if isinstance(given, PolicyLearner) else given
            prior = given_prior(given, features, actions, found.rounds)
            # What the prior has seen, the policy has seen.
            parts += prior.seen
        problem = self._problem_of(left, choice, prior, found, progress)
        learned = yield problem
        rule = GaussianRule(learned["means"].numpy(), learned["deviation"].numpy(), prior.means)
        control: Any = choice.control if choice.model is None else dict(choice.model.describe())
        asked = {
            "objective": choice.objective, "control": control, "delta": mine["delta"], "set_aside": aside,
            "prior": prior.told,
        }  # fmt: skip
        for name in ("grid", "smoothing", "order", "clip", "baseline", "alpha"):
            value = getattr(choice, name)
            if value is not None:
                asked[name] = value.describe() if isinstance(value, Grid) else value
        bare = LearnedPolicy(rule, prior.features, logs.declaration.actions, actions, parts)
        read = problem.rows, None if aside else found.everything
        device = None if mine["device"] == "cpu" else problem.training.device
        answer = guarantee_of(bare, logs, asked, control=choice.model, read=read, device=device)
        return replace(bare, certificate=Certificate.of(answer), asked=asked), answer

    def _problem_of(
        self, logs: Logs, choice: Choice, prior: Prior, found: Survey, progress: Progress | None
    ) -> Problem:
        """To learn a random rule from these rounds, from the prior on."""
        features, actions = prior.features, found.actions
        rows = Rows(logs, features, actions, choice.model)
        objective = choice.build(
            rounds=rows.rounds, actions=actions, distributions=logs.declaration.logging is not None
        )
        policy = LinearGaussian(
            torch.from_numpy(prior.means.copy()), self.get_params()["covariance"], unseen=features.unseen()
        )
        return self._problem(policy, objective, rows, found.everything, progress)

    def _problem(
        self, policy: Any, objective: Any, rows: Rows, rounds: Fingerprint, progress: Progress | None
    ) -> Problem:
        mine, training = self.get_params(), self._training()
        setting = {name: _mark(value) for name, value in mine.items() if name not in ("checkpoint", "epochs", "device")}
        mark = json.dumps({**setting, "rounds": str(rounds)})
        return Problem(
            policy, objective, rows, training, mine["delta"], mark,
            None if mine["checkpoint"] is None else Checkpoint(mine["checkpoint"], mark),
            None if progress is None else lambda epoch, bound: progress(epoch, training.epochs, bound),
        )  # fmt: skip

    def _fit_plain(
        self, logs: Logs, choice: Choice, progress: Progress | None
    ) -> Generator[Problem, Learned, tuple[LearnedPolicy, Improvement]]:
        mine = self.get_params()
        surveyed = survey(logs, intercept=mine["intercept"])
        actions, rounds = surveyed.actions, logs.count()
        cut = rounds - int(share("holdout", mine["holdout"]) * rounds)
        if not 0 < cut < rounds:
            raise UsageError("holdout must leave rounds to learn from, and rounds to certify with.")
        # Of the rounds to learn from, the last tell which pass was the best.
        some = max(1, int(CHOOSING * cut))
        if cut == some:
            raise UsageError(f"{cut} rounds are left to learn from, which are too few.")
        learned_on, choosing, judge = logs.part(0, cut - some), logs.part(cut - some, cut), logs.part(cut, rounds)
        parts = (surveyed.rounds, decided_fingerprint(logs.part(0, cut)))
        refuse_model(choice, (*parts, decided_fingerprint(judge)))
        # From the rounds to learn from alone: not even which texts there are may come from those that judge.
        features = survey(learned_on, intercept=mine["intercept"]).features
        features = standardised(features, tables_of(learned_on, features.names))
        rows = Rows(learned_on, features, actions, choice.model)
        policy, finished = _plain_policy(mine["policy"], features.size, actions)
        estimate = choice.estimate(rounds=rows.rounds, linear=isinstance(policy, SampledSoftmax))
        problem = self._problem(policy, estimate, rows, surveyed.everything, progress)
        found = yield replace(problem, choosing=Rows(choosing, features, actions, choice.model))
        rule = finished(found)
        bare = LearnedPolicy(rule, features, logs.declaration.actions, actions, parts)
        answer = compare(judge, {NAME: as_policy(bare)}, delta=mine["delta"])
        asked = {"judged": [cut, rounds]}
        return replace(bare, certificate=Certificate.of(answer), asked=asked), answer


def advanced(steps: Generator[Problem, Learned, None], learned: Learned) -> Problem | None:
    """The next problem, or None where all is done."""
    try:
        return steps.send(learned)
    except StopIteration:
        return None


def _mark(value: Any) -> str:
    """What tells an option from another, also where it is too long to be written out."""
    if isinstance(value, PolicyLearner):
        value = value._fitted()
    if isinstance(value, LearnedPolicy):
        return str(value.describe()["mark"])
    if isinstance(value, ItemSoftmax):
        arrays = {"items": value.embeddings, **({} if value.start is None else {"start": value.start})}
        return f"{files.digest(arrays)} {value.retrieved} {value.draws}"
    if isinstance(value, nn.Module):
        return files.digest({name: tensor.detach().cpu().numpy() for name, tensor in value.state_dict().items()})
    if hasattr(value, "predictable"):
        return _mark_of_model(value)
    return files.digest({"array": value}) if isinstance(value, np.ndarray) else repr(value)


def _mark_of_model(model: Any) -> str:
    """By what it is made of, not by where it lies in memory: the same in every process and at every start."""
    estimator, other = getattr(model, "estimator", None), getattr(model, "logs", None)
    try:
        made_of = hashlib.sha256(pickle.dumps(estimator)).hexdigest()
    except (pickle.PicklingError, TypeError, AttributeError):
        made_of = type(estimator).__name__
    rounds = str(decided_fingerprint(other)) if isinstance(other, Logs) else ""
    return f"{json.dumps(model.describe())} {made_of} {rounds}"


def _plain_policy(form: Any, features: int, actions: int) -> tuple[nn.Module, Callable[[Learned], Rule]]:
    """The policy to learn, and what makes a rule of what it has learned."""
    if isinstance(form, ItemSoftmax):
        policy = SampledSoftmax(form, form.first_weights(features, actions))
        return policy, lambda found: ItemRule(found["weights"].numpy(), form.embeddings)
    if isinstance(form, str):
        linear = nn.Linear(features, actions, bias=False)
        nn.init.zeros_(linear.weight)
        return SoftmaxOfScores(linear), lambda found: SoftmaxRule(found["weight"].numpy())
    # A copy: what was certified must not change when the user's own module does.
    module = copy.deepcopy(form)
    _check_module(module, features, actions)

    def finished(found: Learned) -> Rule:
        module.load_state_dict(found)
        return ModuleRule(module.eval())

    return SoftmaxOfScores(module), finished


def _check_module(module: nn.Module, features: int, actions: int) -> None:
    try:
        device = next((one.device for one in module.parameters() if one.requires_grad), None)
        if device is None:
            raise UsageError("the module has no parameters to learn.")
        with torch.no_grad():
            shape = tuple(module.eval()(torch.zeros(2, features, device=device)).shape)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the module does not take {features} features: {error!r}") from error
    if shape != (2, actions):
        raise UsageError(
            f"of two rows of {features} features the module should make scores (2, {actions}), not {shape}."
        )


def refuse_model(choice: Choice, parts: tuple[Fingerprint, ...]) -> None:
    """A reward model fitted on the rounds that are to be certified would know them."""
    fitted_on = getattr(choice.model, "logs", None)
    if isinstance(fitted_on, Logs) and decided_fingerprint(fitted_on) in parts:
        raise UsageError(SAME_ROUNDS)


_PARAMETERS = tuple(inspect.signature(PolicyLearner.__init__).parameters)[1:]


def _logs_of(contexts: Any, given: dict[str, Any], reward_range: tuple[float, float]) -> Logs:
    if isinstance(contexts, Logs):
        if given or tuple(reward_range) != (0, 1):
            raise UsageError(f"{next(iter(given), 'reward_range')}= is declared by the logs already; leave it out.")
        return contexts
    if contexts is None or isinstance(contexts, str):
        raise UsageError("give Logs, or contexts as a frame or a matrix; a file goes into Logs first.")
    labels: dict[str, Any] = {name: given.pop(name) for name in ("actions", "action_count") if name in given}
    table = as_table(contexts)
    columns = {name: table[name] for name in table.column_names}
    clash = [name for name in given if name in columns]
    if clash:
        raise UsageError(f"the contexts have a column {clash[0]!r}, which is also an argument of fit; rename it.")
    if "logging" in given:
        given["logging"] = np.asarray(given["logging"])
    declared: dict[str, Any] = {**{name: name for name in given}, **labels}
    return Logs({**columns, **given}, contexts=list(columns), reward_range=reward_range, **declared)
