"""All sums of a batch in one pass: of each term of each policy its sum, that of squares, the largest, and its log sums."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.columns import KINDS, pointers
from surelift.kernels.library import compiled
from surelift.kernels.log_sums import log_sums
from surelift.kernels.sorting import Sorted
from surelift.kernels.sums import cluster_means, group_extremes, group_sums
from surelift.kernels.weight_tables import BINS, PLACES, weight_tables

BLOCK, SLACK, LEAST_ROOM, ROOM = 4096, 128, 128, 1 << 17
"""Numbers wait for a whole block, or of many groups for as much of one as fits into the cache."""


@dataclass(frozen=True)
class LoopTerm:
    """A line in the reward: at either end a constant, and so often the weight of some policies, or that minus 1."""

    pieces: tuple[tuple[int, bool, float, float], ...]
    """Of each the policy, whether its weight minus 1 counts, and how often at zero and at one."""
    constants: tuple[float, float] = (0.0, 0.0)
    offset: float = 0.0
    smoothings: tuple[float, ...] = ()
    kept: bool = False
    """Whether the number of every unit is wanted too."""


@dataclass(frozen=True)
class LoopPlan:
    """What is added up: terms over so many policies, and tables of their weights by reward."""

    policies: int
    terms: tuple[LoopTerm, ...]
    drops: tuple[float, ...] = ()
    """Of each policy what its weights minus 1 are divided by in a table; none where there is no table."""
    arrays: dict[str, npt.NDArray[Any]] = field(init=False, compare=False)
    order: tuple[int, ...] = field(init=False, compare=False)
    """The place of each term among those sorted by the policy they need."""

    def __post_init__(self) -> None:
        owners = [_owner(term, self.policies) for term in self.terms]
        places = sorted(range(len(self.terms)), key=lambda place: owners[place])
        terms = [self.terms[place] for place in places]
        pieces = [piece for term in terms for piece in term.pieces]
        arrays = {
            "first_term": np.searchsorted([owners[place] for place in places], np.arange(self.policies + 2)),
            "first_piece": np.cumsum([0, *(len(term.pieces) for term in terms)]),
            "pieces": np.array([2 * policy + excess for policy, excess, *_ in pieces], dtype=np.int64),
            "at_zero": np.array([zero for *_, zero, _ in pieces], dtype=np.float64),
            "at_one": np.array([one for *_, one in pieces], dtype=np.float64),
            "constants": np.array([term.constants for term in terms], dtype=np.float64).reshape(-1, 2),
            "offsets": np.array([term.offset for term in terms], dtype=np.float64),
            "first": np.cumsum([0, *(len(term.smoothings) for term in terms)]),
            "smoothings": np.array([each for term in terms for each in term.smoothings], dtype=np.float64),
        }
        object.__setattr__(self, "arrays", {name: np.ascontiguousarray(array) for name, array in arrays.items()})
        object.__setattr__(self, "order", tuple(np.argsort(places).tolist()))

    @property
    def of_one(self) -> bool:
        """Whether every term needs one policy at most."""
        return all(_owner(term, self.policies) < self.policies or not term.pieces for term in self.terms)


def _owner(term: LoopTerm, policies: int) -> int:
    """The policy that a term needs; behind all of them where it needs several, or none."""
    of = {policy for policy, *_ in term.pieces}
    return of.pop() if len(of) == 1 else policies


@dataclass(frozen=True)
class PlainRows:
    """Columns as they lie in memory: the reward, the propensity, and a probability of each policy."""

    columns: Sequence[npt.NDArray[Any]]
    limits: FloatArray
    """(2, columns): the least and the most that a value of each may be."""
    affine: tuple[float, float]
    """(reward - zero) / divisor lies in [0, 1]."""
    alphas: FloatArray
    extra: Sequence[FloatArray] = ()
    """Columns that are hashed between the propensity and the policies."""

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True)
class WeighedRows:
    """What stands for the reward of each row, for 1 minus it where that is another number, and the weights."""

    earned: FloatArray
    missed: FloatArray | None
    propensity: FloatArray
    weights: Sequence[FloatArray]
    excess: Sequence[FloatArray]

    def __len__(self) -> int:
        return len(self.earned)


@dataclass(frozen=True)
class LoopUnits:
    """What a factor is made for: each row, or each run of rows; how many it stands for, and its group."""

    count: int
    groups: int = 1
    codes: IntArray | None = None
    starts: IntArray | None = None
    divisors: FloatArray | None = None
    padding: Sequence[FloatArray | float] = ()
    """Of each term, what stands for a row that a unit lacks."""
    scale: FloatArray | None = None


@dataclass(frozen=True)
class LoopSums:
    """By group, and term or smoothing, in the order of the plan."""

    totals: Sequence[FloatArray]
    """Of each term, (groups, smoothings)."""
    moments: FloatArray
    """(groups, terms, 3): the sum, that of squares, and the largest of a row."""
    deepest: FloatArray
    """Of each term, by how much, relative to 1 + offset, a row fell below minus its offset."""
    smallest: FloatArray
    """Of each group, the smallest propensity."""
    hashes: npt.NDArray[np.uint64] | None
    tables: Any
    """Of each policy, (bins, 4): rows by weight and reward, as ``weight_tables`` has them."""
    kept: Sequence[FloatArray | None]
    """Of each term, the numbers of all units, where they are wanted."""


class _Loop(ctypes.Structure):
    """As in loop.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("rows", "policies", "terms", "units", "groups", "room", "extras")),
        *((name, ctypes.c_void_p) for name in ("columns", "kinds", "least", "most")),
        *((name, ctypes.c_double) for name in ("zero", "divisor")),
        *((name, ctypes.c_void_p) for name in ("alphas", "extra", "earned", "missed", "propensity", "weights", "excess")),
        *((name, ctypes.c_void_p) for name in ("starts", "divisors", "padding", "scale", "codes")),
        *((name, ctypes.c_void_p) for name in ("first_term", "first_piece", "pieces", "at_zero", "at_one", "constants")),
        *((name, ctypes.c_void_p) for name in ("offsets", "first", "smoothings", "totals", "lost", "zeros", "moments")),
        *((name, ctypes.c_void_p) for name in ("deepest", "smallest", "hashes", "pending", "filled", "tables", "open")),
        *((name, ctypes.c_void_p) for name in ("values", "kept")),
    )


