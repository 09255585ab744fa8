"""Were labels drawn with the stated probability? If not, in words."""

from collections.abc import Iterator

import numpy as np

from surelift.errors import LogsError
from surelift.logs.declaration import Declaration
from surelift.questions.assumptions import delta_aloud, left_out_aloud, units_aloud
from surelift.results.health import Finding
from surelift.statistics.label_draws import LabelDraws, draws_e_value
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums

DRAWS, LEVEL = LabelDraws(), 0.001
"""What is added up, and the chance that labels drawn as stated are refused, over all segments of a question."""


def tests_labels(declared: Declaration) -> bool:
    """Rounds that were kept may have been kept for their label."""
    return declared.score is not None and not declared.is_sampled


def about_labels(sums: Sums, declared: Declaration, by: Segment | None, *, level: float) -> Iterator[Finding]:
    if not tests_labels(declared):
        return
    states = sums.by(DRAWS, *(() if by is None else (by,)))
    among = max(len(states), len((by and by.declared) or ()))
    for value, state in states.items():
        e_value, (rounds, labels, expected) = draws_e_value(state), state[-3:].tolist()
        if e_value >= among / level:
            where = f" in segment {value[0]!r}" if value else ""
            yield Finding(
                "refuse", f"label_probability{where}",
                f"labels were not drawn with the stated probability: {labels:,.0f} of {rounds:,.0f} rounds carry "
                f"one, where {expected:,.0f} were to be expected, or the score chose them (e-value {e_value:.3g})",
                "State the probability of the draw itself, round by round, also where it depends on the score, and give "
                "every round that was drawn its reward. Labels that were picked by hand cannot be certified.",
                value[0] if value else None, e_value,
            )  # fmt: skip


def said_of(sums: Sums, declared: Declaration) -> tuple[str, ...]:
    """How many rounds were left out, and how many were labelled, where that was added up."""
    left_out = left_out_aloud(declared, sums)
    found = next((states for request, states in sums.states.items() if request.statistic == DRAWS), None)
    if not found:
        return left_out
    rounds, labels, _ = np.sum([state[-3:] for state in found.values()], axis=0).tolist()
    return (
        *left_out,
        f"{labels:,.0f} of {rounds:,.0f} rounds carry their {'cost' if declared.scale.is_cost else 'reward'}.",
    )


def aloud_with(sums: Sums, declared: Declaration, delta: float) -> tuple[str, ...]:
    """What is said with an answer: of its delta, of what its amounts are about, and of rounds that do not count."""
    return (*delta_aloud(delta), *units_aloud(declared), *said_of(sums, declared))


def refuse_labels(sums: Sums, declared: Declaration, by: Segment | None) -> None:
    for finding in about_labels(sums, declared, by, level=LEVEL):
        raise LogsError(f"{finding.statement}.\n{finding.remedy}")
