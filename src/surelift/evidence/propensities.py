"""Are the logged propensities right? E-values from bets against them, over the log and in each of its segments."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.evidence.many import discoveries
from surelift.statistics.bets import Wealth, Wealths
from surelift.statistics.mean_weights import MeanWeight

LARGEST_LOG = 700.0


class Family(NamedTuple):
    """Segments that belong together: the whole log, actions, days, or those of a column."""

    kind: str
    name: str


OVERALL, BY_ACTION, BY_DAY = Family("overall", ""), Family("action", "action"), Family("day", "day")
TESTED = ("overall", "action", "day", "column")
MEAN_WEIGHT = Family("mean weight", "mean weight")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Against the propensities of one segment."""

    family: Family
    segment: str
    e_value: float
    bet: str
    """The bet that won most against them."""
    rounds: int
    observed: float
    """How often, per round, what was bet on happened; for weights, their mean."""
    expected: float
    """How often it should have."""


def evidence_of(families: Mapping[Family, Mapping[str, Wealths]]) -> list[Evidence]:
    """For every segment, the mean of its e-values: an e-value again, whatever their dependence."""
    found = [
        _evidence(family, segment, wealths.bets)
        for family, segments in families.items()
        for segment, wealths in segments.items()
        if wealths.bets
    ]
    overall = families.get(OVERALL, {}).get("", Wealths()).bets
    return found + list(_by_action(overall))


def mean_weight_evidence(test: MeanWeight, state: FloatArray, where: str = "") -> Evidence:
    """Against a mean weight of 1."""
    *logs, rounds, excess = state.tolist()
    mixed = np.logaddexp.reduce(logs) - math.log(len(logs))
    e_value = math.exp(min(float(mixed), LARGEST_LOG))
    return Evidence(MEAN_WEIGHT, where, e_value, test.candidate, int(rounds), 1.0 + excess / rounds, 1.0)


def refuted(evidence: list[Evidence], *, level: float) -> list[Evidence]:
    """The segments whose propensities are wrong; if all are right, any is named with probability at most ``level``."""
    numbered = {str(place): segment for place, segment in enumerate(evidence)}
    names = discoveries({name: segment.e_value for name, segment in numbered.items()}, rate=level)
    return [numbered[name] for name in names]


def _by_action(overall: Mapping[str, Wealth]) -> Iterator[Evidence]:
    for name, wealth in overall.items():
        if wealth.on_action:
            yield replace(_evidence(OVERALL, "", {name: wealth}), family=BY_ACTION, segment=name)


def _evidence(family: Family, segment: str, bets: Mapping[str, Wealth]) -> Evidence:
    logs = {name: wealth.log_e_value for name, wealth in bets.items()}
    strongest = max(logs, key=lambda name: logs[name])
    mean = float(np.logaddexp.reduce(list(logs.values()))) - math.log(len(logs))
    rounds, observed, expected = bets[strongest].seen.tolist()
    e_value = math.exp(min(mean, LARGEST_LOG))
    return Evidence(family, segment, e_value, strongest, int(rounds), observed / rounds, expected / rounds)
