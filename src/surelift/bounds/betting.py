"""Bets in blocks: their shares of the capital, and its growth.

Any shares are valid that depend on earlier blocks, on the sizes of the blocks and on the mean that is tested: they decide
only how narrow the bound is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls import WeightControl
from surelift.statistics import Component, TermSums
from surelift.statistics.plan import arranged

STATIC = 0.1
"""The share of the capital that stays in the mixture, with its prior, throughout."""
SHARPNESS = 15.0
PSEUDO_ROUNDS = 20.0
"""So many rounds with the variance of all components of one control steady the variance of each."""
CASH = 0.02
"""After N of n rounds, N/(N + CASH n) of the capital that moves is bet."""
NOTHING_VARIED = 1e-13


class BlockWealth(NamedTuple):
    shares: FloatArray
    """(means, blocks, components); what they lack to 1 is not bet."""
    logarithm: FloatArray


@dataclass(frozen=True, slots=True)
class BlockBets:
    """The sums of every block, (blocks, components), and the components.

    Of several logs at once they are (blocks, logs, components), and each is bet on against a mean of its own.
    """

    rounds: FloatArray
    logs: FloatArray
    sums: FloatArray
    smoothing: FloatArray
    offset: FloatArray
    log_prior: FloatArray
    alike: Sequence[Sequence[int]]
    target: float

    @classmethod
    def of(cls, sums: TermSums, *, delta: float) -> "BlockBets":
        parts, blocks = arranged(sums.needed.components), sums.blocks
        return cls(
            np.array([block.rounds for block in blocks], dtype=np.float64), np.array([block.log_sums for block in blocks]),
            np.array([block.sums for block in blocks]), parts.smoothings, parts.offsets, parts.log_prior,
            alike(sums.needed.components), math.log(1.0 / (delta * (1.0 - STATIC))),
        )  # fmt: skip

    def against(self, means: FloatArray) -> BlockWealth:
        """Bets against "the mean is at most this", for each of these means, with the shares it suggests.

        Nothing is bet on the first block, nor once enough is won.
        """
        grown = np.log1p(self.smoothing * (means[:, None] + self.offset))
        shares = np.zeros((len(means), len(self.logs), len(self.smoothing)))
        wealth, rounds = np.zeros(len(means)), np.cumsum(self.rounds)
        logs, sums = np.cumsum(self.logs, axis=0), np.cumsum(self.sums, axis=0)
        for block in range(1, len(rounds)):
            betting = wealth < self.target
            if not betting.any():
                break
            log, total = (found[betting] if found.ndim == 2 else found for found in (logs[block - 1], sums[block - 1]))
            shares[betting, block] = self._shares(means[betting], wealth[betting], rounds, log, total, block)
            wealth = wealth + _log_factor(shares[:, block], self.logs[block] - self.rounds[block] * grown)
        return BlockWealth(shares, self._with_static(wealth, grown))

    def within(self, mean: float, shares: FloatArray) -> float:
        """The logarithm against a mean, with the shares that were made for a larger one: it falls with the mean."""
        grown = np.log1p(self.smoothing * (mean + self.offset))
        wealth = _log_factor(shares, self.logs - self.rounds[:, None] * grown).sum()
        return float(self._with_static(wealth, grown))

    def _with_static(self, wealth: FloatArray, grown: FloatArray) -> FloatArray:
        held = self.log_prior + self.logs.sum(axis=0) - self.rounds.sum() * grown
        static = np.logaddexp.reduce(held, axis=-1)
        return np.asarray(np.logaddexp(math.log(1.0 - STATIC) + wealth, math.log(STATIC) + static))

    def _shares(
        self, means: FloatArray, wealth: FloatArray, rounds: FloatArray, logs: FloatArray, sums: FloatArray, block: int
    ) -> FloatArray:
        """Most to the components that need the least to win what is missing.

        A component wins rate (mean - tested mean) - drag a round, its drag being what its terms lose by varying. A mean that
        is larger than the tested one by (missing/left + drag)/rate wins the rest: the component with the smallest is best.
        """
        from scipy.special import ndtri

        seen, total = float(rounds[block - 1]), float(rounds[-1])
        tested = self.smoothing * (means[:, None] + self.offset)
        rate = self.smoothing / (1.0 + tested)
        drag = self._drag(tested, rate, seen, logs, self.smoothing * sums / seen)
        # What is asked of the rounds that are left: between what reaches the target on average, and what a digital option on
        # reaching it would ask for.
        missing = self.target - wealth
        chance = np.clip(np.exp(-missing), 1e-12, 0.999)
        density = np.exp(-(ndtri(chance) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
        asked = ((density / chance) ** 2 / 2.0 + np.maximum(missing, 1e-3)) / 2.0
        gap = (asked[:, None] / (total - seen) + drag) / rate
        shares = np.exp(-SHARPNESS * (gap / gap.min(axis=1, keepdims=True) - 1.0))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True) * (seen / (seen + CASH * total)))

    def _drag(self, tested: FloatArray, rate: FloatArray, seen: float, logs: FloatArray, found: FloatArray) -> FloatArray:
        """The loss of each component a round, as if one more had come: a large term, if that brings the mean found up to the
        mean tested. It stands for the rare weight that was not seen yet. Where nothing varied, it brings it down instead.
        """
        to_tested = (seen + 1.0) * tested - seen * found
        drag = _lost(np.maximum(found, tested), np.maximum(to_tested, found), logs, seen)
        for group in self.alike:
            own, scale = drag[:, group], rate[:, group] ** 2 / 2.0
            same = np.median(own, axis=1, keepdims=True) <= NOTHING_VARIED
            if same.any():
                less = np.maximum(tested[:, group], seen * found[..., group] / (seen + 1.0))
                down = _lost(less, np.maximum(to_tested[:, group], 0.0), logs[..., group], seen)
                own = np.where(same, down, own)
            pooled = scale * np.median(own / scale, axis=1, keepdims=True)
            drag[:, group] = (seen * own + PSEUDO_ROUNDS * pooled) / (seen + PSEUDO_ROUNDS)
        return drag


def alike(parts: Sequence[Component]) -> list[list[int]]:
    """The places of the components of each control, which differ in their smoothing alone."""
    groups = dict[object, list[int]]()
    for place, part in enumerate(parts):
        control = part.control
        groups.setdefault(replace(control, cap=0.0) if isinstance(control, WeightControl) else control, []).append(place)
    return list(groups.values())


def _lost(mean: FloatArray, one_more: FloatArray, logs: FloatArray, seen: float) -> FloatArray:
    """The excess of the logarithm of the mean over the mean logarithm, with one more round."""
    return np.maximum(np.log1p(mean) - (logs + np.log1p(one_more)) / (seen + 1.0), 0.0)


def _log_factor(shares: FloatArray, exponents: FloatArray) -> FloatArray:
    """log(1 - sum of shares + sum of shares exp(exponents)), along the last axis."""
    exponents = np.where(shares > 0.0, exponents, -np.inf)  # what is not bet on may have won beyond all floats
    top = np.maximum(exponents.max(axis=-1), 0.0)
    kept = np.maximum(1.0 - shares.sum(axis=-1), 0.0)
    return np.asarray(top + np.log(kept * np.exp(-top) + (shares * np.exp(exponents - top[..., None])).sum(axis=-1)))
