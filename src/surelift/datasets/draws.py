"""Simulated logs draw times, and positions from distributions."""

from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import FloatArray, IntArray


def arrivals(rng: np.random.Generator, start: str, days: int, rounds: int) -> Any:
    """Times in order, uniform over so many days, as an Arrow array."""
    seconds = np.sort(np.floor(rng.random(rounds) * (days * 24 * 3600))).astype(np.int64)
    return pa.array(np.datetime64(f"{start}T00:00:00", "s") + seconds)


def draw(distributions: FloatArray, uniforms: FloatArray) -> IntArray:
    """One position per row, by inversion: ``uniforms`` is the only randomness."""
    inner = np.cumsum(distributions, axis=1)[:, :-1]
    return np.asarray((uniforms[:, None] >= inner).sum(axis=1))


def softmax(scores: FloatArray) -> FloatArray:
    shares: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
