"""``PolicyLearner``: from a log to a new policy with a certificate, with a scikit-learn interface."""

import inspect
import json
from collections.abc import Callable, Generator
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from surelift.controls.model import SAME_ROUNDS
from surelift.errors import UsageError, share
from surelift.grids import Grid
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.features import FeatureLayout, as_logs
from surelift.learning.data.survey import survey
from surelift.learning.guarantee import NAME, PRIOR_FROM, ZERO, guarantee_of
from surelift.learning.learned import LearnedPolicy
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.items import ItemSoftmax, SampledSoftmax
from surelift.learning.policies.modules import LinearGaussian, Parameters, build_policy
from surelift.learning.policies.rules import GaussianRule, ItemRule, Single, as_single
from surelift.learning.shared_answers import ask_together
from surelift.learning.training.checkpoint import Checkpoint, identity_of
from surelift.learning.training.loop import train
from surelift.learning.training.problem import LearningProblem, TrainingOptions
from surelift.learning.training.processes import local_device
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.logs.origins import Origins
from surelift.policies.policy import origins_of
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import judged_last
from surelift.questions.certificate import Certificate
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.options import check_delta
from surelift.questions.question import LEARNED_FROM
from surelift.results.guarantee import Guarantee
from surelift.results.improvement import Improvement

Progress = Callable[[int, int, float], None]
"""Called after every epoch with its number, the maximum number of epochs, and the bound."""
VALIDATION_SHARE = 0.15  # the share of the rounds before the held-out ones that is used for early stopping


class Prior(NamedTuple):
    means: Single  # (actions, features)
    description: str  # where the prior comes from, for the certificate
    layout: FeatureLayout


