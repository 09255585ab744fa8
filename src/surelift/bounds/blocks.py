"""Bets in blocks: what earlier blocks of rounds show decides how the evidence of the next is weighed.

The mixture holds its prior to the end. Here the rounds are dealt into blocks, and the shares of the components in a block
are chosen from the blocks before it. Given those, the factor of the block has mean at most 1 whatever the shares, so the
wealth is a nonnegative supermartingale over the blocks. It needs independent rounds that do not drift, and one look.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds.betting import STATIC, BlockBets
from surelift.bounds.bound import INDEPENDENT, THREE_COLUMNS, Bound
from surelift.bounds.mixture import ROUNDING, root
from surelift.bounds.mixture import plan as mixture_plan
from surelift.grids import Grid
from surelift.quantities import Quantity
from surelift.statistics.dealing import Dealt
from surelift.statistics.narrowing import Narrowing
from surelift.statistics.plan import Needed
from surelift.statistics.sums import TermSums

# Small blocks to learn from, then equal ones, and ever smaller ones at the end, to bet on what is still missing.
FIRST, EQUAL, LAST, SHRINK, LAST_SHARE = (0.02, 0.03, 0.05), 18, 11, 0.75, 0.25
# The means that shares are made for lie so far apart, relative to their distance from the least mean.
COARSEST, FINENESS = 0.001, 0.1
LEAST_DISTANCE = 1e-6
AT_ONCE = 48
_BISECTIONS = 50


def _dealt() -> Dealt:
    sizes = [SHRINK**place for place in range(LAST)]
    equal = (1.0 - math.fsum(FIRST) - LAST_SHARE) / EQUAL
    return Dealt((*FIRST, *[equal] * EQUAL, *(LAST_SHARE * size / math.fsum(sizes) for size in sizes)))


BLOCKS = _dealt()


def plan(
    *,
    quantity: Quantity,
    offset: float,
    count: Callable[[], int],
    narrowing: Narrowing | None = None,
    grid: str | Grid = "planned",
) -> Needed:
    """The components of the mixture, added up block by block."""
    needed = mixture_plan(quantity=quantity, offset=offset, count=count, narrowing=narrowing, grid=grid)
    return replace(needed, blocks=BLOCKS, any_looks=False)


def lower_bound(sums: TermSums, *, delta: float) -> float:
    """Bound a mean from below, with probability at least 1 - delta, at one look.

    It is the first mean that is not rejected, going up from the least possible one. Shares are made for the means of a
    list that is fixed beforehand; between two of them those of the larger are used, and the wealth falls with the mean
    there. Across them it need not, so nothing is skipped; but what the static share alone rejects needs no look.
    """
    floor = _floor(sums)
    if not sums.blocks:
        return floor
    bets, target = BlockBets.of(sums, delta=delta), math.log(1.0 / delta)
    low = root(
        bets.log_prior + sums.log_sums, bets.smoothing, bets.offset, rounds=sums.rounds,
        target=target - math.log(STATIC), floor=floor,
    )  # fmt: skip
    for means in _lists(low, floor, sums.rounds):
        wealth = bets.against(means)
        # What is not a number is not rejected.
        kept = np.flatnonzero(~(wealth.logarithm >= target))
        if not len(kept):
            low = float(means[-1])
            continue
        first = int(kept[0])
        low = low if first == 0 else float(means[first - 1])
        cell = partial(bets.within, log_shares=wealth.log_shares[first], stop=int(wealth.stops[first]))
        low = _last_rejected(cell, target, low, float(means[first]))
        break
    return max(floor, low - ROUNDING * (abs(low) + abs(floor)))


def log_wealth(mean: float, sums: TermSums, *, delta: float) -> float:
    """The logarithm of the evidence against "the mean is at most ``mean``", by the bets of a bound at delta.

    Never more than what the bound needs where a smaller mean was not rejected: the bound is below ``mean`` then.
    """
    if not sums.blocks:
        return 0.0
    bets, floor = BlockBets.of(sums, delta=delta), _floor(sums)
    above = next(_lists(mean, floor, sums.rounds))[:1]
    wealth = bets.against(above)
    found = bets.within(mean, wealth.log_shares[0], int(wealth.stops[0]))
    certifies = lower_bound(sums, delta=delta) > mean
    return found if certifies else min(found, math.nextafter(math.log(1.0 / delta), 0.0))


def _floor(sums: TermSums) -> float:
    return 0.0 - min(part.offset for part in sums.needed.components)


def _lists(start: float, floor: float, rounds: int) -> Iterator[FloatArray]:
    """The means of the list from the first at or above ``start``, some at once: geometric in the distance from the floor."""
    ratio = 1.0 + min(COARSEST, FINENESS / math.sqrt(rounds))
    place = math.ceil(math.log(max(start - floor, LEAST_DISTANCE)) / math.log(ratio))
    while True:
        means = floor + ratio ** np.arange(place, place + AT_ONCE, dtype=np.float64)
        yield means[means >= start]
        place += AT_ONCE


def _last_rejected(log_wealth: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Between a mean below which all are rejected and one that is not, where the wealth falls."""
    if not log_wealth(low) >= target:
        return low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if log_wealth(middle) >= target else (low, middle)
    return low


BLOCKS_BOUND = Bound(
    name="blocks",
    promise="one look",
    says="Deals the rounds into blocks, and weighs the smoothings and strengths of control in each block by what earlier "
    "blocks have shown: a fifth to a third narrower than the mixture. It holds at one look, at a number of rounds fixed in "
    "advance, if the rounds are independent and nothing drifts.",
    proved="Theorem B: a nonnegative supermartingale over blocks, and Ville's inequality",
    needs=THREE_COLUMNS, options=("grid",), assumes=(INDEPENDENT,), controls=("weights",), in_blocks=True,
    paired=True, any_units=True, plan=plan, lower_bound=lower_bound,
)  # fmt: skip
