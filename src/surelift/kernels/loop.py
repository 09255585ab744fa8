"""All sums of a batch in one pass: of each term of each policy its sum, that of squares, the largest, and its log sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import lshift
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import HALVES, KINDS, MODULUS
from surelift.kernels.library import Packed, compiled
from surelift.kernels.log_sums import log_sums
from surelift.kernels.sorting import Sorted
from surelift.kernels.sums import cluster_means, group_extremes, group_sums
from surelift.kernels.weight_tables import BINS, PLACES, weight_tables

# Numbers wait for a whole block, or of many groups for as much of one as fits into the cache.
BLOCK, SLACK, LEAST_ROOM, ROOM = 4096, 128, 128, 1 << 17


class LoopTerm(NamedTuple):
    """A line in the reward, of which the moments are added up, and log sums at these smoothings."""

    pieces: tuple[Any, ...] = ()  # of each the policy, whether its weight minus 1 counts, how often at zero and at one
    constants: tuple[float, float] = (0.0, 0.0)  # what is added at either end
    offset: float = 0.0
    smoothings: tuple[float, ...] = ()
    kept: bool = False  # the number of every unit is wanted too


@dataclass(frozen=True)
class LoopPlan:
    """What is added up: terms over these policies, and tables of their weights by reward."""

    policies: tuple[str, ...]
    terms: tuple[LoopTerm, ...]
    drops: tuple[float, ...] = ()  # what weights minus 1 of each policy are divided by in a table; none without tables

    @cached_property
    def owners(self) -> list[int]:
        """The policy that each term needs; behind all of them where it needs several, or none."""
        needed = [{piece[0] for piece in term.pieces} for term in self.terms]
        numbers = {name: number for number, name in enumerate(self.policies)}
        return [numbers[names.pop()] if len(names) == 1 else len(numbers) for names in needed]

    @cached_property
    def of_one(self) -> bool:
        """Every term needs one policy at most."""
        return all(len({piece[0] for piece in term.pieces}) <= 1 for term in self.terms)

    @cached_property
    def by_owner(self) -> IntArray:
        """The places of the terms, in the order of the policy that they need."""
        return np.argsort(self.owners, kind="stable")

    @cached_property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The plan as loop.c reads it, its terms in the order of the policy that they need."""
        terms, owners = [self.terms[place] for place in self.by_owner], sorted(self.owners)
        pieces = [piece for term in terms for piece in term.pieces]
        numbers = {name: 2 * number for number, name in enumerate(self.policies)}
        ends = np.array([piece[2:] for piece in pieces], dtype=np.float64).reshape(-1, 2).T.copy()
        return (
            np.searchsorted(owners, np.arange(len(self.policies) + 2)),
            np.cumsum([0, *(len(term.pieces) for term in terms)]),
            np.array([numbers[name] + excess for name, excess, *_ in pieces], dtype=np.int64),
            *ends,
            np.array([term.constants for term in terms], dtype=np.float64),
            np.array([term.offset for term in terms], dtype=np.float64),
            np.cumsum([0, *(len(term.smoothings) for term in terms)]),
            np.array([each for term in terms for each in term.smoothings], dtype=np.float64),
        )


class PlainRows(NamedTuple):
    """Columns as they lie in memory: the reward, the propensity, and a probability of each policy."""

    columns: Sequence[npt.NDArray[Any]]
    limits: FloatArray  # (2, columns): the least and the most that a value of each may be
    affine: tuple[float, float]  # zero and divisor: (reward - zero) / divisor lies in [0, 1]
    alphas: FloatArray
    extra: Sequence[FloatArray] = ()  # columns that are hashed between the propensity and the policies


class WeighedRows(NamedTuple):
    """What stands for the reward of each row, for 1 minus it where that is another number, and the weights by policy."""

    earned: FloatArray
    missed: FloatArray | None
    propensity: FloatArray
    weights: Sequence[FloatArray]
    excess: Sequence[FloatArray]


@dataclass(frozen=True)
class LoopUnits:
    """What a factor is made for: each row, or each run of rows; how many it stands for, and its group."""

    count: int
    groups: int = 1
    codes: IntArray | None = None
    starts: IntArray | None = None
    divisors: FloatArray | None = None
    padding: Any = ()  # what stands for a row that a unit lacks, for all units or for each; of several terms, for each term
    scale: FloatArray | None = None
    keep: FloatArray | None = None  # the probability with which each unit was kept, where that is 1/scale

    def lacking(self) -> FloatArray | None:
        """How many rows each unit lacks to its divisor."""
        return None if self.starts is None or self.divisors is None else self.divisors - np.diff(self.starts)


class LoopSums(NamedTuple):
    """The sums by group, and by term or smoothing, in the order of the plan."""

    totals: Sequence[FloatArray]  # of each term, (groups, smoothings)
    moments: FloatArray  # (groups, terms, 3): the sum, that of squares, and the largest of a row
    deepest: FloatArray  # of each term, by how much, relative to 1 + offset, a row fell below minus its offset
    smallest: FloatArray  # of each group, the smallest propensity
    hashes: int | None = None  # the sum of the hashes of plain rows
    tables: Mapping[str, FloatArray] | None = None  # of each policy, (bins, 4), as ``weight_tables`` has them
    kept: Sequence[FloatArray | None] = ()  # of each term, the numbers of all units, where they are wanted