class PolicyLearner:
    """Learns a policy together with its certificate.

    A "gaussian" policy draws the weights of a linear policy at random. It is certified on the rounds it was learned from,
    since its bound holds for all such policies at once, at the price of the KL divergence from a prior (PAC-Bayes). The
    prior is "fitted" on the first ``prior_share`` of the rounds, which then certify nothing, or "zero", or an array of
    means, (actions, features), fixed before seeing these rounds.

    "softmax", a torch module from features to one score per action, or ``ItemSoftmax`` (for many items) maximises a plain
    estimate (``objective="logarithmic-smoothing"``, "ips", "snips", "doubly-robust"), stops early on validation rounds, and
    is certified on the last ``holdout`` of the rounds.
    """

    def __init__(
        self, policy: Any = "gaussian", *, objective: str | None = None, control: Any = "auto", delta: float = 0.05,
        prior: Any = "fitted", prior_share: float = 0.1, covariance: Literal["shared", "diagonal"] = "shared",
        intercept: bool = True, holdout: float = 0.3, grid: Any = None, smoothing: float | None = None,
        order: int | None = None, clip: float | None = None, baseline: float | None = None, alpha: float | None = None,
        epochs: int = 10, batch_size: int = 128, learning_rate: float = 1e-2, weight_decay: float = 0.0,
        patience: int | None = 3, seed: int = 0, device: str = "cpu", checkpoint: str | None = None,
    ) -> None:  # fmt: skip
        arguments = locals()
        for name in _PARAMETERS:
            setattr(self, name, arguments[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> "PolicyLearner":
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise UsageError(f"PolicyLearner has no parameter {name!r}; it has {', '.join(_PARAMETERS)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: parameter.default for name, parameter in inspect.signature(type(self)).parameters.items()}
        shown = {name: value for name, value in self.get_params().items() if value is not defaults[name]}
        return f"PolicyLearner({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def fit(
        self, contexts: Any, action: Any = None, *, reward: Any = None, cost: Any = None, propensity: Any = None,
        logging: Any = None, actions: Any = None, action_count: Any = None,
        reward_range: tuple[float, float] = (0, 1), progress: Progress | None = None,
    ) -> "PolicyLearner":  # fmt: skip
        """Learn from ``Logs`` that declare ``contexts`` and ``action``, or from a frame or matrix with arrays beside it."""
        columns = {
            "action": action, "reward": reward, "cost": cost, "propensity": propensity, "logging": logging,
            "actions": actions, "action_count": action_count,
        }  # fmt: skip
        columns = {name: column for name, column in columns.items() if column is not None}
        steps = self.steps(as_logs(contexts, columns, reward_range), progress)
        problem = next(steps, None)
        while problem is not None:
            # Training sets its own seeds; the user's random state stays untouched.
            with torch.random.fork_rng():
                (parameters,) = train([problem])
            problem = next_problem(steps, parameters)
        return self

    def steps(self, logs: Logs, progress: Progress | None = None) -> Generator[LearningProblem, Parameters, None]:
        """``fit`` as a generator: it yields the problems to train, and expects the parameters of each to be sent back."""
        options, _ = self._objective_options(), self._training_options()
        fit = self._fit_gaussian if options.certifies else self._fit_with_holdout
        self.policy_: LearnedPolicy
        self.answer_: Guarantee | Improvement
        self.policy_, self.answer_ = yield from fit(logs, options, progress)
        assert self.policy_.certificate is not None
        self.certificate_: Certificate = self.policy_.certificate
        self.classes_ = self.policy_.classes_

    def predict_proba(self, contexts: Any) -> Any:
        return self._fitted().predict_proba(contexts)

    def predict(self, contexts: Any) -> Any:
        """The most likely action of every context. The certificate does not cover it; it covers ``sample``."""
        return self._fitted().predict(contexts)

    def sample(self, contexts: Any, seed: Any = None) -> Any:
        return self._fitted().sample(contexts, seed)

    def save(self, path: str) -> None:
        self._fitted().save(path)

    def as_reader(self) -> Any:
        return self._fitted().as_reader()

    @property
    def learned_from(self) -> Origins:
        return self._fitted().learned_from

    def _fitted(self) -> LearnedPolicy:
        if not hasattr(self, "policy_"):
            raise UsageError("this learner is not fitted yet; call fit first.")
        return self.policy_

    def _objective_options(self) -> ObjectiveOptions:
        params = self.get_params()
        policy, covariance = params["policy"], params["covariance"]
        gaussian = isinstance(policy, str) and policy == "gaussian"
        chosen = {field.name: params[field.name] for field in fields(ObjectiveOptions)}
        if chosen["objective"] is None:
            chosen["objective"] = "improvement" if gaussian else "logarithmic-smoothing"
        options = ObjectiveOptions(**chosen)
        check_delta(params["delta"])
        if covariance not in ("shared", "diagonal"):
            raise UsageError(f"unknown covariance {covariance!r}; use 'shared' or 'diagonal'.")
        named = isinstance(policy, str) and policy in ("gaussian", "softmax")
        if not isinstance(policy, nn.Module | ItemSoftmax) and not named:
            raise UsageError(f"policy must be 'gaussian', 'softmax', a torch module or ItemSoftmax, but is {policy!r}.")
        if gaussian != options.certifies:
            raise UsageError(
                f"objective {options.objective!r} does not support this policy: certified bounds need policy 'gaussian', "
                "plain estimates need 'softmax', a torch module or ItemSoftmax."
            )
        return options

    def _training_options(self) -> TrainingOptions:
        params = self.get_params()
        chosen = {field.name: params[field.name] for field in fields(TrainingOptions)}
        return TrainingOptions(**{**chosen, "device": local_device(params["device"])})

    def _fit_gaussian(
        self, logs: Logs, options: ObjectiveOptions, progress: Progress | None
    ) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Guarantee]]:
        """Learn a Gaussian policy and certify it on the rounds it was learned from, except those that fitted the prior."""
        params, rounds = self.get_params(), logs.count()
        fitted = isinstance(params["prior"], str) and params["prior"] == "fitted"
        aside = int(share("prior_share", params["prior_share"]) * rounds) if fitted else 0
        if rounds and aside >= rounds:
            raise UsageError("prior_share must leave rounds to certify the policy on.")
        form = params["prior"]._fitted() if isinstance(params["prior"], PolicyLearner) else params["prior"]
        prior_from, model_from = (origins_of(learned) for learned in (form, options.model))
        surveyed = survey(
            logs, intercept=params["intercept"], cuts=(aside,) if aside else (), standardise=bool(aside),
            others=prior_from + model_from,
        )  # fmt: skip
        layout, actions, contents = surveyed.layout, surveyed.actions, surveyed.all_contents
        if surveyed.all_origins.overlaps(model_from):
            raise UsageError(SAME_ROUNDS)
        if aside:
            prior_from, (aside,) = surveyed.origins[0], surveyed.cuts
        if surveyed.origins[-1].overlaps(prior_from):
            raise UsageError(PRIOR_FROM)
        if aside:
            before, dataset = Dataset.of_parts(logs, (aside, rounds), layout, actions, options.model)
            # The prior is the same kind of policy, learned on the rounds set aside from a zero prior.
            prior = user_prior(ZERO, layout, actions)
            parameters = yield replace(self._gaussian_problem(before, options, prior, contents, None), checkpoint=None)
            before.release()
            description = f"fitted on the first {aside:,} rounds, which certify nothing"
            prior = Prior(parameters["means"].numpy(), description, layout)
        else:
            prior = user_prior(form, layout, actions)
            (dataset,) = Dataset.of_parts(logs, (rounds,), prior.layout, actions, options.model)
        problem = self._gaussian_problem(dataset, options, prior, contents, progress)
        parameters = yield problem
        rule = GaussianRule(parameters["means"].numpy(), parameters["deviation"].numpy(), prior.means)
        policy = LearnedPolicy(
            rule, prior.layout, logs.declaration.actions, actions, surveyed.origins[-1], prior_from + model_from
        )
        asked = {
            "objective": options.objective, "delta": params["delta"], "set_aside": aside, "prior": prior.description,
            "control": options.control,
            **{name: value.describe() if isinstance(value, Grid) else value for name, value in options.numbers.items()},
        }  # fmt: skip
        device = None if params["device"] == "cpu" else problem.options.device
        answer = guarantee_of(policy, logs, asked, read=(dataset, surveyed.contents[-1]), device=device)
        return replace(policy, certificate=Certificate.of(answer)), answer

    def _gaussian_problem(
        self, dataset: Dataset, options: ObjectiveOptions, prior: Prior, rounds: Fingerprint, progress: Progress | None
    ) -> LearningProblem:
        covariance = self.get_params()["covariance"]
        policy = LinearGaussian(torch.from_numpy(prior.means), covariance, unseen=prior.layout.unseen())
        return self._problem(policy, options.build(dataset), dataset, rounds, progress)

    def _problem(
        self, policy: Any, objective: Any, dataset: Dataset, rounds: Fingerprint, progress: Progress | None
    ) -> LearningProblem:
        params, training = self.get_params(), self._training_options()
        if isinstance(params["prior"], PolicyLearner):
            params["prior"] = params["prior"]._fitted()
        relevant = {name: value for name, value in params.items() if name not in ("checkpoint", "epochs", "device")}
        identity = json.dumps({**{name: identity_of(value) for name, value in relevant.items()}, "rounds": str(rounds)})
        return LearningProblem(
            policy, objective, dataset, training, params["delta"], identity,
            None if params["checkpoint"] is None else Checkpoint(params["checkpoint"], identity),
            None if progress is None else lambda epoch, bound: progress(epoch, training.epochs, bound),
        )  # fmt: skip

    def _fit_with_holdout(
        self, logs: Logs, options: ObjectiveOptions, progress: Progress | None
    ) -> Generator[LearningProblem, Parameters, tuple[LearnedPolicy, Improvement]]:
        """Maximise an estimate on the first rounds, stop early on the next, and certify the policy on the last."""
        params, rounds = self.get_params(), logs.count()
        held_out = rounds - int(share("holdout", params["holdout"]) * rounds)
        if rounds and not 0 < held_out < rounds:
            raise UsageError("holdout must leave rounds to learn from and rounds to certify the policy on.")
        validation = held_out - max(1, int(VALIDATION_SHARE * held_out))
        if rounds and not validation:
            raise UsageError(f"only {held_out} rounds are left to learn from, which is too few.")
        # The layout comes from the training rounds alone: even the set of categories must not depend on held-out rounds.
        model_from = origins_of(options.model)
        surveyed = survey(
            logs, intercept=params["intercept"], cuts=(validation, held_out), first_part_only=True, standardise=True,
            others=model_from,
        )  # fmt: skip
        layout, actions = surveyed.layout, surveyed.actions
        seen, unseen = surveyed.origins[0] + surveyed.origins[1], surveyed.origins[2]
        if surveyed.all_origins.overlaps(model_from):
            raise UsageError(SAME_ROUNDS)
        if unseen.overlaps(seen):
            raise UsageError(f"the policy {LEARNED_FROM}")
        held_out = surveyed.cuts[1]
        training, choosing = Dataset.of_parts(logs, surveyed.cuts, layout, actions, options.model)
        policy, rule_of = build_policy(params["policy"], layout.size, actions)
        estimate = options.estimate(rounds=training.rounds, linear=isinstance(policy, SampledSoftmax))
        problem = self._problem(policy, estimate, training, surveyed.all_contents, progress)
        parameters = yield replace(problem, validation=choosing)
        learned = LearnedPolicy(rule_of(parameters), layout, logs.declaration.actions, actions, seen, model_from)
        # Said here, it need not be looked up in a pass of its own: whether the policy gives whole distributions.
        whole = logs.declaration.logging is not None and not isinstance(learned.rule, ItemRule)
        question = ImprovementQuestion(
            declaration=logs.declaration, policies={NAME: as_policy(learned)}, delta=params["delta"],
            known=frozenset({NAME} if whole else ()),
        )  # fmt: skip
        answer = judged_last(ask_together(question, logs.part(held_out, rounds)), logs.declaration)
        answer = replace(answer, provenance=replace(answer.provenance, rows=(held_out, rounds)))
        return replace(learned, certificate=Certificate.of(answer)), answer


