"""The growth of evidence if rounds to come are like those of a log, and how far the log can tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.bounds.betting import BlockBets

MOST_ROUNDS = 10**15
SEED = 20240523
SIMULATED = 256
"""Logs, to find the power of bets in blocks."""
_BISECTIONS = 50
_STEP, _FINEST = 1.5, 1.08


class PowerCurve(Protocol):
    def power_at(self, rounds: float) -> float:
        """The probability that so many rounds of a new log certify it."""


@dataclass(frozen=True, slots=True)
class BlockTotals:
    """The rounds of some blocks of a log, (..., blocks), and for each component the log sums and the sums of the terms with
    their offsets, (..., blocks, components).
    """

    rounds: FloatArray
    logs: FloatArray
    sums: FloatArray
    smoothing: FloatArray
    offset: FloatArray

    def resampled(self, count: int) -> "BlockTotals":
        """The blocks themselves, and so many times as many drawn from them with replacement."""
        blocks = len(self.rounds)
        drawn = np.random.default_rng(SEED).integers(0, blocks, (count, blocks))
        return self[np.vstack([np.arange(blocks), drawn])]

    def __getitem__(self, case: int | IntArray) -> "BlockTotals":
        return replace(self, rounds=self.rounds[case], logs=self.logs[case], sums=self.sums[case])

    @property
    def means(self) -> FloatArray:
        """The mean term of each component, which a control moves."""
        return np.asarray(self._per_round(self.sums) - self.offset)

    def log_means(self, assumed: FloatArray | float) -> FloatArray:
        """The mean logarithms, as if each factor were larger, or smaller, by what the assumed mean makes of its mean."""
        own = np.log1p(self.smoothing * np.maximum(self.means + self.offset, 0.0))
        return np.asarray(self._per_round(self.logs) + self.log_factor(assumed) - own)

    def log_factor(self, mean: FloatArray | float) -> FloatArray:
        return np.asarray(np.log1p(self.smoothing * np.maximum(np.asarray(mean)[..., None] + self.offset, 0.0)))

    def residuals(self, totals: FloatArray) -> FloatArray:
        """The differences of the blocks: the sum of their products is the covariance of a round."""
        rounds = self.rounds[..., None]
        varied = (totals - rounds * self._per_round(totals)[..., None, :]) / np.sqrt(rounds)
        return np.asarray(varied / math.sqrt(max(self.rounds.shape[-1] - 1, 1)))

    def _per_round(self, totals: FloatArray) -> FloatArray:
        return np.asarray(totals.sum(axis=-2) / self.rounds.sum(axis=-1)[..., None])


@dataclass(frozen=True, slots=True)
class Growth:
    """The log evidence of each mixture component grows by a mean and a deviation per round, (..., components)."""

    log_start: FloatArray  # the prior, and the log evidence that earlier rounds have brought
    mean: FloatArray
    deviation: FloatArray
    target: float

    def log_wealth(self, rounds: FloatArray | float, quantile: float) -> FloatArray:
        """The log evidence after so many rounds, at a quantile of its normal approximation."""
        rounds = np.asarray(rounds)[..., None]
        grown = self.log_start + rounds * self.mean + quantile * np.sqrt(rounds) * self.deviation
        return np.asarray(np.logaddexp.reduce(grown, axis=-1))

    def rounds_needed(self, power: float) -> FloatArray:
        """Infinite where no number gives this power."""
        from scipy.special import ndtri

        quantile = -float(ndtri(power))
        low, high = np.zeros(self.mean.shape[:-1]), np.ones(self.mean.shape[:-1])
        while (short := (self.log_wealth(high, quantile) < self.target) & (high < MOST_ROUNDS)).any():
            low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2.0
            enough = self.log_wealth(middle, quantile) >= self.target
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(high < MOST_ROUNDS, np.ceil(high), np.inf)

    def power_at(self, rounds: float) -> float:
        low, high = -8.0, 8.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2.0
            enough = self.log_wealth(rounds, middle) >= self.target
            low, high = (low, middle) if enough else (middle, high)
        return 0.5 * math.erfc(low / math.sqrt(2.0))


@dataclass(frozen=True, slots=True)
class BlockGrowth:
    """Bets in blocks on simulated logs: the sums of a block are about normal, and vary as those of the log at hand do."""

    bets: BlockBets  # on the log at hand: its components, and what they aim at
    totals: BlockTotals
    shares: tuple[float, ...]  # the share of the rounds in each block that is bet on
    assumed: float
    margin: float
    target: float
    planned: tuple[int, IntArray] | None
    """The number of rounds that smoothings were planned for, and the components in their order, (controls, smoothings)."""

    def power_at(self, rounds: float) -> float:
        return self._power(rounds, self._varied())

    def rounds_needed(self, power: float, start: float) -> float:
        """Found by steps from a number that is about right, and interpolated between the last two."""
        varied = self._varied()
        low = high = start
        below = above = self._power(start, varied)
        while below >= power and low > 1.0:
            low, high, above = low / _STEP, low, below
            below = self._power(low, varied)
        while above < power:
            if high > MOST_ROUNDS:
                return math.inf
            low, high, below = high, high * _STEP, above
            above = self._power(high, varied)
        while high > _FINEST * low:
            middle = math.sqrt(low * high)
            reached = self._power(middle, varied)
            low, below, high, above = (low, below, middle, reached) if reached >= power else (middle, reached, high, above)
        part = (power - below) / (above - below) if above > max(power, below) else 1.0
        return float(math.ceil(low * (high / low) ** max(part, 0.0)))

    def _power(self, rounds: float, varied: FloatArray) -> float:
        totals, components, sizes = self.totals, len(self.totals.offset), rounds * np.array(self.shares)[:, None, None]
        mean = np.hstack([totals.log_means(self.assumed), self.assumed + totals.offset])
        drawn = np.maximum(sizes * mean + np.sqrt(sizes) * varied, 0.0)  # the sums of what is never negative
        kept, prior, alike = self._replanned(rounds)
        bets = replace(
            self.bets, rounds=sizes[:, 0, 0], logs=drawn[..., kept], sums=drawn[..., components + kept],
            smoothing=totals.smoothing[kept], offset=totals.offset[kept], log_prior=self.bets.log_prior[prior],
            alike=alike,
        )  # fmt: skip
        wealth = bets.against(np.full(SIMULATED, self.margin))
        return float((wealth.logarithm >= self.target).mean())

    def _replanned(self, rounds: float) -> tuple[IntArray, IntArray, Sequence[Sequence[int]]]:
        """Components like those planned for so many rounds, those whose prior they then have, and those of each control.

        Smoothings go with 1/sqrt(rounds): for each, that of the log at hand which is nearest, if it is near.
        """
        if self.planned is None:
            every = np.arange(len(self.totals.offset))
            return every, every, self.bets.alike
        planned, table = self.planned
        logs = np.log2(self.totals.smoothing[table[0]])
        distance = np.abs(logs[:, None] - (logs - 0.5 * math.log2(rounds / planned)))
        nearest, near = distance.argmin(axis=0), distance.min(axis=0) <= 0.5
        if not near.any():
            near = distance.min(axis=0) == distance.min()
        kept, prior = table[:, nearest[near]], table[:, near]
        controls, count = kept.shape
        return kept.ravel(), prior.ravel(), [range(first * count, (first + 1) * count) for first in range(controls)]

    def _varied(self) -> FloatArray:
        """The deviations of the sums of each block of each log from their means, a round, (blocks, logs, components)."""
        residuals = self.totals.residuals(np.hstack([self.totals.logs, self.totals.sums]))
        lengths = np.sqrt((residuals**2).sum(axis=0))
        directions, *_ = np.linalg.svd(residuals / np.where(lengths > 0.0, lengths, 1.0))
        drawn = _draws(self.shares, len(residuals))
        return np.asarray(drawn @ (directions.T @ residuals))


@lru_cache(maxsize=2)
def _draws(shares: tuple[float, ...], directions: int) -> FloatArray:
    """Standard normal numbers, the same at every number of rounds, so that power grows with it."""
    # Where the sums vary most, the totals of the logs are evenly spread quantiles, which leaves less to chance.
    from scipy.special import ndtri

    drawn = np.random.default_rng(SEED).standard_normal((len(shares), SIMULATED, directions))
    parts = np.sqrt(shares)[:, None]
    even = ndtri((np.arange(SIMULATED) + 0.5) / SIMULATED)
    drawn[..., 0] += parts * (even - (parts * drawn[..., 0]).sum(axis=0))
    return drawn
