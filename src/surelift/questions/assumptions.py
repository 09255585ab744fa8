"""What has to be true for a bound to hold, beyond the mathematics; and what keeps an answer from being certified."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surelift.bounds import Promise
from surelift.logs.segments import Bins
from surelift.policies import Policy
from surelift.statistics.splits import Segment
from surelift.traits.declaration import Declaration

NOT_FITTED = "no policy was fitted on these rounds, or uses what was not known before the action"
CUT_OFF = (
    "the number of rounds, which says where those that judge begin, was not chosen by looking at them; learning again as "
    "the log grows makes another certificate, with its own delta"
)
LOOKS = (
    "policies, delta, margin and the options of the method were fixed before looking at these rounds; each look is at a "
    "beginning of the log, in the order of decisions, or neither production nor what rounds earn answered to what was seen"
)
ONE_LOOK = "policies, delta, margin, options and the number of {} were fixed in advance, and this is the only look"
SEGMENTS_FIXED = "the segment of a round was known before its action, and the list of segments before looking"
SEGMENTS_OCCUR = (
    "the segment of a round was known before its action; the segments were not listed, so rounds are independent: which of "
    "them occur does not depend on what was earned"
)
EDGES_FIXED = "the edges of the bins of {!r} were chosen before looking at these rounds"


def assumptions_of(
    declared: Declaration, promise: Promise, besides: tuple[str, ...], by: Segment | None = None
) -> tuple[str, ...]:
    segments: list[str] = []
    if by is not None:
        segments = [SEGMENTS_OCCUR if by.declared is None else SEGMENTS_FIXED]
        segments += [EDGES_FIXED.format(part.column) for part in by.by if isinstance(part, Bins)]
    looks = LOOKS
    if promise != "any number of looks":
        # A smoothing follows from the number of rounds that enter one bound.
        met = " that meet the condition" if "where" in declared.features else ""
        looks = ONE_LOOK.format(f"{declared.counted}{met}{'' if by is None else ' of each segment'}")
    return (*declared.assumptions, NOT_FITTED, looks, *besides, *declared.assumes, *segments)


def order_assumed(declared: Declaration) -> str:
    """The order that is assumed where the first rounds were learned from and later ones judge."""
    for time in declared.times:
        return f"decisions were made in the order of {time!r}, which ascends"
    return "the rows of the log stand in the order of their decisions; a log that is plainly sorted is refused"


def judged_last(answer: Any, declared: Declaration) -> Any:
    """An answer about the last rounds of a log, which judge what was learned from the others."""
    looks: Promise = "one look" if answer.promise == "any number of looks" else answer.promise
    return replace(answer, promise=looks, assumptions=(*answer.assumptions, order_assumed(declared), CUT_OFF))


def delta_note(delta: float) -> str:
    """Said of a delta that was probably meant as the confidence."""
    return (
        f"Delta is the probability of error: at {delta:g}, bounds may be wrong more often than not. For 95% confidence "
        "it is 0.05."
    )


def doubts_of(declared: Declaration, policies: Mapping[str, Policy] = {}) -> tuple[str, ...]:
    """What keeps an answer from being certified."""
    of_policies = (
        f"policy {name!r}: {doubt}" for name, policy in policies.items() for doubt in getattr(policy, "doubts", ())
    )
    return (*declared.propensity.doubts, *of_policies)
