"""Are the logged propensities right, and segments known before the action? E-values of bets against both."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.evidence.e_values import discoveries
from surelift.statistics.bets import MeanWeight, Wealth, Wealths
from surelift.statistics.restricted import Taken

LARGEST_LOG = 700.0


class Family(NamedTuple):
    """Segments that belong together: the whole log, actions, days, or those of a column."""

    kind: str
    name: str


OVERALL, BY_ACTION, BY_DAY = Family("overall", ""), Family("action", "action"), Family("day", "day")
TESTED = ("overall", "action", "day", "column")
MEAN_WEIGHT, TELLING = Family("mean weight", "mean weight"), "telling"
"""The test of weights, and the kind of columns that may tell of the action."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence against the propensities of one segment."""

    family: Family
    segment: str
    e_value: float
    bet: str  # the bet that won most against them
    rounds: int
    observed: float  # the rate per round of what was bet on; for weights, their mean
    expected: float


def evidence_of(families: Mapping[Family, Mapping[str, Wealths]]) -> list[Evidence]:
    """The mean of the e-values of every segment: an e-value again, whatever their dependence."""
    found = [
        _evidence(family, segment, wealths.bets)
        for family, segments in families.items()
        for segment, wealths in segments.items()
        if wealths.bets
    ]
    overall = families.get(OVERALL, {}).get("", Wealths()).bets
    return found + [_evidence(BY_ACTION, name, {name: bet}) for name, bet in overall.items() if bet.on_action]


def _evidence(family: Family, segment: str, bets: Mapping[str, Wealth]) -> Evidence:
    logs = {name: wealth.log_e_value for name, wealth in bets.items()}
    strongest = max(logs, key=lambda name: logs[name])
    rounds, observed, expected = bets[strongest].seen.tolist()
    e_value = _mean_e_value(list(logs.values()))
    return Evidence(family, segment, e_value, strongest, int(rounds), observed / rounds, expected / rounds)


def mean_weight_evidence(test: MeanWeight, state: FloatArray, where: str = "") -> Evidence:
    """The evidence against a mean weight of 1."""
    *logs, rounds, excess = state.tolist()
    return Evidence(MEAN_WEIGHT, where, _mean_e_value(logs), test.candidate, int(rounds), 1.0 + excess / rounds, 1.0)


def telling_evidence(column: str, segments: Mapping[str, Taken], *, level: float, among: int | None = None) -> Evidence:
    """The evidence against "known before the action, with right propensities": the mean of the e-values of all segments.

    ``observed`` is the share of segments, or of rounds where it is larger, in which there is evidence; ``expected`` the
    chance, per round of the strongest segment, of what always happened there.
    """
    count = among or len(segments)
    logs = {name: min(taken.log_e_value(), LARGEST_LOG) for name, taken in segments.items()}
    strongest = max(logs, key=lambda name: logs[name])
    found = [segments[name].rounds for name, log in logs.items() if log >= math.log(count / level)]
    share = max(len(found) / count, sum(found) / sum(taken.rounds for taken in segments.values()))
    e_value = sum(math.exp(log - math.log(count)) for log in logs.values())
    rounds, seen = segments[strongest].rounds, segments[strongest].seen
    bet = "one action was" if seen == 1 else f"{seen} actions were"
    chance = math.exp(-segments[strongest].log_e_value() / rounds)
    return Evidence(Family(TELLING, column), strongest, e_value, bet, rounds, share, chance)


def refuted(evidence: list[Evidence], *, level: float) -> list[Evidence]:
    """The segments whose propensities are wrong; if all are right, any is named with probability at most ``level``."""
    names = discoveries({str(place): segment.e_value for place, segment in enumerate(evidence)}, rate=level)
    return [evidence[int(name)] for name in names]


def _mean_e_value(logs: list[float]) -> float:
    return math.exp(min(float(np.logaddexp.reduce(logs)) - math.log(len(logs)), LARGEST_LOG))
