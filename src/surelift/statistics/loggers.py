"""How many rounds each of several loggers took, and what contexts they met: in bins that no log decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from zlib import crc32

import numpy as np
import pyarrow as pa

from surelift.arrays import FloatArray, IntArray
from surelift.logs.columns import texts_and_codes
from surelift.logs.rounds import Rounds
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic

OCTAVES, LEAST_EXPONENT, TEXTS = 32, -8, 64
MAGNITUDES = 4 * OCTAVES
NUMBERS = 2 * MAGNITUDES + 1
"""Bins of numbers, in their order: quarters of octaves below zero, zero, and above it."""
MISSING, VECTOR = NUMBERS + TEXTS, NUMBERS + TEXTS + 1
BINS = VECTOR + 1


@dataclass(frozen=True, slots=True)
class LoggerCounts(Statistic):
    """A number for each logger, in the order they were declared."""

    label: ClassVar[str] = "the rounds of each logger"
    loggers: int

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        parts = groups.split(_loggers(reading.rounds))
        return [np.bincount(part, minlength=self.loggers).astype(np.float64) for part in parts]


@dataclass(frozen=True, slots=True)
class ContextCounts(Statistic):
    """For each logger, its rounds in each bin of a context, (loggers, bins)."""

    label: ClassVar[str] = "the contexts of each logger"
    column: str
    loggers: int

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        cells = _loggers(reading.rounds) * BINS + context_bins(reading.rounds, self.column)
        counts = (np.bincount(part, minlength=self.loggers * BINS) for part in groups.split(cells))
        return [found.astype(np.float64).reshape(self.loggers, BINS) for found in counts]


def _loggers(rounds: Rounds) -> IntArray:
    assert rounds.logger is not None
    return rounds.logger


def context_bins(rounds: Rounds, name: str) -> IntArray:
    """By the value alone, whatever batch it is in: a number by its size, a text by its hash."""
    column = rounds.table[name]
    if pa.types.is_nested(column.type):
        return np.full(rounds.size, VECTOR, dtype=np.int64)
    numbers = rounds.context_numbers(name)
    bins = number_bins(numbers.values)
    if numbers.not_numeric.any():
        texts, codes = texts_and_codes(column)
        hashed = [MISSING if text is None else NUMBERS + crc32(text.encode()) % TEXTS for text in texts]
        bins = np.where(numbers.not_numeric, np.array([*hashed, MISSING])[codes], bins)
    return np.where(numbers.null, MISSING, bins)


def number_bins(values: FloatArray) -> IntArray:
    """
    >>> (number_bins(np.array([-3.0, 0.0, 0.7, 0.72, 3.0, np.nan])) - MAGNITUDES).tolist()
    [-43, 0, 34, 34, 43, 193]
    """
    fraction, exponent = np.frexp(np.abs(values))
    octave = exponent - LEAST_EXPONENT
    with np.errstate(invalid="ignore"):
        quarter = np.where(np.isfinite(fraction), 8.0 * fraction - 4.0, 0.0).astype(np.int64)
    magnitude = np.clip(4 * octave + quarter, 0, MAGNITUDES - 1)
    magnitude = np.where(np.isinf(values), MAGNITUDES - 1, magnitude) + 1
    bins = MAGNITUDES + np.where(values < 0.0, -magnitude, np.where(values > 0.0, magnitude, 0))
    return np.where(np.isnan(values), MISSING, bins)
