"""The guarantee of a learned Gaussian policy on the rounds it was learned from, to be certified and verified."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from surelift.bounds.mixture import ROUNDING
from surelift.controls import models
from surelift.controls.model import SAME_ROUNDS, RewardModel
from surelift.errors import LogsError, UsageError
from surelift.grids import Grid
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.survey import require_learnable, survey_again
from surelift.learning.objectives.objective import Objective, sizes_of, sums_of
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.quadrature import EXACT
from surelift.learning.policies.rules import GaussianRule
from surelift.learning.tensors import logged
from surelift.logs.fingerprint import Fingerprint
from surelift.policies.policy import origins_of
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import CUT_OFF, doubts_of, order_assumed
from surelift.questions.method import choose_method
from surelift.questions.options import check_delta, consistent
from surelift.questions.question import Progress, Question
from surelift.results.guarantee import Guarantee
from surelift.results.provenance import Provenance
from surelift.traits.logs import Logs

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy

_ENTRIES_AT_ONCE, _ON_DEVICE = 1 << 20, 1 << 24
NAME, ZERO = "learned", "zero"
PRIOR_FROM = (
    "the prior was learned from the rounds to be certified, or from some of them, which voids the certificate; certify by "
    "later rounds alone, such as logs.part(first, last), or use prior='fitted'."
)


def certified_bound(
    rule: GaussianRule,
    objective: Objective,
    dataset: Dataset,
    delta: float,
    device: str | None,
    progress: Progress | None,
) -> tuple[float, float, float]:
    """The bound in [0, 1], or in [-1, 1] for an improvement, beside the IPS estimate and the mean importance weight."""

    def work() -> tuple[Any, Any, float, float, int]:
        return _sums_over(rule, objective, dataset, device, progress)

    shares = [work()] if dataset.processes is None else dataset.processes.gather(work)
    total, sizes, estimate, weights, rounds = (sum(parts[1:], parts[0]) for parts in zip(*shares, strict=True))
    # Lowered by the possible error of the quadrature and of rounding, so that the bound is never overstated.
    slack, signs = rule.tolerance + ROUNDING, np.array(objective.signs)
    low = total - signs * slack * sizes - signs * ROUNDING * np.abs(total)
    bound = float(objective.bound(low, np.float64(rule.divergence), rounds=rounds, delta=delta))
    lower = max(-1.0 if objective.paired else 0.0, bound - ROUNDING * (1.0 + abs(bound)))
    return lower, estimate / rounds, weights / rounds


def _sums_over(
    rule: GaussianRule, objective: Objective, dataset: Dataset, device: str | None, progress: Progress | None
) -> tuple[Any, Any, float, float, int]:
    """What the bound adds up, with the sizes of its terms; the sums of the IPS terms and of the weights; the rounds."""
    total: Any = np.zeros(objective.sums)
    sizes: Any = np.zeros(objective.sums)
    estimate, weights, rounds = 0.0, 0.0, 0
    width = max(1, (_ON_DEVICE if device else _ENTRIES_AT_ONCE) // (max(objective.sums, EXACT.nodes) * len(rule.means)))
    for chunk in dataset:
        for part in chunk.pieces(width):
            if device:
                part = part.tensors(device, double=True)
            probabilities = (rule.probabilities_on_device if device else rule.probabilities)(part.features)
            own = logged(probabilities, part.action)
            coefficients = objective.coefficients(part)
            sums, size = sums_of(coefficients, probabilities if objective.every_action else own), sizes_of(coefficients)
            if device:
                sums, size = sums.cpu().numpy(), size.cpu().numpy()
            total, sizes = total + sums, sizes + size
            weight = own / part.propensity
            weights += float(weight.sum())
            estimate += float(((weight - float(objective.paired)) * part.reward).sum())
        rounds += len(chunk)
        if progress is not None:
            progress(rounds)
    return total, sizes, estimate, weights, rounds


@dataclass(frozen=True, kw_only=True)
class GuaranteeQuestion(Question):
    """The guarantee of a learned policy, asked again of the rounds it was learned from."""

    kind: ClassVar[str] = "learn"
    learning: Mapping[str, Any]  # the objective and its options, the prior, and how many rounds were set aside for it

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Guarantee:
        learned: Any = getattr(next(iter(self.policies.values())), "reader", None)
        if not hasattr(learned, "prior_from"):
            raise UsageError("this is the certificate of a learned policy; give that policy in policies=.")
        control = self.method.control if self.method.model is None else self.method.model
        options = {**self.learning, "control": control, "delta": self.delta}
        return guarantee_of(learned, logs, options, progress=progress)


def guarantee_of(
    learned: "LearnedPolicy",
    logs: Logs,
    options: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    read: tuple[Dataset, Fingerprint] | None = None,
    device: str | None = None,
) -> Guarantee:
    """Compute the guarantee in float64 on all rounds but the first ``set_aside``, which fitted the prior.

    NumPy computes it, or torch on ``device``. ``read`` is the data set and fingerprint of those rounds, if read already.
    """
    rule, scale, names = learned.rule, logs.scale, learned.layout.names
    if not isinstance(rule, GaussianRule):
        raise UsageError("only a gaussian policy can be certified on the rounds it was learned from.")
    require_learnable(logs)
    logs.require_columns(names, role="a context of the learned policy")
    chosen = _objective_options(options)
    if options["prior"] == ZERO and rule.prior.any():
        raise LogsError("the certificate states a zero prior, but the policy has another: one of them was changed.")
    judged = logs.part(int(options["set_aside"]), logs.count()) if options["set_aside"] else logs
    rounds, delta = judged.count(), options["delta"]
    if rounds < 1:
        raise LogsError("no rounds are left to certify the policy on.")
    model_from = origins_of(chosen.model)
    if read:
        fingerprint = read[1]
    else:
        fingerprint, judges = survey_again(judged, names, learned.prior_from + model_from)
        if judges.overlaps(learned.prior_from):
            raise UsageError(PRIOR_FROM)
        if judges.overlaps(model_from):
            raise UsageError(SAME_ROUNDS)
    dataset = read[0] if read else Dataset(judged, learned.layout, learned.action_count, chosen.model)
    objective = chosen.build(dataset)
    paired, by_cost = objective.paired, scale.is_cost and not objective.paired
    about: Literal["value", "improvement"] = "improvement" if paired else "value"
    lower, estimate, mean_weight = certified_bound(rule, objective, dataset, delta, device, progress)
    consistent(
        [(lower, 1.0)], possible=(-1.0 if paired else 0.0, 1.0), mean_weight=mean_weight,
        subject=f"the {about} of the learned policy, in [0, 1]",
    )  # fmt: skip
    doubts = doubts_of(logs.declaration)
    bound = (scale.improvement if paired else scale.upper if by_cost else scale.lower)(lower)
    question = GuaranteeQuestion(
        declaration=logs.declaration, policies={NAME: as_policy(learned)}, delta=delta,
        method=choose_method("mixture", chosen.control),
        learning={name: value for name, value in options.items() if name not in ("control", "delta")},
    )  # fmt: skip
    return Guarantee(
        policy=NAME, about=about, estimate=(scale.improvement if paired else scale.value)(estimate),
        lower=None if by_cost else bound, upper=bound if by_cost else None,
        certified=paired and lower > 0.0 and not doubts, delta=delta, rounds=rounds, objective=chosen.objective,
        divergence=rule.divergence, prior=options["prior"],
        promise="any number of looks" if objective.any_looks and not options["set_aside"] else "one look",
        assumptions=_assumptions(logs, options, objective, chosen.model), doubts=doubts,
        provenance=Provenance(question.to_dict(), rounds, fingerprint),
    )  # fmt: skip


def _objective_options(options: Mapping[str, Any]) -> ObjectiveOptions:
    """The options of a certificate, which may have been tampered with."""
    try:
        control, aside = options["control"], options["set_aside"]
        chosen = {name: options[name] for name in ObjectiveOptions.__dataclass_fields__ if name in options}
        if isinstance(control, Mapping):
            chosen["control"] = models.from_description(control)
        if isinstance(chosen.get("grid"), Mapping):
            chosen["grid"] = Grid.from_description(chosen["grid"])
        check_delta(options["delta"])
        if not isinstance(options["prior"], str) or not isinstance(aside, int) or aside < 0:
            raise TypeError("prior and set_aside")
        return ObjectiveOptions(**chosen)
    except (KeyError, TypeError) as error:
        raise LogsError(f"the certificate of the policy is damaged: {error}.") from error


def _assumptions(logs: Logs, options: Mapping[str, Any], objective: Objective, model: RewardModel | None) -> tuple[str, ...]:
    adapted = "the logging policy may have adapted to earlier rounds"
    fixed = "rounds are independent, and their number was fixed in advance"
    return (
        *logs.declaration.assumptions(),
        f"the prior ({options['prior']}), the objective and delta were fixed before seeing these rounds",
        adapted if objective.any_looks else fixed,
        *((order_assumed(logs.declaration), CUT_OFF) if options["set_aside"] else ()),
        "actions are sampled afresh at every decision, as by sample()",
        *(() if model is None else (model.assumes,)),
        *logs.declaration.assumes,
    )
