"""``PolicyLearner``: from a log to a new policy with a certificate, with a scikit-learn interface."""

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal

from torch import nn

from surelift.arrays import as_numpy
from surelift.errors import UsageError
from surelift.learning.data.features import as_table
from surelift.learning.data.rounds import counted
from surelift.learning.fit import Answer, Fit, Progress, Readings
from surelift.learning.gaussian import fit_gaussian
from surelift.learning.held_out import fit_held_out, fit_progressive
from surelift.learning.learned import LearnedPolicy
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.items import ItemSoftmax
from surelift.learning.training.problem import TrainingOptions
from surelift.learning.training.processes import local_device
from surelift.learning.training.together import Running, train_together
from surelift.logs.alignment import aligned
from surelift.logs.seen import Origins
from surelift.questions.method import check_delta, choose_method
from surelift.traits.logs import Logs

_HELD_OUT, _GAUSSIAN = ("holdout", "progressive", "method"), ("prior", "prior_share", "covariance")
_NAMED = ("linear", "network", "gaussian")


class PolicyLearner:
    """Learns a policy together with its certificate.

    After ``fit``, ``policy_`` is the policy and ``answer_`` what is certified of it. Where nothing is certified,
    ``answer_.certified`` is false: keep production.

    Args:
        policy: "linear" is a softmax of linear scores, "network" of a hidden layer of 256 units; a torch module from
            features to one score per action, or ``ItemSoftmax`` for many items. They learn from the first rounds,
            choose their pass on the next, and are certified on the last. "gaussian" draws the weights of a linear rule
            at random, and is certified on the very rounds it learns from (PAC-Bayes), for the price of its distance
            from a prior: for logs without rounds to spare, and for the objectives of the paper.
        objective: What to maximise: "logarithmic-smoothing", "ips", "snips" or "doubly-robust"; for a gaussian policy
            "improvement", "value", "ls-lin", "moments", "implicit-exploration", "clipping", "clipping-with-baseline" or
            "exponential-smoothing".
        control: "auto", "none", "weights", "model", or a reward model, where the objective uses one.
        delta: The probability that you accept of a wrong certificate.
        holdout: The share of the rounds, the last ones, that certify.
        progressive: Instead of holding out rounds: this many stages, each learned from all rounds before a stretch of
            the log and judged on it; the policy draws one of them at every decision. It assumes that nothing drifts.
        method: The bound on held-out rounds; "blocks" certifies more where rounds are independent.
        prior: Of a gaussian policy: "fitted" on the first rounds, which then certify nothing, "zero", an array of means
            (actions, features) fixed before seeing these rounds, or a policy learned from other rounds.
        prior_share: The share of rounds that fit the prior.
        covariance: Of a gaussian policy: one deviation for all weights, or one per feature.
        intercept: Whether features have a constant.
        grid: The smoothings of "improvement" and "value".
        smoothing, order, clip, baseline, alpha: Options of the objectives that have them: order of "moments", clip of
            it and of both kinds of clipping, alpha of "exponential-smoothing".
        epochs: Passes over the rounds, at most.
        batch_size: Rounds per step.
        learning_rate: Adam's; by default 0.001 for networks and modules, else 0.01.
        weight_decay: Adam's.
        patience: Stop after this many epochs without a better bound; None never stops early.
        seed: The same seed gives the same policy.
        device: "cpu" or "cuda".
        checkpoint: A file that keeps the training state; a killed run resumes from it.
    """

    def __init__(
        self, policy: Any = "linear", *, objective: str | None = None, control: Any = "auto", delta: float = 0.05,
        holdout: float = 0.3, progressive: int | None = None, method: Any = "mixture",
        prior: Any = "fitted", prior_share: float = 0.1, covariance: Literal["shared", "diagonal"] = "shared",
        intercept: bool = True, grid: Any = None, smoothing: float | None = None,
        order: int | None = None, clip: float | None = None, baseline: float | None = None, alpha: float | None = None,
        epochs: int = 100, batch_size: int = 128, learning_rate: float | None = None, weight_decay: float = 0.0,
        patience: int | None = 10, seed: int = 0, device: str = "cpu", checkpoint: str | None = None,
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
        shown = {name: value for name, value in self.get_params().items() if value is not _DEFAULTS[name]}
        return f"PolicyLearner({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def fit(
        self, contexts: Any, action: Any = None, *, reward: Any = None, cost: Any = None, propensity: Any = None,
        logging: Any = None, actions: Any = None, action_count: Any = None,
        reward_range: tuple[float, float] = (0, 1), progress: Progress | None = None,
    ) -> "PolicyLearner":  # fmt: skip
        """Learn from ``Logs``, or from a frame or matrix with arrays beside it.

        Args:
            contexts: ``Logs`` that declare ``contexts`` and ``action``; or the contexts themselves, a frame or a
                matrix.
            action, reward, cost, propensity, logging, actions, action_count, reward_range: As in ``Logs``, as arrays;
                with ``Logs`` they are left out.
            progress: Called after each epoch.
        """
        columns = {
            "action": action, "reward": reward, "cost": cost, "propensity": propensity, "logging": logging,
            "actions": actions, "action_count": action_count,
        }  # fmt: skip
        logs = _as_logs(contexts, {name: column for name, column in columns.items() if column is not None}, reward_range)
        _, failed = train_together([self.steps(logs, progress)])
        if failed:
            raise failed[0]
        return self

    def steps(self, logs: Logs, progress: Progress | None = None, readings: Readings | None = None) -> Running:
        """``fit`` as a generator: it yields the problems to train, and expects the parameters of each to be sent back."""
        fit = self.prepared(logs, progress, readings or Readings())
        held_out = fit_held_out if fit.params["progressive"] is None else fit_progressive
        self._keep(*(yield from (fit_gaussian if fit.options.certifies else held_out)(fit)))

    def _keep(self, policy: LearnedPolicy, answer: Answer) -> None:
        assert policy.certificate is not None
        self.policy_, self.answer_, self.certificate_, self.classes_ = policy, answer, policy.certificate, policy.classes_

    def prepared(self, logs: Logs, progress: Progress | None, readings: Readings) -> Fit:
        params = self.get_params()
        if isinstance(params["prior"], PolicyLearner):
            params["prior"] = params["prior"]._fitted()
        chosen, policy = dict(params), params["policy"]
        if chosen["objective"] is None:
            chosen["objective"] = "improvement" if str(policy) == "gaussian" else "logarithmic-smoothing"
        if chosen["learning_rate"] is None:
            chosen["learning_rate"] = 1e-3 if str(policy) == "network" or isinstance(policy, nn.Module) else 1e-2
        options = ObjectiveOptions(**{field.name: chosen[field.name] for field in fields(ObjectiveOptions)})
        _check(params, options)
        chosen["device"] = local_device(params["device"])
        training = TrainingOptions(**{field.name: chosen[field.name] for field in fields(TrainingOptions)})
        return Fit(readings.once(logs, ("counted",), lambda: counted(logs)), params, options, training, readings, progress)

    def predict_proba(self, contexts: Any) -> Any:
        """The probability of every action, (rows, actions), for contexts in a frame or a matrix."""
        return self._fitted().predict_proba(contexts)

    def predict(self, contexts: Any) -> Any:
        """The most likely action of every context. The certificate does not cover it; it covers ``sample``."""
        return self._fitted().predict(contexts)

    def sample(self, contexts: Any, seed: Any = None) -> Any:
        """Sample an action for every context: this is the policy that was certified."""
        return self._fitted().sample(contexts, seed)

    def save(self, path: str) -> None:
        """Write the policy and its certificate to one file, for ``LearnedPolicy.load``."""
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


