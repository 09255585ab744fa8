"""How bets in blocks share their capital out, and what it has grown to."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.statistics.sums import TermSums

STATIC = 0.15
"""The share of the capital that stays in the mixture, with its prior, throughout."""
SHARPNESS = 30.0
PSEUDO_ROUNDS = 20.0
CAREFUL_BLOCKS, CAREFUL_SHARE = 2, 0.2
"""After the first block, so many still hold this share of the prior."""


class BlockWealth(NamedTuple):
    """Of bets in blocks against several means."""

    log_shares: FloatArray
    """(means, blocks, components)"""
    stops: IntArray
    """How many blocks were bet on."""
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
    target: float
    """The logarithm at which the capital that moves has won alone."""

    @classmethod
    def of(cls, sums: TermSums, *, delta: float) -> "BlockBets":
        parts = sums.needed.components
        return cls(
            np.array([block.rounds for block in sums.blocks], dtype=np.float64),
            np.array([block.log_sums for block in sums.blocks]),
            np.array([block.sums for block in sums.blocks]),
            np.array([part.smoothing for part in parts]),
            np.array([part.offset for part in parts]),
            np.log([part.prior for part in parts]),
            math.log(1.0 / (delta * (1.0 - STATIC))),
        )

    def against(self, means: FloatArray) -> BlockWealth:
        """Bets against "the mean is at most this", for each of these means, with the shares it suggests."""
        blocks, components = self.logs.shape[0], self.logs.shape[-1]
        shifted = 1.0 + self.smoothing * (means[:, None] + self.offset)
        rate, grown = self.smoothing / shifted, np.log(shifted)
        log_shares = np.empty((len(means), blocks, components))
        wealth, stops = np.zeros(len(means)), np.full(len(means), blocks)
        rounds, logs, sums = 0.0, np.zeros(components), np.zeros(components)
        for block in range(blocks):
            left = float(self.rounds[block:].sum())
            shares = self._shares(block, rate, wealth, left, rounds, logs, sums)
            log_shares[:, block] = shares
            betting = stops == blocks
            step = np.logaddexp.reduce(shares + self.logs[block] - self.rounds[block] * grown, axis=1)
            wealth = np.where(betting, wealth + step, wealth)
            stops = np.where(betting & (wealth >= self.target), block + 1, stops)
            rounds, logs, sums = rounds + self.rounds[block], logs + self.logs[block], sums + self.sums[block]
        static = np.logaddexp.reduce(self.log_prior + logs - rounds * grown, axis=1)
        return BlockWealth(log_shares, stops, _together(wealth, static))

    def _shares(
        self, block: int, rate: FloatArray, wealth: FloatArray, left: float, rounds: float, logs: FloatArray,
        sums: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """The logarithms of the shares of a block: most to the components that need the least to win what is missing.

        With what a component's terms vary by, its drag, it wins rate times (mean - tested mean) minus drag a round. So a
        mean that is larger than the one tested by (missing/left + drag)/rate wins the rest, and the smallest is best.
        """
        if block == 0:
            return np.broadcast_to(self.log_prior, rate.shape)
        drag = np.maximum(0.0, np.log1p(self.smoothing * sums / rounds) - logs / rounds)
        variance = np.median(2.0 * drag / rate**2, axis=1, keepdims=True)
        drag = (rounds * drag + PSEUDO_ROUNDS * rate**2 * variance / 2.0) / (rounds + PSEUDO_ROUNDS)
        missing = np.maximum(self.target - wealth, 0.0)[:, None]
        required = (missing / left + drag) / rate
        least = required.min(axis=1, keepdims=True)
        exponents = -SHARPNESS * (required / np.where(least > 0.0, least, 1.0) - 1.0)
        learned = exponents - np.logaddexp.reduce(exponents, axis=1, keepdims=True)
        learned = np.where((variance > 0.0) & (least > 0.0), learned, self.log_prior)
        if block <= CAREFUL_BLOCKS:
            return np.logaddexp(learned + math.log(1.0 - CAREFUL_SHARE), self.log_prior + math.log(CAREFUL_SHARE))
        return learned

    def within(self, mean: float, log_shares: FloatArray, stop: int) -> float:
        """The logarithm against a mean, with shares and a stop that were made for a larger one: it falls with the mean."""
        grown = np.log1p(self.smoothing * (mean + self.offset))
        steps = np.logaddexp.reduce(log_shares[:stop] + self.logs[:stop] - self.rounds[:stop, None] * grown, axis=1)
        static = np.logaddexp.reduce(self.log_prior + self.logs.sum(axis=0) - self.rounds.sum() * grown)
        return float(_together(steps.sum(), static))


def _together(moving: FloatArray, static: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp(math.log(1.0 - STATIC) + moving, math.log(STATIC) + static))
