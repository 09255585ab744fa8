"""Bets in blocks: what earlier blocks of rounds show decides how the evidence of the next is weighed.

The mixture holds its prior to the end. Here the rounds are dealt into blocks, and the shares of the components in a block
are chosen from the blocks before it. Given those, the factor of the block has mean at most 1 whatever the shares, so the
wealth is a nonnegative supermartingale over the blocks. It needs independent rounds that do not drift, and one look.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from surelift import grids
from surelift.arrays import FloatArray
from surelift.bounds.betting import STATIC, BlockBets
from surelift.bounds.bound import INDEPENDENT, THREE_COLUMNS, Bound, rounded_down
from surelift.bounds.mixture import plan as mixture_plan
from surelift.bounds.mixture import root
from surelift.grids import Grid
from surelift.quantities import Quantity
from surelift.statistics import Narrowing, Needed, TermSums
from surelift.statistics.dealing import Dealt

BLIND_KEYS = (
    "what deals rounds into blocks (the cluster, the id, or else the row number) tells nothing of their actions and "
    "rewards: without an id, the rows are not sorted or grouped by them"
)
# Small blocks to learn from, then equal ones, and smaller ones at the end, to bet on what is still missing.
FIRST, EQUAL, LAST_SHARE = (0.02, 0.03, 0.05), 19, 0.25
LAST = [0.9**place for place in range(10)]
BLOCKS = Dealt.of((
    *FIRST,
    *[(1.0 - math.fsum(FIRST) - LAST_SHARE) / EQUAL] * EQUAL,
    *[LAST_SHARE * size / math.fsum(LAST) for size in LAST],
))  # fmt: skip
# The means that shares are made for lie a tenth of a standard error apart, that of a coin with this mean.
STEP, NEAR_ZERO = 0.1, 0.05
AT_ONCE = 32
# Rewards lie in [0, 1] here: logs that show more are refused, and by how much more is not looked for.
MOST = 1.0
_BISECTIONS = 50


def plan(
    *, quantity: Quantity, offset: float, count: Callable[[], int], narrowing: Narrowing | None = None,
    grid: str | Grid = "planned",
) -> Needed:  # fmt: skip
    """The components of the mixture on a closer grid, added up block by block."""
    if grid == "planned":
        closer = grids.closer(count(), paired=quantity.paired)
        grid = closer.scaled(1.0 / offset) if quantity.paired else closer
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
    for means in _means_from(low, sums):
        if low > MOST:
            break
        wealth = bets.against(means)
        # What is not a number is not rejected.
        kept = np.flatnonzero(~(wealth.logarithm >= target))
        rejected = means[: kept[0]] if len(kept) else means
        low = float(rejected[-1]) if len(rejected) else low
        if len(kept):
            low = _last_rejected(bets, wealth.shares[kept[0]], target, low, float(means[kept[0]]))
            break
    return rounded_down(low, floor, abs(floor))


def log_wealth(mean: float, sums: TermSums, *, delta: float) -> float:
    """The logarithm of the evidence against "the mean is at most ``mean``", by the bets of a bound at delta.

    Less than what the bound needs where a smaller mean was not rejected: the bound is below ``mean`` then.
    """
    if not sums.blocks or mean > MOST:
        return 0.0
    bets = BlockBets.of(sums, delta=delta)
    above = next(means for means in _means_from(mean, sums) if len(means))[:1]
    found = bets.within(mean, bets.against(above).shares[0])
    certifies = lower_bound(sums, delta=delta) > mean
    return found if certifies else min(found, math.nextafter(math.log(1.0 / delta), 0.0))


def _floor(sums: TermSums) -> float:
    return 0.0 - min(part.offset for part in sums.needed.components)


def _means_from(start: float, sums: TermSums) -> Iterator[FloatArray]:
    """The means of the list from the first at or above ``start``, some at once.

    Those of a value are equal steps of an angle from 0 to 1, so denser at both ends, where a mean varies less; beyond 1
    equal steps. Those of an improvement are densest at zero, with steps that grow with the square root of the distance from
    it, in units of the offset.
    """
    offset, floor = sums.needed.offset, _floor(sums)
    if offset:
        steps, distance = 2.0 * math.sqrt(sums.rounds) / STEP, 4.0 * (1.0 + NEAR_ZERO) * abs(start) / offset
        share = math.copysign((math.sqrt(NEAR_ZERO**2 + distance) - NEAR_ZERO) / 2.0, start)
    else:
        steps = math.ceil(math.pi * math.sqrt(sums.rounds) / STEP)
        share = 2.0 / math.pi * math.asin(math.sqrt(start)) if start < 1.0 else start
    place = math.floor(steps * share) - 1
    while True:
        places = np.arange(place, place + AT_ONCE, dtype=np.float64)
        if offset:
            shares = places / steps
            means = np.maximum(floor, offset * shares * (np.abs(shares) + NEAR_ZERO) / (1.0 + NEAR_ZERO))
        else:
            places = np.maximum(places, 0.0)
            means = np.where(places < steps, np.sin(np.pi * places / (2.0 * steps)) ** 2, places / steps)
        yield means[means >= start]
        place += AT_ONCE


def _last_rejected(bets: BlockBets, shares: FloatArray, target: float, low: float, high: float) -> float:
    """The last rejected mean between ``low``, below which all are, and ``high``, which is not: the wealth falls there."""
    if not bets.within(low, shares) >= target:
        return low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if bets.within(middle, shares) >= target else (low, middle)
    return low


BLOCKS_BOUND = Bound(
    name="blocks", promise="one look",
    proved="Theorem B: a nonnegative supermartingale over blocks, and Ville's inequality",
    says="Deals the rounds into blocks, and weighs the smoothings and strengths of control in each block by what earlier "
    "blocks have shown: a fifth to a third narrower than the mixture. It holds at one look, at a number of rounds fixed in "
    "advance, if the rounds are independent and nothing drifts.",
    needs=THREE_COLUMNS, options=("grid",), assumes=(INDEPENDENT, BLIND_KEYS), controls=("weights",), in_blocks=True,
    paired=True, plan=plan, lower_bound=lower_bound,
)  # fmt: skip
