r"""Are the logged propensities right? Bets against them, each fair if they are.

Where production's distribution is known, v = 1[a in S] - pi0(S) has mean zero for any set S of actions fixed before the
action: one action, production's favourite, a candidate's favourite. The wealth prod (1 + beta v), mixed over beta of both
signs, is evidence in both directions. Where only propensities are known, E[w] <= 1 for every candidate and E[1/q] <= K for
K actions, so prod (1 + lambda w)/(1 + lambda) and prod (1 + lambda/q)/(1 + lambda K) are evidence that they are too small.
Inside a segment known before the action all of this stays true.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surelift import grids
from surelift.arrays import FloatArray, IntArray
from surelift.evidence.many import discoveries
from surelift.logs.vectors import Vectors
from surelift.statistics.betting import log_wealth
from surelift.statistics.reading import Reading


class Family(NamedTuple):
    """Segments that belong together: the whole log, actions, days, or those of a column."""

    kind: str
    name: str


OVERALL, BY_ACTION, BY_DAY = Family("overall", ""), Family("action", "action"), Family("day", "day")
BOTH_WAYS = np.array([sign * 2.0**-j for j in range(1, 11) for sign in (1.0, -1.0)])
MOST_ACTIONS = 50
_LARGEST_LOG = 700.0
_GRID = grids.anytime()


@dataclass(frozen=True, slots=True)
class Bet:
    """The wealth is the product of (1 + rate x)/(1 + rate y)."""

    name: str
    x: FloatArray
    y: FloatArray
    observed: FloatArray
    expected: FloatArray
    both_ways: bool
    on_action: bool = False

    @property
    def rates(self) -> FloatArray:
        return BOTH_WAYS if self.both_ways else np.array(_GRID.smoothings)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Against the propensities of one segment."""

    family: Family
    segment: str
    e_value: float
    bet: str
    """What speaks most against them."""
    rounds: int
    observed: float
    """How often, a round, what was bet on happened; for weights, their mean."""
    expected: float
    """How often it should have."""


class PropensityTests:
    """Bets on every batch, in every segment of every family; they add up."""

    def __init__(self, labels: Sequence[object] | None) -> None:
        self._labels = labels
        self._wealth: dict[tuple[Family, str, str], FloatArray] = {}
        self._seen: dict[tuple[Family, str, str], FloatArray] = {}
        self._both_ways: dict[str, bool] = {}
        self._on_actions: dict[str, None] = {}

    def add(self, reading: Reading, families: Mapping[Family, tuple[IntArray, Sequence[str]]]) -> None:
        """``families`` has for each family a code a round and the names of the codes."""
        everywhere = {OVERALL: (np.zeros(reading.rounds.size, dtype=np.int64), [""]), **families}
        for bet in _bets(reading, self._labels):
            self._both_ways[bet.name] = bet.both_ways
            if bet.on_action:
                self._on_actions[bet.name] = None
            for family, (codes, names) in everywhere.items():
                won = log_wealth(bet.x, bet.y, bet.rates, codes, len(names))
                seen = np.stack(
                    [np.bincount(codes, part, len(names)) for part in (np.ones(len(codes)), bet.observed, bet.expected)]
                )
                for place, name in enumerate(names):
                    if seen[0, place]:
                        key = (family, name, bet.name)
                        self._wealth[key] = won[place] + self._wealth.get(key, np.zeros(len(bet.rates)))
                        self._seen[key] = seen[:, place] + self._seen.get(key, np.zeros(3))

    def evidence(self) -> list[Evidence]:
        """Of every segment, the mean of its e-values: an e-value again, whatever their dependence."""
        found = [self._of(family, segment, bets) for (family, segment), bets in self._segments().items()]
        alone = [replace(self._of(OVERALL, "", [bet]), family=BY_ACTION, segment=bet) for bet in self._on_actions]
        return found + alone

    def found(self, *, level: float) -> list[Evidence]:
        """The segments whose propensities are wrong; if all are right, any is named with probability at most ``level``."""
        everything = {str(place): one for place, one in enumerate(self.evidence())}
        names = discoveries({name: one.e_value for name, one in everything.items()}, rate=level)
        return [everything[name] for name in names]

    def _segments(self) -> dict[tuple[Family, str], list[str]]:
        segments: dict[tuple[Family, str], list[str]] = {}
        for family, segment, bet in self._wealth:
            segments.setdefault((family, segment), []).append(bet)
        return segments

    def _of(self, family: Family, segment: str, bets: list[str]) -> Evidence:
        logs = {bet: self._log_e(family, segment, bet) for bet in bets}
        strongest = max(logs, key=lambda bet: logs[bet])
        mean = float(np.logaddexp.reduce(list(logs.values()))) - math.log(len(logs))
        rounds, observed, expected = self._seen[family, segment, strongest]
        e_value = math.exp(min(mean, _LARGEST_LOG))
        return Evidence(family, segment, e_value, strongest, int(rounds), observed / rounds, expected / rounds)

    def _log_e(self, family: Family, segment: str, bet: str) -> float:
        wealth = self._wealth[family, segment, bet]
        prior = np.full(len(wealth), 1.0 / len(wealth)) if self._both_ways[bet] else np.array(_GRID.prior)
        return float(np.logaddexp.reduce(np.log(prior) + wealth))


def _bets(reading: Reading, labels: Sequence[object] | None) -> Iterator[Bet]:
    rounds = reading.rounds
    if rounds.logging_shares is None:
        for name, weights in reading.weights.items():
            yield _held_to(f"weights of {name!r}", weights.weight, np.ones(rounds.size))
        if rounds.action_counts is not None and not rounds.declaration.density:
            yield _held_to("inverse propensities", 1.0 / rounds.propensity, rounds.action_counts)
        return
    assert rounds.action is not None
    shares = rounds.logging_shares
    yield _on_set("production's favourite", shares, rounds.action, _favourite(shares))
    for name, found in reading.probabilities.items():
        if found.vectors is not None:
            yield _on_set(f"favourite of {name!r}", shares, rounds.action, _favourite(found.vectors))
    lengths = shares.lengths
    if len(lengths) and (lengths == lengths[0]).all():
        for action in range(min(int(lengths[0]), MOST_ACTIONS)):
            label = repr(labels[action]) if labels is not None else str(action)
            yield _on_set(f"action {label}", shares, rounds.action, np.full(rounds.size, action), on_action=True)


def _held_to(name: str, values: FloatArray, most: FloatArray) -> Bet:
    """A bet that values are larger on average than they may be."""
    return Bet(name, values, most, values, most, both_ways=False)


def _on_set(
    name: str, shares: Vectors, taken: IntArray, chosen: npt.NDArray[np.int64], *, on_action: bool = False
) -> Bet:
    """A bet that the chosen action is taken more, or less, often than its share."""
    expected, observed = shares.at(chosen), (taken == chosen).astype(np.float64)
    return Bet(name, observed - expected, np.zeros(len(taken)), observed, expected, both_ways=True, on_action=on_action)


def _favourite(vectors: Vectors) -> npt.NDArray[np.int64]:
    """The first of the most likely actions."""
    top = vectors.spread(vectors.fold(np.maximum, vectors.values, empty=0.0))
    places = np.arange(len(vectors.values)) - vectors.spread(vectors.starts[:-1].astype(np.float64))
    first = np.where(vectors.values == top, places, np.inf)
    return vectors.fold(np.minimum, first, empty=0.0).astype(np.int64)