def _check(params: Mapping[str, Any], options: ObjectiveOptions) -> None:
    policy, covariance, gaussian = params["policy"], params["covariance"], str(params["policy"]) == "gaussian"
    check_delta(params["delta"])
    unused = [name for name in (_HELD_OUT if gaussian else _GAUSSIAN) if repr(params[name]) != repr(_DEFAULTS[name])]
    problem = ""
    if covariance not in ("shared", "diagonal"):
        problem = f"unknown covariance {covariance!r}; use 'shared' or 'diagonal'."
    elif not isinstance(policy, nn.Module | ItemSoftmax) and not (isinstance(policy, str) and policy in _NAMED):
        problem = f"policy must be 'linear', 'network', 'gaussian', a torch module or ItemSoftmax, but is {policy!r}."
    elif gaussian != options.certifies:
        problem = (
            f"objective {options.objective!r} does not support this policy: certified bounds need policy 'gaussian', "
            "plain estimates need 'linear', 'network', a torch module or ItemSoftmax."
        )
    elif unused:
        where = "policies judged on held-out rounds" if gaussian else "the gaussian policy"
        problem = f"{unused[0]}= is for {where}; this one does not use it, so remove it."
    elif params["progressive"] is not None and params["holdout"] != _DEFAULTS["holdout"]:
        problem = "progressive= judges all rounds but the first stretch; remove holdout=."
    if problem:
        raise UsageError(problem)
    choose_method(params["method"])


def _as_logs(contexts: Any, columns: Mapping[str, Any], reward_range: tuple[float, float]) -> Logs:
    """The logs to learn from: ``contexts`` if they are Logs, else contexts with these columns beside them."""
    problem = ""
    if isinstance(contexts, Logs):
        if not columns and tuple(reward_range) == (0, 1):
            return contexts
        problem = f"{next(iter(columns), 'reward_range')}= is already declared by the logs; remove it."
    elif contexts is None or isinstance(contexts, str):
        problem = "contexts must be Logs, a frame or a matrix. To learn from a file, pass Logs(path, ...)."
    else:
        labels = {name: columns[name] for name in ("actions", "action_count") if name in columns}
        arrays = aligned({"contexts": contexts, **{name: columns[name] for name in columns if name not in labels}})
        table = as_table(arrays.pop("contexts"))
        features = {name: table[name] for name in table.column_names}
        for name in arrays.keys() & features.keys():
            problem = f"the contexts have a column {name!r}, which is also an argument of fit; rename it."
    if problem:
        raise UsageError(problem)
    if "logging" in arrays:
        arrays["logging"] = as_numpy(arrays["logging"], "logging")
    named: dict[str, Any] = {name: name for name in arrays}
    return Logs({**features, **arrays}, contexts=list(features), reward_range=reward_range, **named, **labels)


_DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(PolicyLearner).parameters.items()}
_PARAMETERS = tuple(_DEFAULTS)
