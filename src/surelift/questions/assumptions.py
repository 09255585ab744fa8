"""What has to be true for a bound to hold, beyond the mathematics; and what keeps an answer from being certified."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from surelift.bounds import Promise
from surelift.logs.declaration import Declaration
from surelift.logs.segments import Bins
from surelift.logs.settled import aloud, settled_assumption
from surelift.logs.where import chosen_assumption, excluded_aloud
from surelift.logs.wins import Wins
from surelift.policies import Policy
from surelift.policies.policy import notes_of
from surelift.questions.loggers import assumed_of_loggers
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums

ONCE = "no round comes twice, and none was left out because of its action or its reward"
NOT_FITTED = "no policy was fitted on these rounds, or uses what was not known before the action"
CUT_OFF = (
    "the number of rounds, which says where those that judge begin, was not chosen by looking at them; learning again as "
    "the log grows makes another certificate, with its own delta"
)
NO_ATOMS = (
    "production's density is that of the actions as they were taken: no single value had a chance of its own, as a limit "
    "has at which actions are cut off"
)
DRAWN = (
    "every round was drawn to be labelled by a coin of its own, with the stated label_probability, whatever its reward and "
    "the rounds after it; all that were drawn have their reward, and no others"
)
BLIND_SCORE = (
    "the score of a round was made without knowing whether it was drawn, or its label; how good it is does not matter"
)
GIVEN_BEFORE = (
    "the probabilities of a position, production's and the candidates', are those given everything before it in its "
    "cluster, and the candidate acts from the first position on"
)
NO_LATER_ACTIONS = (
    "the reward of a position does not depend on later actions: true by time in a session, an assumption (the cascade) in a "
    "ranking"
)
APART = (
    "clusters are independent of each other and production did not adapt while they lasted, or each had ended before the "
    "next began; a cluster counts by what was to be expected of it when it began, and at more than one look only once it "
    "has ended"
)
LATER_ACTIONS = "what a round earned does not depend on the actions of later rounds{}"
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
    kind = "costs" if declared.scale.is_cost else "rewards"
    looks = (
        LOOKS
        if promise == "any number of looks"
        else f"policies, delta, margin, options and the number of {_counted(declared, by)} were fixed in advance, and this "
        "is the only look"
    )
    return (
        f"{kind} always lie in [{declared.scale.low:g}, {declared.scale.high:g}]",
        propensities_assumed(declared),
        NOT_FITTED,
        *((NO_ATOMS,) if declared.density else ()),
        f"{ONCE}, but by keep_probability" if declared.is_sampled else ONCE,
        LATER_ACTIONS.format("" if declared.cluster is None else " of other clusters"),
        looks,
        *besides,
        *_about_units(declared),
        *(() if declared.score is None else (DRAWN, BLIND_SCORE)),
        *assumed_of_loggers(declared),
        *(() if declared.where is None else (chosen_assumption(declared),)),
        *(() if declared.settled_after is None else (settled_assumption(declared),)),
        *(() if declared.embedding is None else declared.embedding.assumes),
        *declared.assumes,
        *(() if by is None else (SEGMENTS_OCCUR if by.declared is None else SEGMENTS_FIXED,)),
        *(EDGES_FIXED.format(part.column) for part in (() if by is None else by.by) if isinstance(part, Bins)),
    )


def _counted(declared: Declaration, by: Segment | None) -> str:
    """What was fixed in advance where a smoothing follows from it: the rounds that enter one bound."""
    met = "" if declared.where is None else " that meet the condition"
    return f"{declared.counted}{met}{'' if by is None else ' of each segment'}"


def left_out_aloud(declared: Declaration, sums: Sums) -> tuple[str, ...]:
    """What is said of the rounds that were left out."""
    excluded = excluded_aloud(declared, sums.excluded, sums.left_out + sums.rows)
    return (*excluded, *aloud(declared, sums.left_out, sums.rows))


def propensities_assumed(declared: Declaration) -> str:
    if isinstance(declared.propensity, Wins):
        return declared.propensity.assumes
    if declared.propensity_is_estimated:
        return "the propensity model is correct"
    return "the propensities were recorded when the decisions were made"


def order_assumed(declared: Declaration) -> str:
    """Of a log whose first rounds were learned from, and whose later ones judge."""
    if declared.time is None:
        return "the rows of the log stand in the order of their decisions; a log that is plainly sorted is refused"
    return f"decisions were made in the order of {declared.time!r}, which ascends"


def judged_last(answer: Any, declared: Declaration) -> Any:
    """An answer about the last rounds of a log, which judge what was learned from the others."""
    looks: Promise = "one look" if answer.promise == "any number of looks" else answer.promise
    return replace(answer, promise=looks, assumptions=(*answer.assumptions, order_assumed(declared), CUT_OFF))


def _about_units(declared: Declaration) -> Iterator[str]:
    if declared.cluster is not None:
        yield APART
        if declared.cluster_max is None:
            yield "the size of every cluster was known before its first action"
            others = ", with the other rounds of the cluster as production played them"
            yield (
                f"every cluster of {declared.cluster!r} counts once: a value is the mean over clusters of their average "
                f"round{others if declared.position is None else ''}"
            )
        else:
            yield f"no cluster can have more than {declared.cluster_max} rounds"
            yield (
                f"every cluster of {declared.cluster!r} counts once, filled up to {declared.cluster_max} rounds that "
                f"{_padding(declared)}"
            )
    if declared.position is not None:
        yield from (GIVEN_BEFORE, NO_LATER_ACTIONS)
    if declared.rounds_before_sampling is not None:
        yield "every round was kept independently, with the recorded probability, out of rounds_before_sampling"
    elif declared.is_sampled:
        yield "all rounds were kept with the same probability, and answers are about the rounds that were kept"


def delta_aloud(delta: float) -> tuple[str, ...]:
    """Of a delta that was probably meant as the confidence."""
    if delta <= 0.5:
        return ()
    return (
        f"Delta is the probability of error: at {delta:g}, bounds may be wrong more often than not. For 95% confidence "
        "it is 0.05.",
    )


def units_aloud(declared: Declaration) -> tuple[str, ...]:
    """What amounts are about, where rounds count by clusters."""
    if declared.cluster is None:
        return ()
    if declared.cluster_max is None:
        return ("Amounts are means over clusters of their average round.",)
    filled = f"Amounts are per round, in clusters filled up to {declared.cluster_max} rounds"
    return (f"{filled} that {_padding(declared)}.",)


def _padding(declared: Declaration) -> str:
    """What the rounds that fill up a cluster are worth, and what follows for the whole cluster."""
    count, scale = declared.cluster_max, declared.scale
    if scale.is_cost:
        return f"cost {scale.high:g}, the maximum; a cluster saves {count} times the improvement"
    if scale.low != 0.0:
        return f"earn {scale.low:g}, the minimum; a cluster gains {count} times the improvement"
    return f"earn nothing; a cluster earns {count} times the value"


def doubts_of(declared: Declaration, policies: Mapping[str, Policy] | None = None) -> tuple[str, ...]:
    """What keeps an answer from being certified."""
    estimated = ("conditional on the propensity model: the propensities were estimated",)
    return (*(estimated if declared.propensity_is_estimated else ()), *_notes(policies or {}, "doubts"))


def assumed_of(policies: Mapping[str, Policy]) -> tuple[str, ...]:
    """What must be true of the policies."""
    return _notes(policies, "assumes")


def _notes(policies: Mapping[str, Policy], kind: Literal["assumes", "doubts"]) -> tuple[str, ...]:
    return tuple(f"policy {name!r}: {note}" for name, policy in policies.items() for note in notes_of(policy, kind))
