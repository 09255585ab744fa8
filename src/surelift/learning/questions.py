"""The questions that certificates of learned policies answer, and that ``verify`` asks again.

*The guarantee of a Gaussian policy* is about the very rounds it was learned from (PAC-Bayes).

*A policy of several stages*: each was learned from all rounds before a stretch of the log, and is judged on it. By Theorem C
the terms of each round are those of the stage that was learned before it, so their products are a supermartingale, and the
bound is on the mean over all judged rounds of what the stage of the round would have gained. Where nothing drifts, this is
the improvement of the policy that draws one of those rounds at every decision and acts by its stage.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from surelift.bounds.bound import ROUNDING
from surelift.controls import models
from surelift.controls.model import SAME_ROUNDS
from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.grids import Grid
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.rounds import counted, require_learnable, rows_of, survey_again
from surelift.learning.learned import LearnedPolicy
from surelift.learning.objectives.objective import Objective, sizes_of, sums_of
from surelift.learning.objectives.options import ObjectiveOptions
from surelift.learning.policies.rules import EXACT, GaussianRule, StagesRule
from surelift.learning.tensors import logged
from surelift.logs.decisions import Decisions
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.seen import Origins
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Singles, origins_of
from surelift.policies.readers import kept
from surelift.policies.resolve import as_policy
from surelift.questions.assumptions import CUT_OFF, NOT_FITTED, doubts_of, order_assumed
from surelift.questions.claims import consistent
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import check_delta, choose_method
from surelift.questions.question import Progress, Question
from surelift.questions.soundness import tests_of
from surelift.questions.telling import condition_findings, refuse
from surelift.results.improvement import Improvement
from surelift.results.learned import Guarantee
from surelift.results.provenance import Provenance
from surelift.statistics.plan import Plan
from surelift.traits.logs import Logs

_ENTRIES_AT_ONCE, _ON_DEVICE = 1 << 20, 1 << 24
NAME, ZERO = "learned", "zero"
PRIOR_FROM = (
    "the prior was learned from the rounds to be certified, or from some of them, which voids the certificate; certify by "
    "later rounds alone, such as logs.part(first, last), or use prior='fitted'."
)


@dataclass(frozen=True, kw_only=True)
class GuaranteeQuestion(Question):
    """The guarantee of a learned policy, asked again of the rounds it was learned from."""

    kind: ClassVar[str] = "learn"
    learning: Mapping[str, Any]  # the objective and its options, the prior, and how many rounds were set aside for it

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Guarantee:
        learned: Any = getattr(next(iter(self.policies.values())), "reader", None)
        control = self.method.control if self.method.model is None else self.method.model
        options = {**self.learning, "control": control, "delta": self.delta}
        return guarantee_of(learned, logs, options, progress=progress)


def guarantee_of(
    learned: LearnedPolicy, logs: Logs, options: Mapping[str, Any], *, progress: Progress | None = None,
    read: tuple[Dataset, Fingerprint] | None = None, device: str | None = None,
) -> Guarantee:  # fmt: skip
    """Compute the guarantee in float64 on all rounds but the first ``set_aside``, which fitted the prior.

    NumPy computes it, or torch on ``device``. ``read`` is the data set and fingerprint of those rounds, if read already.
    """
    if not isinstance(getattr(learned, "rule", None), GaussianRule):
        raise UsageError("this is the certificate of a gaussian policy; give that policy in policies=.")
    rule: Any = learned.rule
    chosen, prior, delta = _objective_options(options), options["prior"], options["delta"]
    require_learnable(logs)
    logs.require_columns(learned.layout.names, role="a context of the learned policy")
    logs = counted(logs)
    aside, whole = int(options["set_aside"]), logs.count()
    judged = logs.part(aside, whole) if aside else logs
    if prior == ZERO and rule.prior.any():
        raise LogsError("the certificate states a zero prior, but the policy has another: one of them was changed.")
    dataset, fingerprint = read or _read_again(learned, judged, chosen)
    declared, scale = logs.declaration, logs.scale
    question = GuaranteeQuestion(
        declaration=declared, policies={NAME: as_policy(learned)}, delta=delta,
        method=choose_method("mixture", chosen.control),
        learning={name: value for name, value in options.items() if name not in ("control", "delta")},
    )  # fmt: skip
    question.check(judged)
    if "where" in declared.features:
        taken = collect(judged, Plan({}, tuple(tests_of(question))))
        refuse(condition_findings(taken, declared))
    objective, rounds, doubts = chosen.build(dataset), dataset.rounds, doubts_of(declared)
    paired, by_cost = objective.paired, scale.is_cost and not objective.paired
    lower, estimate, mean_weight = _certified_bound(rule, objective, dataset, delta, device, progress)
    consistent(
        [(lower, 1.0)], possible=(-1.0 if paired else 0.0, 1.0), mean_weight=mean_weight,
        subject=f"the {'improvement' if paired else 'value'} of the learned policy, in [0, 1]",
    )  # fmt: skip
    bound = scale.width * lower if paired else scale.upper(lower) if by_cost else scale.lower(lower)
    first, last = rows_of(logs, aside, whole)
    assumptions = (
        *declared.assumptions,
        f"the prior ({prior}), the objective and delta were fixed before seeing these rounds",
        "the logging policy may have adapted to earlier rounds" if objective.any_looks
        else "rounds are independent, and their number was fixed in advance",
        *((order_assumed(declared), CUT_OFF) if aside else ()),
        "actions are sampled afresh at every decision, as by sample()",
        *(() if chosen.model is None else (chosen.model.assumes,)),
        *declared.assumes,
    )  # fmt: skip
    return Guarantee(
        policy=NAME, about="improvement" if paired else "value",
        estimate=scale.width * estimate if paired else scale.value(estimate),
        lower=None if by_cost else bound, upper=bound if by_cost else None,
        certified=paired and lower > 0.0 and not doubts, delta=delta, rounds=rounds, objective=chosen.objective,
        divergence=rule.divergence, prior=prior,
        promise="any number of looks" if objective.any_looks and not aside else "one look",
        assumptions=assumptions, doubts=doubts,
        provenance=Provenance(
            question.to_dict(), rounds, fingerprint, notes=declared.remarks(last - first - rounds, 0, rounds, {})
        ),
    )  # fmt: skip


def _objective_options(options: Mapping[str, Any]) -> ObjectiveOptions:
    """The options of a certificate, which may have been tampered with."""
    try:
        control, aside = options["control"], options["set_aside"]
        chosen = {field.name: options[field.name] for field in fields(ObjectiveOptions) if field.name in options}
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


def _read_again(learned: LearnedPolicy, judged: Logs, chosen: ObjectiveOptions) -> tuple[Dataset, Fingerprint]:
    """The rounds that certify, none of which may have fitted the prior or the reward model."""
    if judged.count() < 1:
        raise LogsError("no rounds are left to certify the policy on.")
    model_from = origins_of(chosen.model)
    fingerprint, judges = survey_again(judged, learned.layout.names, learned.prior_from + model_from)
    refuse_seen((SAME_ROUNDS, judges, model_from), (PRIOR_FROM, judges, learned.prior_from))
    return Dataset(judged, learned.layout, learned.action_count, chosen.model), fingerprint


def refuse_seen(*judged: tuple[str, Origins, Origins]) -> None:
    """Raise with a message where some of the rounds that judge are among those of something learned."""
    for message, judges, origins in judged:
        if judges.overlaps(origins):
            raise UsageError(message)


def _certified_bound(
    rule: GaussianRule, objective: Objective, dataset: Dataset, delta: float, device: str | None, progress: Progress | None
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


ASSUMED = (
    "each stage was learned from rounds before those that judge it, and uses nothing that was not known before the action",
    "nothing drifts: the policy draws one of its stages at every decision, also those learned from few rounds, and is "
    "certified as if the judged rounds came again",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlayedStages(LearnedPolicy):
    """A learned policy as it is judged: each round by the stage that had been learned before it."""

    first: int = 0  # the row of the first judged round

    @property
    def learned_from(self) -> Origins:
        """Nothing, since each stage is judged on rounds that came after those it learned from."""
        return Origins()

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rule, layout, rows = self.rule, self.layout, decisions.rows
        assert isinstance(rule, StagesRule)
        encoded = layout.encode(rows.handed_on(layout.names, texts=layout.texts))
        # By their place among the rounds that count, not by their row in the log.
        judged = rows.start - self.first + np.arange(rows.size)
        stage = np.searchsorted(np.cumsum(rule.rounds), judged, side="right")
        probabilities = np.empty((rows.size, self.action_count))
        for number in np.unique(stage):
            probabilities[stage == number] = rule.stages[number].probabilities(encoded[stage == number])
        return kept(rows, probabilities, subject)


@dataclass(frozen=True, kw_only=True)
class ProgressiveQuestion(ImprovementQuestion):
    """The improvement of a policy of several stages, from the rounds that judged each of them."""

    kind: ClassVar[str] = "progressive"

    def ask(self, logs: Logs, *, progress: Progress | None = None) -> Improvement:
        logs = counted(logs)
        return self.drawn(self.played(logs).ask(logs, progress=progress))

    def played(self, logs: Logs) -> ImprovementQuestion:
        """The same of the stages as they were judged, each on its own rounds."""
        learned: Any = getattr(self.policies[NAME], "reader", None)
        rule, count, problem = getattr(learned, "rule", None), logs.count(), ""
        if not isinstance(rule, StagesRule):
            problem = "this is the certificate of a policy learned in stages; give that policy in policies=."
        elif count != sum(rule.rounds):
            problem = (
                f"the stages of this policy were judged on {sum(rule.rounds):,} rounds, but these logs have {count:,}; give "
                "the whole log, or the judged rounds alone."
            )
        elif self.by is not None:
            problem = "the stages of this policy were judged together; remove by=."
        if problem:
            raise UsageError(problem)
        stages = {item.name: getattr(learned, item.name) for item in fields(LearnedPolicy) if item.init}
        played = PlayedStages(**stages, first=getattr(logs.source, "first", 0))
        asked = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        return ImprovementQuestion(**{**asked, "policies": {NAME: as_policy(played)}})

    def drawn(self, answer: Improvement) -> Improvement:
        """The answer of the played stages as one about the policy that draws them."""
        assumptions = tuple(line for line in answer.assumptions if line != NOT_FITTED) + ASSUMED
        provenance = replace(answer.provenance, question=replace(self, known=None).to_dict())
        return replace(answer, assumptions=assumptions, provenance=provenance)
