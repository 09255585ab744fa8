"""A memory of rounds, small whatever their number: it tells whether other rounds are partly the same.

Single rounds may well be equal by chance, so pairs of equal ones are counted: across the two sets, and within each. Of
rounds drawn independently, by two laws that may differ, the pairs across are at most as many as those within, but for
chance (for two laws p and q the sum of p q is at most the mean of the sums of p p and q q). More of them mean that rounds
are in both. Runs of consecutive rounds are compared likewise, which tells rounds apart that say little by themselves.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.kernels.columns import Words, scramble
from surelift.logs.hash_sample import HashSample

RUNS = (1, 16, 128)
"""How many rounds are compared at once."""
CHANCE = 2.0**-24
"""With which rounds that are not the same are taken for the same, at most, by each comparison."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class SeenRounds:
    rounds: int = 0
    samples: tuple[HashSample, ...] = ()
    """For each length of ``RUNS``."""

    @classmethod
    def of(cls, words: Words, most: int) -> "SeenRounds":
        """Of the rounds of a batch, by their hashes in the order of the log."""
        # Few single rounds of a long batch are needed: those that come often tell nothing.
        bits = max(0, (len(words) // most).bit_length() - 1)
        singles, *runs = (_runs(words, length) for length in RUNS)
        return cls(len(words), (HashSample.of(singles, most, bits), *(HashSample.of(run, most) for run in runs)))

    def __add__(self, other: "SeenRounds") -> "SeenRounds":
        if not (self.rounds and other.rounds):
            return self if self.rounds else other
        pairs = zip(self.samples, other.samples, strict=True)
        return SeenRounds(self.rounds + other.rounds, tuple(mine + theirs for mine, theirs in pairs))

    def overlaps(self, other: "SeenRounds") -> bool:
        """Whether some rounds are in both, as far as can be told."""
        if not (self.rounds and other.rounds):
            return False
        return any(_more_across(mine, theirs) for mine, theirs in zip(self.samples, other.samples, strict=True))

    def encode(self) -> list[Any]:
        """As JSON keeps it."""
        return [self.rounds, [sample.encode() for sample in self.samples]]

    @classmethod
    def decode(cls, content: list[Any]) -> "SeenRounds":
        rounds, samples = content
        return cls(int(rounds), tuple(HashSample.decode(sample) for sample in samples))


def _runs(words: Words, length: int) -> Words:
    """A hash for runs of ``length`` consecutive rounds: a few of them, chosen by what they hold, which share few rounds."""
    runs, reach = words, 1
    while reach < length:
        runs = scramble(runs[:-reach] * _ODD + runs[reach:]) if len(runs) > reach else runs[:0]
        reach *= 2
    if length == 1:
        return runs
    # Where a run is the same as the one before, nothing happens: it would count over and over.
    chosen = (runs >> np.uint64(32)) % np.uint64(length // 4) == 0
    chosen[1:] &= runs[1:] != runs[:-1]
    found: Words = runs[chosen]
    return found


def _more_across(first: HashSample, second: HashSample) -> bool:
    first, second = first.both(second)
    _, mine, theirs = np.intersect1d(first.keys, second.keys, assume_unique=True, return_indices=True)
    across = float(np.sum(first.counts[mine] * second.counts[theirs], dtype=np.float64))
    within = sum(float(np.sum(0.5 * sample.counts * (sample.counts - 1.0))) for sample in (first, second))
    if across <= within:
        return False
    # The binomial tail of so many or more across, were across and within as likely: Chernoff's bound.
    share, total = across / (across + within), across + within
    entropy = -sum(part * math.log(part) for part in (share, 1.0 - share) if part > 0.0)
    return total * (math.log(2.0) - entropy) >= -math.log(CHANCE)