def add_up(plan: LoopPlan, rows: PlainRows | WeighedRows, units: LoopUnits) -> LoopSums | None:
    """The sums of a batch; None where a plain column holds what is not within its limits."""
    library = compiled()
    if library is None:
        assert isinstance(rows, WeighedRows)
        return _reference(plan, rows, units)
    *_, offsets, first, smoothings = plan.arrays
    count, groups, read = len(plan.terms), units.groups, list[Any]()
    if isinstance(rows, PlainRows):
        size, extra = len(rows.columns[0]), rows.extra
        kinds = np.array([KINDS.index(column.dtype.name) for column in rows.columns], dtype=np.int64)
        read += [Packed(*rows.columns), kinds, *rows.limits, *rows.affine, rows.alphas, Packed(*extra), *[None] * 5]
    else:
        size, extra, divisors = len(rows.earned), (), np.array(plan.drops or [1.0] * len(plan.policies))
        read += [*[None] * 4, 0.0, 1.0, divisors, None, rows.earned, rows.missed, rows.propensity]
        read += [Packed(*rows.weights), Packed(*rows.excess)]
    padding, lacking = None, None if units.starts is None else units.lacking()
    if lacking is not None:
        missing = [units.padding[place] for place in plan.by_owner]
        padding = Packed(*[None if isinstance(each, float) and each == 0.0 else each * lacking for each in missing])
    room = min(BLOCK, max(LEAST_ROOM, ROOM // max(1, count * groups) // SLACK * SLACK))
    totals, lost = np.zeros((2, groups, len(smoothings)))
    zeros, filled = np.zeros((groups, count), dtype=np.int64), np.zeros((count, groups), dtype=np.int64)
    moments, deepest, smallest = np.zeros((groups, count, 3)), np.full(count, -np.inf), np.full(groups, np.inf)
    halves, pending = np.zeros(4, dtype=np.uint64), np.empty((count, groups, room + SLACK))
    tables = np.zeros((len(plan.policies), BINS, PLACES)) if plan.drops else None
    kept = [np.empty(units.count) if term.kept else None for term in plan.terms]
    opened, values, counted = np.zeros(count), np.empty(min(units.count, BLOCK) + 1), np.zeros(groups + 1, dtype=np.int64)
    keeps = Packed(*[kept[place] for place in plan.by_owner]) if any(term.kept for term in plan.terms) else None
    loop = Packed(
        size, len(plan.policies), count, units.count, groups, room, len(extra), *read,
        units.starts, units.divisors, padding, units.scale, units.codes, *plan.arrays, totals, lost, zeros, moments, deepest,
        smallest, halves, pending, filled, tables, opened, values, keeps, counted,
    )  # fmt: skip
    if not library.function("add_up")(loop.words.ctypes):
        return None
    # What a term of zero adds: log(1 + smoothing offset).
    lengths, order = np.diff(first), np.argsort(plan.by_owner)
    totals += lost
    totals += np.repeat(zeros, lengths, axis=1) * np.log1p(smoothings * np.repeat(offsets, lengths))
    return LoopSums(
        [totals[:, first[place] : first[place + 1]] for place in order.tolist()], moments[:, order], deepest[order],
        smallest, sum(map(lshift, halves.tolist(), HALVES)) % MODULUS if isinstance(rows, PlainRows) else None,
        None if tables is None else dict(zip(plan.policies, tables, strict=True)), kept,
    )  # fmt: skip


def _reference(plan: LoopPlan, rows: WeighedRows, units: LoopUnits) -> LoopSums:
    of_units = Sorted.whole(units.count) if units.codes is None else Sorted.by(units.codes, units.groups)
    codes, size, lacking = units.codes, len(rows.earned), units.lacking()
    if codes is not None and units.starts is not None:
        codes = np.repeat(codes, np.diff(units.starts))
    of_rows = Sorted.whole(size) if codes is None else Sorted.by(codes, units.groups)
    totals, moments, deepest = list[FloatArray](), np.zeros((units.groups, len(plan.terms), 3)), list[float]()
    kept = list[FloatArray | None]()
    for place, term in enumerate(plan.terms):
        ends = [np.full(size, constant) for constant in term.constants]
        for policy, excess, *often in term.pieces:
            piece = (rows.excess if excess else rows.weights)[plan.policies.index(policy)]
            ends = [end + times * piece for end, times in zip(ends, often, strict=True)]
        span = ends[1] - ends[0]
        if rows.missed is None:
            values = ends[1] * rows.earned + ends[0] * (1.0 - rows.earned)
        else:
            values = np.where(span >= 0.0, ends[0] + span * rows.earned, ends[1] - span * rows.missed)
        deepest.append(-float(values.min(initial=0.0) + term.offset) / (1.0 + term.offset))
        moments[:, place, 2] = group_extremes(np.maximum(values, 0.0), of_rows)[:, 1]
        if lacking is not None and units.starts is not None and units.divisors is not None:
            added = units.padding[place] * lacking / units.divisors
            values = cluster_means(values, units.starts, units.divisors, 0.0) + added
        kept.append(values if term.kept else None)
        scale = 1.0 if units.scale is None else units.scale
        moments[:, place, :2] = group_sums(values * scale, of_units)
        shifted = np.maximum(values + term.offset, 0.0) * scale
        totals.append(log_sums(shifted, np.array(term.smoothings), of_units)[0])
    tables = {name: np.zeros((BINS, PLACES)) for name in plan.policies} if plan.drops else None
    if tables is not None:
        for table, drop, excess in zip(tables.values(), plan.drops, rows.excess, strict=True):
            _, bins, sums = weight_tables(excess / drop, rows.earned, Sorted.whole(size))
            table[bins] = sums
    smallest = group_extremes(rows.propensity, of_rows)[:, 0]
    return LoopSums(totals, moments, np.array(deepest), smallest, None, tables, kept)
