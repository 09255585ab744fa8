"""Memories of rounds, small whatever their number: they tell whether other rounds are partly the same.

Single rounds may well be equal by chance, so pairs of equal ones are counted: across the two sets, and within each. Of
independent rounds of two laws p and q, the pairs across are at most as many as those within, but for chance, since the sum
of p q is at most the mean of those of p p and q q. More of them mean that rounds are in both. They are counted again among
rounds that came only twice, so that a few that come over and over hide nothing. Runs of consecutive rounds are compared
likewise: equal rounds that follow each other are one place of a run, with their number.
"""

import base64
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from surelift.arrays import IntArray
from surelift.kernels.columns import Words, scramble

if TYPE_CHECKING:
    from surelift.logs.rows import Rows

RUNS = (1, 8, 64)  # how many rounds are compared at once: single ones, and places of runs
CHANCE = 2.0**-24  # the probability, at most, with which each comparison takes rounds for the same that are not
ALONE = 14
"""Pairs across that are enough where there is none within: as many would come by chance in 1 of 80,000 cases at most."""
TELLING = 64.0  # rounds that say so many bits do not come again in the same order by chance
MOST = 1 << 12  # hashes that ``Origins`` keep for each length of a run
_ODD = np.uint64(0x9E3779B97F4A7C15)
Contexts = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HashSample:
    """At most ``most`` hashes with low bits of zero, more bits as there are more hashes, and how often each came."""

    most: int
    bits: int = 0
    keys: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    counts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, words: Words, most: int, bits: int = 0, counts: IntArray | None = None) -> "HashSample":
        kept = words & np.uint64((1 << bits) - 1) == 0
        keys, places = np.unique(words[kept], return_inverse=True)
        weights = None if counts is None else counts[kept]
        totals = np.bincount(places, weights=weights, minlength=len(keys)).astype(np.int64)
        while len(keys) > most:
            bits += 1
            kept = keys & np.uint64((1 << bits) - 1) == 0
            keys, totals = keys[kept], totals[kept]
        return cls(most, bits, keys, totals)

    def __add__(self, other: "HashSample") -> "HashSample":
        keys, counts = np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts])
        return HashSample.of(keys, max(self.most, other.most), max(self.bits, other.bits), counts)

    def thinned(self, bits: int) -> "HashSample":
        """The sample with at least so many bits of zero."""
        return HashSample.of(self.keys, self.most, max(self.bits, bits), self.counts)

    def encode(self) -> list[int | str]:
        content = self.keys.astype("<u8").tobytes() + self.counts.astype("<i8").tobytes()
        return [self.most, self.bits, base64.b64encode(zlib.compress(content)).decode()]

    @classmethod
    def decode(cls, content: list[int | str]) -> "HashSample":
        most, bits, packed = content
        try:
            keys, counts = np.frombuffer(zlib.decompress(base64.b64decode(str(packed))), dtype="<u8").reshape(2, -1)
        except zlib.error as error:
            raise ValueError(f"a memory of rounds cannot be unpacked: {error}") from error
        return cls(int(most), int(bits), keys.astype(np.uint64), counts.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class SeenRounds:
    rounds: int = 0
    samples: tuple[HashSample, ...] = ()
    digest: int = 0  # of all rounds in their order
    bits: float = 0.0  # how much they say, were they independent, as far as the first rounds of each batch show

    @classmethod
    def of(cls, words: Words, most: int) -> "SeenRounds":
        # Few single rounds of a long batch are needed: those that come often tell nothing.
        bits = max(0, (len(words) // most).bit_length() - 1)
        runs = (HashSample.of(_runs(words, length), most) for length in RUNS[1:])
        powers = np.cumprod(np.full(len(words), _ODD))[::-1]
        counts = np.unique(words[:most], return_counts=True)[1]
        information = float(np.sum(counts * np.log2(np.sum(counts) / counts)))
        samples = (HashSample.of(words, most, bits), *runs)
        return cls(len(words), samples, int((words * powers).sum(dtype=np.uint64)), information)

    def __add__(self, other: "SeenRounds") -> "SeenRounds":
        if not (self.rounds and other.rounds):
            return self if self.rounds else other
        digest = (self.digest * pow(int(_ODD), other.rounds, 1 << 64) + other.digest) % (1 << 64)
        samples = tuple(mine + theirs for mine, theirs in zip(self.samples, other.samples, strict=True))
        return SeenRounds(self.rounds + other.rounds, samples, digest, self.bits + other.bits)

    @property
    def is_telling(self) -> bool:
        """Other rounds could hardly have the same digest by chance."""
        return self.bits >= TELLING

    def overlaps(self, other: "SeenRounds") -> bool:
        both = bool(self.rounds and other.rounds)
        return both and any(map(_more_across, self.samples, other.samples))

    def encode(self) -> list[Any]:
        return [self.rounds, [sample.encode() for sample in self.samples], f"{self.digest:016x}", self.bits]

    @classmethod
    def decode(cls, content: list[Any]) -> "SeenRounds":
        rounds, samples, digest, bits = content
        return cls(int(rounds), tuple(map(HashSample.decode, samples)), int(digest, 16), float(bits))


def _runs(words: Words, length: int) -> Words:
    """A hash for runs of ``length`` places: a few of them, chosen by what they hold, which share few rounds."""
    begins = np.flatnonzero(np.append(len(words) > 0, words[1:] != words[:-1]))
    counts = np.diff(begins, append=len(words)).astype(np.uint64)
    runs, reach = scramble(words[begins] + counts * _ODD), 1
    while reach < length:
        runs = scramble(runs[:-reach] * _ODD + runs[reach:]) if len(runs) > reach else runs[:0]
        reach *= 2
    return np.asarray(runs[(runs >> np.uint64(32)) % np.uint64(length // 4) == 0])


def _more_across(first: HashSample, second: HashSample) -> bool:
    first, second = first.thinned(second.bits), second.thinned(first.bits)
    _, mine, theirs = np.intersect1d(first.keys, second.keys, assume_unique=True, return_indices=True)
    across = first.counts[mine] * second.counts[theirs]
    within = sum(float(np.sum(0.5 * sample.counts * (sample.counts - 1.0))) for sample in (first, second))
    alone = (np.delete(first.counts, mine), np.delete(second.counts, theirs))
    once, rare = float(np.sum(across == 1)), sum(float(np.sum(counts == 2)) for counts in alone)
    return _too_many(float(np.sum(across, dtype=np.float64)), within) or _too_many(once, rare)


def _too_many(across: float, within: float) -> bool:
    if across <= within or within == 0.0:
        return across > within and across >= ALONE
    # The binomial tail of so many or more across, were across and within as likely: Chernoff's bound.
    share, total = across / (across + within), across + within
    entropy = -share * math.log(share) - (1.0 - share) * math.log(1.0 - share)
    return total * (math.log(2.0) - entropy) >= -math.log(CHANCE)


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """What something was learned from: its rounds by their actions and contexts, which tells that they cannot judge it.

    Another reward of the same rounds, or another declaration, does not hide them. A file of them is about 130 kB. Found are
    14 equal rounds that no others resemble, or 100 consecutive ones; of logs longer than ``MOST``, one round in a hundred.
    """

    memories: Mapping[Contexts, SeenRounds] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: "Rows", action: IntArray, several: Iterable[Contexts]) -> "Origins":
        return cls({contexts: SeenRounds.of(rows.context_words(action, contexts), MOST) for contexts in several})

    def __add__(self, other: "Origins") -> "Origins":
        both = dict(self.memories)
        for contexts, seen in other.memories.items():
            both[contexts] = both.get(contexts, SeenRounds()) + seen
        return Origins(both)

    def overlaps(self, other: "Origins") -> bool:
        return any(seen.overlaps(other.memories.get(contexts, SeenRounds())) for contexts, seen in self.memories.items())

    def encode(self) -> list[Any]:
        return [[list(contexts), seen.encode()] for contexts, seen in self.memories.items()]

    @classmethod
    def decode(cls, content: list[Any]) -> "Origins":
        return cls({tuple(map(str, contexts)): SeenRounds.decode(seen) for contexts, seen in content})
