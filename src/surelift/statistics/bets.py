r"""Bets against the logged propensities, and against what was declared, each fair if they are right.

Where production's distribution is known, v = 1[a in S] - pi0(S) has mean zero for any set S of actions fixed before the
action: one action, production's favourite, a candidate's favourite. The wealth prod (1 + beta v), mixed over beta of both
signs, is evidence in both directions. Where only propensities are known, E[w] <= 1 for every candidate and E[1/q] <= K for
K actions, so prod (1 + lambda w)/(1 + lambda) and prod (1 + lambda/q)/(1 + lambda K) are evidence that they are too small.
Inside a segment known before the action all of this stays true.

With right propensities, and production able to take every action of the policy, E[w] = 1 given the past. Where w - 1 lies
in [-drop, rise], each factor 1 + beta (w - 1) with beta in [-1/rise, 1/drop] is nonnegative and has mean 1, so their
product, mixed over beta = 2^-j/drop and -2^-j/rise, is evidence in both directions. A cluster is one factor, made from its
mean weight, which lies in the same range and has mean 1 too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from surelift import grids
from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.log_sums import log_products, log_sums, log_terms
from surelift.kernels.sorting import Sorted
from surelift.logs.vectors import Vectors
from surelift.statistics.statistic import Groups, Statistic

BOTH_WAYS = np.array([sign * 2.0**-j for j in range(1, 11) for sign in (1.0, -1.0)])
ONE_WAY = grids.anytime()
MOST_ACTIONS = 50
HALVINGS = 10


@dataclass(frozen=True, slots=True)
class Bet:
    """The wealth is the product of 1 + rate (observed - expected), or one way (1 + rate observed)/(1 + rate expected)."""

    name: str
    observed: FloatArray
    expected: FloatArray
    both_ways: bool
    action: int | None = None
    least: float = 0.0
    """The least that can be observed, from which both are counted, one way."""


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
    """The wealth of each bet by its name. A position is one action only where all vectors are of one length."""

    bets: dict[str, Wealth] = field(default_factory=dict)
    length: int | None = None
    """The length of all vectors; 0 where it varies, or there are none, and None before any round."""

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
    labels: tuple[Any, ...] | None = None

    def of(self, batch: Batch, groups: Groups) -> Sequence[Wealths]:
        lengths = [0] * len(groups.values)
        if batch.shares is not None:
            parts = groups.split(batch.shares.lengths)
            lengths = [int(part[0]) if len(part) and (part == part[0]).all() else 0 for part in parts]
        found = [Wealths({}, length) for length in lengths]
        for bet in _bets(batch, self.candidates, self.labels, max(lengths, default=0)):
            won = log_wealth(bet, groups.sorted(batch.size))
            seen = np.array([groups.counts(batch.size), groups.sums(bet.observed), groups.sums(bet.expected)], np.float64)
            for group, (state, length) in enumerate(zip(found, lengths, strict=True)):
                if bet.action is None or bet.action < length:
                    state.bets[bet.name] = Wealth(won[group], seen[:, group], bet.both_ways, bet.action is not None)
        return found

    def encode(self, state: Any) -> Any:
        bets = state.bets.items()
        return [state.length, [[name, *super(Bets, self).encode(wealth)] for name, wealth in bets]]

    def decode(self, content: Any) -> Any:
        length, bets = content
        return Wealths({name: Wealth(np.array(logs), np.array(seen), *of) for name, logs, seen, *of in bets}, length)


def _bets(batch: Batch, candidates: Sequence[str], labels: Sequence[object] | None, actions: int) -> Iterator[Bet]:
    decisions, shares = batch.decisions, batch.shares
    if shares is None:
        for name in candidates:
            # The weight of each row's own action: given everything before it, its mean is at most 1.
            multiplied = batch.units.multiplies
            own = 1.0 + batch.policies[name].excess(batch.propensity) if multiplied else batch.weights[name].weight
            least = min(0.0, 1.0 - batch.asked[name].limits.drop)
            yield Bet(f"weights of {name!r}", own, np.ones(batch.size), both_ways=False, least=least)
        if decisions.counts is not None and decisions.continuous is None and not math.isinf(decisions.largest):
            yield Bet("inverse propensities", 1.0 / batch.propensity, decisions.counts, both_ways=False)
        return
    vectors = {f"favourite of {name!r}": batch.policies[name].vectors for name in candidates}
    sets: list[tuple[str, Any, int | None]] = [("production's favourite", favourite(shares), None)]
    sets += [(name, favourite(each), None) for name, each in vectors.items() if each is not None]
    for action in range(min(actions, MOST_ACTIONS)):
        label = repr(labels[action]) if labels is not None else str(action)
        # Where a vector is too short for it, nothing is bet, and nothing kept.
        sets.append((f"action {label}", np.minimum(action, shares.lengths - 1), action))
    for name, chosen, bet_on in sets:
        observed = (decisions.taken == chosen).astype(np.float64)
        yield Bet(name, observed, shares.at(chosen), both_ways=True, action=bet_on)


def favourite(vectors: Vectors) -> npt.NDArray[np.int64]:
    """The first of the most likely actions."""
    top = vectors.spread(vectors.fold(np.maximum, vectors.values, empty=0.0))
    places = np.arange(len(vectors.values)) - vectors.spread(vectors.starts[:-1].astype(np.float64))
    first = np.where(vectors.values == top, places, np.inf)
    return vectors.fold(np.minimum, first, empty=0.0).astype(np.int64)


def log_wealth(bet: Bet, groups: Sorted) -> FloatArray:
    """(groups, rates): what betting at each rate has won in each group, as a logarithm."""
    if bet.both_ways:
        return log_products(bet.observed - bet.expected, BOTH_WAYS, groups)
    found, rates = list[FloatArray](), np.array(ONE_WAY.smoothings)
    for values in (bet.observed - bet.least, bet.expected - bet.least):
        if len(values) and (values == values[0]).all():
            found.append(np.outer(np.diff(groups.edges), log_terms(rates, float(values[0]))))
        else:
            found.append(log_sums(values, rates, groups)[0])
    return found[0] - found[1]


@dataclass(frozen=True, slots=True)
class Audit(Statistic):
    """The state is an array of numbers that add up; the trait of this slot says itself what is counted, and its worth."""

    label: ClassVar[str] = "the test of what was declared"
    slot: str

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        found: Sequence[FloatArray] = getattr(batch.declared, self.slot).audit(batch, groups)
        return found


@dataclass(frozen=True, slots=True)
class MeanWeight(Statistic):
    """The state is an array: the logarithm of each bet's wealth, the number of units, and their summed w - 1."""

    label: ClassVar[str] = "the test of a largest weight"
    candidate: str
    drop: float
    rise: float

    @property
    def rates(self) -> FloatArray:
        halves = 0.5 ** np.arange(1, HALVINGS + 1)
        return np.concatenate([halves / self.drop, -halves / self.rise])

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        units = batch.units
        excess = units.mean(batch.weights[self.candidate].excess, 0.0)
        won = log_products(excess, self.rates, groups.units.sorted(units.count))
        counts, totals = groups.units.counts(units.count), groups.units.sums(excess)
        # Where vectors and propensities differ a little, the mean of right weights is that far from 1.
        slack = batch.policies[self.candidate].short_of_one + float(batch.overstated.max(initial=0.0))
        return list(np.column_stack([won - slack * np.outer(counts, np.abs(self.rates)), counts, totals]))
