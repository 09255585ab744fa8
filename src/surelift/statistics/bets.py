r"""Bets against the logged propensities, each fair if they are right.

Where production's distribution is known, v = 1[a in S] - pi0(S) has mean zero for any set S of actions fixed before the
action: one action, production's favourite, a candidate's favourite. The wealth prod (1 + beta v), mixed over beta of both
signs, is evidence in both directions. Where only propensities are known, E[w] <= 1 for every candidate and E[1/q] <= K for
K actions, so prod (1 + lambda w)/(1 + lambda) and prod (1 + lambda/q)/(1 + lambda K) are evidence that they are too small.
Inside a segment known before the action all of this stays true.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from surelift import grids
from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.kernels.log_products import log_products
from surelift.kernels.log_sums import log_sums, log_terms
from surelift.kernels.sorting import Sorted
from surelift.logs.vectors import Vectors
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

BOTH_WAYS = np.array([sign * 2.0**-j for j in range(1, 11) for sign in (1.0, -1.0)])
ONE_WAY = grids.anytime()
MOST_ACTIONS = 50


@dataclass(frozen=True, slots=True)
class Bet:
    """The wealth is the product of 1 + rate (observed - expected), or one way (1 + rate observed)/(1 + rate expected)."""

    name: str
    observed: FloatArray
    expected: FloatArray
    both_ways: bool
    action: int | None = None
    """The action bet on, where it is the same in all rounds."""
    least: float = 0.0
    """The least that can be observed, from which both are counted, one way."""

    @property
    def rates(self) -> FloatArray:
        return BOTH_WAYS if self.both_ways else np.array(ONE_WAY.smoothings)


@dataclass(frozen=True, slots=True)
class Wealth:
    """What one bet has won, as a logarithm for each rate; and rounds, observed and expected sums."""

    logs: FloatArray
    seen: FloatArray
    both_ways: bool
    on_action: bool

    def __add__(self, other: "Wealth") -> "Wealth":
        return Wealth(self.logs + other.logs, self.seen + other.seen, self.both_ways, self.on_action)

    @property
    def log_e_value(self) -> float:
        count = len(self.logs)
        prior = np.full(count, 1.0 / count) if self.both_ways else np.array(ONE_WAY.prior)
        return float(np.logaddexp.reduce(np.log(prior) + self.logs))


@dataclass(frozen=True, slots=True)
class Wealths:
    """By the name of the bet. A position is one action only where all vectors are of one length."""

    bets: Mapping[str, Wealth] = field(default_factory=dict)
    length: int | None = None
    """Of all vectors; 0 where it varies, or there are none, and None before any round."""

    def __add__(self, other: "Wealths") -> "Wealths":
        if self.length is None or other.length is None:
            return self if other.length is None else other
        length = self.length if self.length == other.length else 0
        bets = dict(self.bets)
        for name, wealth in other.bets.items():
            bets[name] = bets[name] + wealth if name in bets else wealth
        return Wealths({name: wealth for name, wealth in bets.items() if length or not wealth.on_action}, length)


@dataclass(frozen=True, slots=True)
class Bets(Statistic):
    label: ClassVar[str] = "tests of the propensities"
    candidates: tuple[str, ...] = ()
    """Whose weights, or favourite actions, are bet on."""
    labels: tuple[Any, ...] | None = None
    """Of the actions, where they were declared."""

    def of(self, batch: Batch, groups: Groups) -> Sequence[Wealths]:
        size = batch.size
        by_group = groups.sorted(size)
        found: list[dict[str, Wealth]] = [{} for _ in range(len(groups))]
        lengths = _common_lengths(batch, groups)
        for bet in _bets(batch, self.candidates, self.labels, max(lengths, default=0)):
            won = log_wealth(bet, by_group)
            seen = np.stack([groups.counts(size), groups.sums(bet.observed), groups.sums(bet.expected)])
            for group, wealths in enumerate(found):
                on_action = bet.action is not None
                if bet.action is None or bet.action < lengths[group]:
                    wealths[bet.name] = Wealth(won[group], seen[:, group].astype(np.float64), bet.both_ways, on_action)
        return [Wealths(wealths, length) for wealths, length in zip(found, lengths, strict=True)]

    def encode(self, state: Any) -> Any:
        bets = [
            [name, wealth.logs.tolist(), wealth.seen.tolist(), wealth.both_ways, wealth.on_action]
            for name, wealth in state.bets.items()
        ]
        return [state.length, bets]

    def decode(self, content: Any) -> Any:
        length, bets = content
        decoded = {name: Wealth(np.array(logs), np.array(seen), *flags) for name, logs, seen, *flags in bets}
        return Wealths(decoded, length)


def _common_lengths(batch: Batch, groups: Groups) -> list[int]:
    """How long the vectors of each group are, or 0."""
    shares = batch.shares
    if shares is None:
        return [0] * len(groups)
    parts = groups.split(shares.lengths)
    return [int(part[0]) if len(part) and (part == part[0]).all() else 0 for part in parts]


def _bets(batch: Batch, candidates: Sequence[str], labels: Sequence[object] | None, actions: int) -> Iterator[Bet]:
    shares = batch.shares
    if shares is None:
        for name in candidates:
            bet = _held_to(f"weights of {name!r}", batch.own_weights(name), np.ones(batch.size))
            yield replace(bet, least=min(0.0, 1.0 - batch.asked[name].limits.drop))
        counts = batch.decisions.counts
        if counts is not None and batch.decisions.continuous is None and not math.isinf(batch.decisions.largest):
            yield _held_to("inverse propensities", 1.0 / batch.propensity, counts)
        return
    taken = batch.decisions.taken
    yield _on_set("production's favourite", shares, taken, favourite(shares))
    for name in candidates:
        vectors = batch.policies[name].vectors
        if vectors is not None:
            yield _on_set(f"favourite of {name!r}", shares, taken, favourite(vectors))
    for action in range(min(actions, MOST_ACTIONS)):
        label = repr(labels[action]) if labels is not None else str(action)
        # Where a vector is too short for it, nothing is bet, and nothing kept.
        chosen = np.minimum(action, shares.lengths - 1)
        yield replace(_on_set(f"action {label}", shares, taken, chosen), action=action)


def _held_to(name: str, values: FloatArray, most: FloatArray) -> Bet:
    """A bet that values are larger on average than they may be."""
    return Bet(name, values, most, both_ways=False)


def _on_set(name: str, shares: Vectors, taken: IntArray, chosen: npt.NDArray[np.int64]) -> Bet:
    """A bet that the chosen action is taken more, or less, often than its share."""
    expected, observed = shares.at(chosen), (taken == chosen).astype(np.float64)
    return Bet(name, observed, expected, both_ways=True)


def favourite(vectors: Vectors) -> npt.NDArray[np.int64]:
    """The first of the most likely actions."""
    top = vectors.spread(vectors.fold(np.maximum, vectors.values, empty=0.0))
    places = np.arange(len(vectors.values)) - vectors.spread(vectors.starts[:-1].astype(np.float64))
    first = np.where(vectors.values == top, places, np.inf)
    return vectors.fold(np.minimum, first, empty=0.0).astype(np.int64)


def log_wealth(bet: Bet, groups: Sorted) -> FloatArray:
    """(groups, rates): what betting at each rate has won in each group, as a logarithm."""
    if bet.both_ways:
        return log_products(bet.observed - bet.expected, bet.rates, groups)
    observed, expected = bet.observed - bet.least, bet.expected - bet.least
    return _log_sums(observed, bet.rates, groups) - _log_sums(expected, bet.rates, groups)


def _log_sums(values: FloatArray, rates: FloatArray, groups: Sorted) -> FloatArray:
    if len(values) and (values == values[0]).all():
        return np.outer(np.diff(groups.edges), log_terms(rates, float(values[0])))
    return log_sums(values, rates, groups)[0]
