"""What has to be true for a bound to hold, beyond the mathematics; and what keeps an answer from being certified."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from surelift.bounds import Promise
from surelift.logs.segments import Bins
from surelift.policies import Policy
from surelift.policies.policy import notes_of
from surelift.statistics.splits import Segment
from surelift.traits.declaration import Declaration

NOT_FITTED = "no policy was fitted on these rounds, or uses what was not known before the action"
CUT_OFF = (
    "the number of rounds, which says where those that judge begin, was not chosen by looking at them; learning again as "
    "the log grows makes another certificate, with its own delta"
)
LOOKS = (
    "policies, delta, margin and the options of the method were fixed before looking at these rounds; each look is at a "
    "beginning of the log, in the order of decisions, or production did not adapt to what it saw"
)
SEGMENTS_FIXED = "the segment of a round was known before its action, and the list of segments before looking"
SEGMENTS_OCCUR = (
    "the segment of a round was known before its action; the segments were not listed, so rounds are independent: which of "
    "them occur does not depend on what was earned"
)
EDGES_FIXED = "the edges of the bins of {!r} were chosen before looking at these rounds"


def assumptions_of(
    declared: Declaration, promise: Promise, besides: tuple[str, ...], by: Segment | None = None
) -> tuple[str, ...]:
    any_looks = promise == "any number of looks"
    one_look = (
        f"policies, delta, margin, options and the number of {_counted(declared, by)} were fixed in advance, and this is "
        "the only look"
    )
    edges = (EDGES_FIXED.format(part.column) for part in (() if by is None else by.by) if isinstance(part, Bins))
    segments = () if by is None else (SEGMENTS_OCCUR if by.declared is None else SEGMENTS_FIXED, *edges)
    looks = LOOKS if any_looks else one_look
    return (*declared.assumptions(), NOT_FITTED, looks, *besides, *declared.assumes, *segments)


def _counted(declared: Declaration, by: Segment | None) -> str:
    """What was fixed in advance where a smoothing follows from it: the rounds that enter one bound."""
    met = " that meet the condition" if declared.which.chosen_by else ""
    return f"{declared.counted}{met}{'' if by is None else ' of each segment'}"


def order_assumed(declared: Declaration) -> str:
    """Of a log whose first rounds were learned from, and whose later ones judge."""
    for time in declared.times:
        return f"decisions were made in the order of {time!r}, which ascends"
    return "the rows of the log stand in the order of their decisions; a log that is plainly sorted is refused"


def judged_last(answer: Any, declared: Declaration) -> Any:
    """An answer about the last rounds of a log, which judge what was learned from the others."""
    looks: Promise = "one look" if answer.promise == "any number of looks" else answer.promise
    return replace(answer, promise=looks, assumptions=(*answer.assumptions, order_assumed(declared), CUT_OFF))


def delta_note(delta: float) -> tuple[str, ...]:
    """A delta that was probably meant as the confidence."""
    if delta <= 0.5:
        return ()
    return (
        f"Delta is the probability of error: at {delta:g}, bounds may be wrong more often than not. For 95% confidence "
        "it is 0.05.",
    )


def doubts_of(declared: Declaration, policies: Mapping[str, Policy] | None = None) -> tuple[str, ...]:
    """What keeps an answer from being certified."""
    return (*declared.propensity.doubts(), *_notes(policies or {}, "doubts"))


def assumed_of(policies: Mapping[str, Policy]) -> tuple[str, ...]:
    """What must be true of the policies."""
    return _notes(policies, "assumes")


def _notes(policies: Mapping[str, Policy], kind: Literal["assumes", "doubts"]) -> tuple[str, ...]:
    return tuple(f"policy {name!r}: {note}" for name, policy in policies.items() for note in notes_of(policy, kind))
