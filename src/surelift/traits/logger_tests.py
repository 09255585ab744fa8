"""Did several loggers meet the same contexts, and were they drawn as it is said? Tests from how often each took a round."""

import math
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pyarrow as pa

from surelift.arrays import FloatArray, IntArray
from surelift.logs.columns import texts_and_codes
from surelift.logs.rows import Rows

LARGEST_LOG = 700.0
OCTAVES, LEAST_EXPONENT, TEXTS = 32, -8, 64
MAGNITUDES = 4 * OCTAVES
NUMBERS = 2 * MAGNITUDES + 1
"""Bins of numbers, in their order: quarters of octaves below zero, zero, and above it."""
MISSING, VECTOR = NUMBERS + TEXTS, NUMBERS + TEXTS + 1
BINS = VECTOR + 1


@dataclass(frozen=True, slots=True)
class ContextContrast:
    """The group of a context's values in which one logger stands out most."""

    chance: float  # at most, of a contrast as large in any group and logger, if all loggers meet the same contexts
    logger: int
    share: float  # of its rounds, in that group
    overall: float  # of all rounds, in that group


def context_contrast(counts: FloatArray) -> ContextContrast:
    r"""The strongest contrast, from the rounds of each logger in each bin, (loggers, bins).

    Independent rounds of one context law may change their loggers at random, so given the totals the rounds c of a logger
    with n_j in a group of m, of n, are hypergeometric. By Hoeffding (1963), with KL that of two Bernoulli laws,

    .. math:: P(|c - m n_j / n| \text{ as large on this side}) \le \exp(-n_j \mathrm{KL}(c / n_j, m / n)),

    and the same with the roles of the logger and of the group exchanged. Groups are single bins, and of numbers all that
    are at most as large; the chances of all are added up. If one logger has all of one bin and another all of the other:

    >>> context_contrast(np.array([[10.0, 0.0], [0.0, 10.0]])).chance == 2 * 2 * 3 * math.exp(-10 * math.log(2))
    True
    """
    known = np.delete(counts, VECTOR, axis=1) if counts.shape[1] > VECTOR else counts
    places = np.flatnonzero(known.sum(axis=1) > 0.0)
    known = known[places]
    present = np.flatnonzero(known.sum(axis=0) > 0.0)
    groups = np.hstack([known[:, present], np.cumsum(known[:, present[present < NUMBERS]], axis=1)])
    rounds, in_group = known.sum(axis=1, keepdims=True), groups.sum(axis=0)
    total = float(rounds.sum())
    groups, in_group = (values[..., in_group < total] for values in (groups, in_group))
    if groups.size == 0 or len(groups) < 2:
        return ContextContrast(1.0, 0, 0.0, 0.0)
    exponents = np.maximum(
        rounds * _divergence(groups / rounds, in_group / total),
        in_group * _divergence(groups / in_group, rounds / total),
    )
    row, group = np.unravel_index(int(exponents.argmax()), exponents.shape)
    chance = min(1.0, 2.0 * exponents.size * math.exp(-float(exponents[row, group])))
    share, overall = float(groups[row, group] / rounds[row, 0]), float(in_group[group] / total)
    return ContextContrast(chance, int(places[row]), share, overall)


def shares_e_value(counts: FloatArray, shares: FloatArray) -> float:
    r"""The e-value against "the logger of every round is drawn with these shares", at any number of looks.

    The chance of the rounds in their order under shares that are drawn evenly from all there can be, over that under those
    declared: a nonnegative martingale from 1. With two loggers and one round, :math:`\tfrac 1 2 / s_j`:

    >>> round(shares_e_value(np.array([1.0, 0.0]), np.array([0.25, 0.75])), 12)
    2.0
    """
    free = math.lgamma(len(counts)) + sum(math.lgamma(count + 1.0) for count in counts)
    logarithm = free - math.lgamma(float(counts.sum()) + len(counts)) - float(counts @ np.log(shares))
    return math.exp(min(logarithm, LARGEST_LOG))


def _divergence(share: FloatArray, law: FloatArray) -> FloatArray:
    """KL of Bernoulli laws; the second lies strictly between 0 and 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(share > 0.0, share * np.log(share / law), 0.0)
        outside = np.where(share < 1.0, (1.0 - share) * np.log((1.0 - share) / (1.0 - law)), 0.0)
    return np.asarray(inside + outside)


def context_bins(rows: Rows, name: str) -> IntArray:
    """The bins by the value alone, whatever batch it is in: a number by its size, a text by its hash."""
    column = rows.table[name]
    if pa.types.is_nested(column.type):
        return np.full(rows.size, VECTOR, dtype=np.int64)
    numbers = rows.context_numbers(name)
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
    sign = np.sign(np.nan_to_num(values)).astype(np.int64)
    return np.where(np.isnan(values), MISSING, MAGNITUDES + sign * magnitude)