def add_up(plan: LoopPlan, rows: PlainRows | WeighedRows, units: LoopUnits) -> LoopSums | None:
    """The sums of a batch; None where a plain column holds what is not within its limits."""
    library = compiled()
    if library is None:
        assert isinstance(rows, WeighedRows)
        return _reference(plan, rows, units)
    count, terms, groups, arrays = len(rows), len(plan.terms), units.groups, plan.arrays
    smoothings = len(arrays["smoothings"])
    room = min(BLOCK, max(LEAST_ROOM, ROOM // max(1, terms * groups) // SLACK * SLACK))
    wanted = [np.empty(units.count) if term.kept else None for term in plan.terms]
    made: dict[str, Any] = {
        "totals": np.zeros((groups, smoothings)), "lost": np.zeros((groups, smoothings)),
        "zeros": np.zeros((groups, terms), dtype=np.int64), "moments": np.zeros((groups, terms, 3)),
        "deepest": np.full(terms, -np.inf), "smallest": np.full(groups, np.inf), "hashes": np.zeros(4, dtype=np.uint64),
        "pending": np.empty((terms, groups, room + SLACK)), "filled": np.zeros((terms, groups), dtype=np.int64),
        "open": np.zeros(terms), "values": np.empty(min(units.count, BLOCK) + 1),
        "kept": pointers([wanted[place] for place in np.argsort(plan.order)]),
        "tables": np.zeros((plan.policies, BINS, PLACES)) if plan.drops else None,
        "starts": units.starts, "divisors": units.divisors, "codes": units.codes, "scale": units.scale, **arrays,
    }  # fmt: skip
    kept: list[Any] = []
    if units.starts is not None:
        lacking = (units.divisors if units.divisors is not None else 0.0) - np.diff(units.starts)
        in_order = sorted(zip(plan.order, units.padding, strict=True), key=lambda pair: pair[0])
        padding = [
            None if isinstance(each, float) and each == 0.0 else np.ascontiguousarray(each * lacking) for _, each in in_order
        ]
        kept.append(padding)
        made["padding"] = pointers(padding)
    if isinstance(rows, PlainRows):
        made |= {
            "columns": pointers(rows.columns), "least": rows.limits[0], "most": rows.limits[1], "alphas": rows.alphas,
            "kinds": np.array([KINDS.index(column.dtype.name) for column in rows.columns], dtype=np.int64),
            "extra": pointers(list(rows.extra)), "extras": len(rows.extra),
            "zero": rows.affine[0], "divisor": rows.affine[1],
        }  # fmt: skip
    else:
        made |= {
            "earned": np.ascontiguousarray(rows.earned), "propensity": np.ascontiguousarray(rows.propensity),
            "missed": None if rows.missed is None else np.ascontiguousarray(rows.missed),
            "alphas": np.array(plan.drops or [1.0] * plan.policies), "divisor": 1.0,
        }  # fmt: skip
        for name, of_each in (("weights", rows.weights), ("excess", rows.excess)):
            whole = [np.ascontiguousarray(each) for each in of_each]
            kept.append(whole)
            made[name] = pointers(whole)
    made |= {
        "rows": count,
        "policies": plan.policies,
        "terms": terms,
        "units": units.count,
        "groups": groups,
        "room": room,
    }
    loop = _Loop(**{name: _passed(value) for name, value in made.items()})
    if not library.call("add_up", loop):
        return None
    totals, moments = made["totals"] + made["lost"], made["moments"]
    # What a term of zero adds: log(1 + smoothing offset).
    first, offsets = arrays["first"], arrays["offsets"]
    constants = np.log1p(arrays["smoothings"] * np.repeat(offsets, np.diff(first)))
    totals += np.repeat(made["zeros"], np.diff(first), axis=1) * constants
    places = plan.order
    return LoopSums(
        [totals[:, first[place] : first[place + 1]] for place in places], moments[:, places], made["deepest"][list(places)],
        made["smallest"], made["hashes"] if isinstance(rows, PlainRows) else None, made["tables"], wanted,
    )  # fmt: skip


def _passed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data
    return ctypes.addressof(value) if isinstance(value, ctypes.Array) else value


def _reference(plan: LoopPlan, rows: WeighedRows, units: LoopUnits) -> LoopSums:
    of_units = Sorted.whole(units.count) if units.codes is None else Sorted.by(units.codes, units.groups)
    codes = units.codes
    if codes is not None and units.starts is not None:
        codes = np.repeat(codes, np.diff(units.starts))
    of_rows = Sorted.whole(len(rows)) if codes is None else Sorted.by(codes, units.groups)
    totals, moments, deepest = list[FloatArray](), np.zeros((units.groups, len(plan.terms), 3)), list[float]()
    kept = list[FloatArray | None]()
    for place, term in enumerate(plan.terms):
        values = _terms(term, rows)
        deepest.append(-float(values.min(initial=0.0) + term.offset) / (1.0 + term.offset))
        moments[:, place, 2] = group_extremes(np.maximum(values, 0.0), of_rows)[:, 1]
        if units.starts is not None and units.divisors is not None:
            lacking = units.padding[place] * (units.divisors - np.diff(units.starts)) / units.divisors
            values = cluster_means(values, units.starts, units.divisors, 0.0) + lacking
        kept.append(values if term.kept else None)
        scale = 1.0 if units.scale is None else units.scale
        moments[:, place, :2] = group_sums(values * scale, of_units)
        shifted = np.maximum(values + term.offset, 0.0) * scale
        totals.append(log_sums(shifted, np.array(term.smoothings), of_units)[0])
    tables = None
    if plan.drops:
        tables = np.zeros((plan.policies, BINS, PLACES))
        for policy, drop in enumerate(plan.drops):
            _, bins, sums = weight_tables(rows.excess[policy] / drop, rows.earned, Sorted.whole(len(rows)))
            tables[policy, bins] = sums
    smallest = group_extremes(rows.propensity, of_rows)[:, 0]
    return LoopSums(totals, moments, np.array(deepest), smallest, None, tables, kept)


def _terms(term: LoopTerm, rows: WeighedRows) -> FloatArray:
    ends = [np.full(len(rows), constant) for constant in term.constants]
    for policy, excess, at_zero, at_one in term.pieces:
        piece = rows.excess[policy] if excess else rows.weights[policy]
        ends = [ends[0] + at_zero * piece, ends[1] + at_one * piece]
    if rows.missed is None:
        return np.asarray(ends[1] * rows.earned + ends[0] * (1.0 - rows.earned))
    span = ends[1] - ends[0]
    return np.asarray(np.where(span >= 0.0, ends[0] + span * rows.earned, ends[1] - span * rows.missed))
