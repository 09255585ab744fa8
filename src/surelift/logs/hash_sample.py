"""A sample of hashes, with how often each came: those with low bits of zero, so that two samples hold the same hashes."""

import base64
import zlib
from dataclasses import dataclass, field

import numpy as np

from surelift.arrays import IntArray
from surelift.kernels.columns import Words


def _none() -> Words:
    return np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class HashSample:
    """At most ``most`` hashes; more bits of zero are asked for as there are more."""

    most: int
    bits: int = 0
    keys: Words = field(default_factory=_none)
    """In order."""
    counts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, words: Words, most: int, bits: int = 0) -> "HashSample":
        return _bounded(most, bits, words, None)

    def __add__(self, other: "HashSample") -> "HashSample":
        keys, counts = np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts])
        return _bounded(max(self.most, other.most), max(self.bits, other.bits), keys, counts)

    def both(self, other: "HashSample") -> tuple["HashSample", "HashSample"]:
        """The two, with as many bits of zero asked of both."""
        bits = max(self.bits, other.bits)
        return _bounded(self.most, bits, self.keys, self.counts), _bounded(other.most, bits, other.keys, other.counts)

    def encode(self) -> list[int | str]:
        """As JSON keeps it."""
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


def _bounded(most: int, bits: int, words: Words, counts: IntArray | None) -> HashSample:
    kept = _zero_bits(words, bits)
    keys, places = np.unique(words[kept], return_inverse=True)
    weights = None if counts is None else counts[kept]
    totals = np.bincount(places, weights=weights, minlength=len(keys)).astype(np.int64)
    while len(keys) > most:
        bits += 1
        kept = _zero_bits(keys, bits)
        keys, totals = keys[kept], totals[kept]
    return HashSample(most, bits, keys, totals)


def _zero_bits(words: Words, bits: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (words & np.uint64((1 << bits) - 1)) == 0
    return found