def next_problem(steps: Generator[LearningProblem, Parameters, None], parameters: Parameters) -> LearningProblem | None:
    """Continue with the parameters of the last problem; None when the fit is done."""
    try:
        return steps.send(parameters)
    except StopIteration:
        return None


def user_prior(form: Any, layout: FeatureLayout, actions: int) -> Prior:
    """The ``prior`` argument of a learner."""
    if isinstance(form, str):
        if form in ("zero", "fitted"):
            return Prior(np.zeros((actions, layout.size), dtype=np.float32), ZERO, layout)
        raise UsageError(f"unknown prior {form!r}; use 'fitted', 'zero', an array of means, or a learned policy.")
    description = "means given by the user, assumed to be fixed before these rounds"
    if isinstance(form, LearnedPolicy):
        if not isinstance(form.rule, GaussianRule) or form.features.names != layout.names:
            raise UsageError("the prior must be a gaussian policy with the same contexts, in the same order.")
        description = "a policy learned from other rounds"
        layout, form = form.features, form.rule.means
    means = as_single("the prior", form)
    if means.shape != (actions, layout.size) or not np.isfinite(means).all():
        raise UsageError(
            f"the prior must have a finite mean for each of {actions} actions and {layout.size} features (one more per text "
            f"context for unseen texts; the intercept comes last), but has shape {means.shape}."
        )
    return Prior(means, description, layout)


_PARAMETERS = tuple(inspect.signature(PolicyLearner.__init__).parameters)[1:]
