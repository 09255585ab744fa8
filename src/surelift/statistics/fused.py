"""The fast path: three columns and more of plain numbers, in compiled loops over a batch that is as it should be.

A batch with anything out of the ordinary (a null, a value out of range, text) is left to the path that reports it. What is
added up is the same to rounding, and the fingerprint to the bit.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import ArrowTable, FloatArray
from surelift.logs.batch import Batch
from surelift.logs.columns import TOLERANCE, TOLERANCE_FLOAT32, plain_numbers
from surelift.logs.fingerprint import LANES, Fingerprint
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.given import Given
from surelift.policies.readers import Column
from surelift.policies.wrappers import Blend
from surelift.quantities import Decline, Gain, Quantity, Shortfall, Value
from surelift.statistics.plan import MEAN, SQUARES, Plan, Term
from surelift.statistics.reading import LARGEST_WEIGHT
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, Sums, WeightSums

_COMPLEMENTS: Mapping[type[Quantity], bool] = {Value: False, Shortfall: True, Gain: False, Decline: True}


@dataclass(frozen=True, slots=True)
class Simple:
    """A candidate given by a column, or a mixture of one with production."""

    column: str
    alpha: float


@dataclass(frozen=True, slots=True)
class Partial:
    """The sums of a batch, as bare arrays; they add up."""

    rows: int
    log_sums: FloatArray
    moments: FloatArray
    weights: FloatArray
    hashes: tuple[int, ...]
    rewards: float
    smallest_propensity: float

    def __add__(self, other: "Partial") -> "Partial":
        weights = self.weights + other.weights
        weights[:, 2] = np.maximum(self.weights[:, 2], other.weights[:, 2])
        return Partial(
            self.rows + other.rows,
            self.log_sums + other.log_sums,
            self.moments + other.moments,
            weights,
            tuple(map(operator.add, self.hashes, other.hashes)),
            self.rewards + other.rewards,
            min(self.smallest_propensity, other.smallest_propensity),
        )


class Fused:
    """A plan that the fast path can carry out."""

    def __init__(self, logs: Logs, plan: Plan, simple: Mapping[str, Simple]) -> None:
        assert logs.declaration.propensity is not None
        self._logs, self._plan, self._terms, self.simple = logs, plan, plan.terms, dict(simple)
        self._names = sorted(simple)
        self._columns = [
            logs.declaration.outcome,
            logs.declaration.propensity,
            *(simple[name].column for name in self._names),
        ]
        self._alphas = np.array([simple[name].alpha for name in self._names])
        counts = [len(term.needed.components) for term in plan.terms]
        self._first = np.cumsum([0, *counts])
        self._offsets = np.array([term.needed.offset for term in plan.terms], dtype=np.float64)
        self._smoothings = np.array(
            [part.smoothing for term in plan.terms for part in term.needed.components], dtype=np.float64
        )
        # What a term of zero adds: log(1 + smoothing offset).
        self._constants = np.log1p(self._smoothings * np.repeat(self._offsets, counts))
        self._candidates = np.array([self._names.index(term.candidate) for term in plan.terms], dtype=np.int64)
        self._paired = np.array([term.quantity.paired for term in plan.terms], dtype=np.bool_)
        self._complements = np.array([_COMPLEMENTS[type(term.quantity)] for term in plan.terms], dtype=np.bool_)

    @classmethod
    def of(cls, logs: Logs, plan: Plan) -> "Fused | None":
        plain_logs = (
            logs.declaration.propensity is not None and logs.declaration.action is None and logs.declaration.logging is None and logs.declaration.time is None
            and logs.declaration.cluster is None and logs.declaration.keep_probability is None and logs.declaration.action_count is None
            and logs.declaration.actions is None and not logs.declaration.density
        )  # fmt: skip
        simple = {name: _simple(policy) for name, policy in plan.policies.items()}
        if not plain_logs or plan.model is not None or not plan.policies or not all(map(_is_plain, plan.terms)):
            return None
        found = {name: one for name, one in simple.items() if one is not None}
        return cls(logs, plan, found) if len(found) == len(simple) else None

    def add_up(self, batch: Batch) -> Partial | None:
        """The sums of a batch, or None where it has to be looked at more closely."""
        from surelift.statistics.batch_kernel import add_up_batch

        columns = [plain_numbers(batch.table[column]) for column in self._columns]
        found = [column for column in columns if column is not None]
        if batch.as_text or len(found) < len(columns):
            return None
        reward, propensity, *candidates = found
        size, terms = len(self._smoothings), len(self._terms)
        totals, lost, zeros = np.zeros(size), np.zeros(size), np.zeros(terms, dtype=np.int64)
        moments, weights = np.zeros((terms, 2)), np.zeros((len(self._names), 3))
        hashes, others = np.zeros(4, dtype=np.uint64), np.array([0.0, np.inf])
        zero, divisor = self._logs.scale.affine
        fit = add_up_batch(
            reward, propensity, tuple(_alike(candidates)), self._alphas,
            1.0 + np.array([_tolerance(batch.table, column) for column in self._columns[1:]]),
            self._logs.scale.low, self._logs.scale.high, zero, divisor, self._candidates, self._paired, self._complements,
            self._offsets, self._first, self._smoothings, np.array(LANES), totals, lost, zeros, moments, weights, hashes,
            others,
        )  # fmt: skip
        if not fit or not (weights[:, 2] <= LARGEST_WEIGHT).all():
            return None
        log_sums = totals + lost + np.repeat(zeros, np.diff(self._first)) * self._constants
        return Partial(
            len(reward), log_sums, moments, weights, tuple(hashes.tolist()), float(others[0]), float(others[1])
        )

    def sums(self, partial: Partial) -> Sums:
        parts = [(term, part) for term in self._terms for part in term.needed.components]
        return Sums(
            rows=partial.rows,
            units=partial.rows,
            log_sums={
                LogSumKey(term.candidate, term.quantity, part): value
                for (term, part), value in zip(parts, partial.log_sums.tolist(), strict=True)
            },
            moments={
                MomentKey(term.candidate, term.quantity, moment): float(partial.moments[place, power])
                for place, term in enumerate(self._terms)
                for power, moment in enumerate((MEAN, SQUARES))
            },
            weights={
                name: WeightSums(total, squares, largest, None)
                for name, (total, squares, largest) in zip(self._names, partial.weights.tolist(), strict=True)
            },
            logging=LoggingSums(partial.rewards, partial.smallest_propensity),
            fingerprint=Fingerprint.of_halves(partial.rows, partial.hashes),
        )


def _alike(columns: Sequence[Any]) -> list[Any]:
    """Compiled code takes columns of one type: all as they are, or all as float64."""
    if len({column.dtype for column in columns}) <= 1:
        return list(columns)
    return [column.astype(np.float64) for column in columns]


def _simple(policy: Policy) -> Simple | None:
    if isinstance(policy, Given) and isinstance(policy.reader, Column):
        return Simple(policy.reader.name, 1.0)
    if isinstance(policy, Blend):
        inner = _simple(policy.policy)
        return None if inner is None else Simple(inner.column, policy.alpha * inner.alpha)
    return None


def _is_plain(term: Term) -> bool:
    needed = term.needed
    return (
        type(term.quantity) in _COMPLEMENTS and not needed.moments and not needed.resamples
        and needed.efron_stein is None
        and all(part.control is None and part.offset == needed.offset for part in needed.components)
    )  # fmt: skip


def _tolerance(table: ArrowTable, column: str) -> float:
    return TOLERANCE_FLOAT32 if str(table.schema.field(column).type) in ("float", "halffloat") else TOLERANCE
