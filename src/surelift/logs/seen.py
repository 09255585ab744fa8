"""A memory of rounds, small whatever their number: it tells whether other rounds are partly the same.

Single rounds may well be equal by chance, so pairs of equal ones are counted: across the two sets, and within each. Of
rounds drawn independently, by two laws that may differ, the pairs across are at most as many as those within, but for
chance (for two laws p and q the sum of p q is at most the mean of the sums of p p and q q). More of them mean that rounds
are in both. They are counted again among rounds that came only twice, so that a few that come over and over hide nothing.
Runs of consecutive rounds are compared likewise, which tells rounds apart that say little by themselves. Equal rounds that
follow each other are one place of a run, with their number, so that sorted rounds do not look alike.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.kernels.columns import Words, scramble
from surelift.logs.hash_sample import HashSample

RUNS = (1, 8, 64)
"""How many rounds are compared at once: single ones, and places of runs."""
CHANCE = 2.0**-24
"""With which rounds that are not the same are taken for the same, at most, by each comparison."""
ALONE = 14
"""Pairs across that are enough where there is none within: as many would come by chance in 1 of 80,000 cases at most."""
TELLING = 64.0
"""Rounds that say so many bits do not come again in the same order by chance."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class SeenRounds:
    rounds: int = 0
    samples: tuple[HashSample, ...] = ()
    """For each length of ``RUNS``."""
    digest: int = 0
    """Of all rounds in their order."""
    bits: float = 0.0
    """How much they say, were they independent, as far as the first rounds of each batch show."""

    @classmethod
    def of(cls, words: Words, most: int) -> "SeenRounds":
        """Of the rounds of a batch, by their hashes in the order of the log."""
        # Few single rounds of a long batch are needed: those that come often tell nothing.
        bits = max(0, (len(words) // most).bit_length() - 1)
        singles, *runs = (_runs(words, length) for length in RUNS)
        samples = (HashSample.of(singles, most, bits), *(HashSample.of(run, most) for run in runs))
        powers = np.cumprod(np.full(len(words), _ODD))[::-1]
        counts = np.unique(words[:most], return_counts=True)[1]
        information = float(np.sum(counts * np.log2(np.sum(counts) / counts)))
        return cls(len(words), samples, int((words * powers).sum(dtype=np.uint64)), information)

    def __add__(self, other: "SeenRounds") -> "SeenRounds":
        if not (self.rounds and other.rounds):
            return self if self.rounds else other
        pairs = zip(self.samples, other.samples, strict=True)
        digest = (self.digest * pow(int(_ODD), other.rounds, 1 << 64) + other.digest) % (1 << 64)
        samples = tuple(mine + theirs for mine, theirs in pairs)
        return SeenRounds(self.rounds + other.rounds, samples, digest, self.bits + other.bits)

    @property
    def is_telling(self) -> bool:
        """Whether other rounds could hardly have the same digest by chance."""
        return self.bits >= TELLING

    def overlaps(self, other: "SeenRounds") -> bool:
        """Whether some rounds are in both, as far as can be told."""
        if not (self.rounds and other.rounds):
            return False
        return any(_more_across(mine, theirs) for mine, theirs in zip(self.samples, other.samples, strict=True))

    def encode(self) -> list[Any]:
        """As JSON keeps it."""
        return [self.rounds, [sample.encode() for sample in self.samples], f"{self.digest:016x}", self.bits]

    @classmethod
    def decode(cls, content: list[Any]) -> "SeenRounds":
        rounds, samples, digest, bits = content
        return cls(int(rounds), tuple(map(HashSample.decode, samples)), int(digest, 16), float(bits))


def _runs(words: Words, length: int) -> Words:
    """A hash for runs of ``length`` places: a few of them, chosen by what they hold, which share few rounds."""
    if length == 1:
        return words
    begins = np.flatnonzero(np.append(len(words) > 0, words[1:] != words[:-1]))
    counts = np.diff(begins, append=len(words)).astype(np.uint64)
    runs, reach = scramble(words[begins] + counts * _ODD), 1
    while reach < length:
        runs = scramble(runs[:-reach] * _ODD + runs[reach:]) if len(runs) > reach else runs[:0]
        reach *= 2
    found: Words = runs[(runs >> np.uint64(32)) % np.uint64(length // 4) == 0]
    return found


def _more_across(first: HashSample, second: HashSample) -> bool:
    first, second = first.both(second)
    _, mine, theirs = np.intersect1d(first.keys, second.keys, assume_unique=True, return_indices=True)
    across = first.counts[mine] * second.counts[theirs]
    within = sum(float(np.sum(0.5 * sample.counts * (sample.counts - 1.0))) for sample in (first, second))
    alone = (np.delete(first.counts, mine), np.delete(second.counts, theirs))
    once, rare = float(np.sum(across == 1)), sum(float(np.sum(counts == 2)) for counts in alone)
    return _too_many(float(np.sum(across, dtype=np.float64)), within) or _too_many(once, rare)


def _too_many(across: float, within: float) -> bool:
    if across <= within:
        return False
    if within == 0.0:
        return across >= ALONE
    # The binomial tail of so many or more across, were across and within as likely: Chernoff's bound.
    share, total = across / (across + within), across + within
    entropy = -sum(part * math.log(part) for part in (share, 1.0 - share) if part > 0.0)
    return total * (math.log(2.0) - entropy) >= -math.log(CHANCE)
