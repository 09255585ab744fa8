"""The fast path: a few columns of plain numbers, in compiled loops over a batch that is as it should be.

A batch with anything out of the ordinary (a null, a value out of range, text) is left to the path that reports it. What is
added up is the same to rounding, and the fingerprint to the bit.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.kernels.batch import BatchTerms, add_up_batch
from surelift.kernels.library import Library, compiled
from surelift.logs.batch import Batch
from surelift.logs.columns import plain_numbers, tolerance_of
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.readers import Column
from surelift.policies.wrappers import Blend, Given
from surelift.quantities import Decline, Gain, Quantity, Shortfall, Value
from surelift.statistics.counts import Count
from surelift.statistics.log_sums import LogSums
from surelift.statistics.moments import MomentSums
from surelift.statistics.plan import MEAN, SQUARES, Component, Plan, Request
from surelift.statistics.production import ProductionSums, ProductionTotals
from surelift.statistics.reading import LARGEST_WEIGHT
from surelift.statistics.sums import Sums
from surelift.statistics.weight_table import WeightCells, WeightTable
from surelift.statistics.weights import PolicyWeights, WeightSums

# Smaller ones are looked at more closely: the square of a weight could overflow.
SMALLEST_PROPENSITY = 1.0000001e-150
COMPLEMENTS: Mapping[type[Quantity], bool] = {Value: False, Shortfall: True, Gain: False, Decline: True}


@dataclass(frozen=True, slots=True)
class SimplePolicy:
    """A candidate given by a column, or a blend of one with production."""

    column: str
    alpha: float


@dataclass(frozen=True, slots=True)
class SimpleTerm:
    """A quantity of a simple policy, with components that need no control."""

    candidate: str
    quantity: Quantity
    offset: float = 0.0
    components: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class SimplePlan:
    """What compiled loops and databases can add up: simple policies, and terms of them, over plain columns."""

    policies: Mapping[str, SimplePolicy]
    terms: Sequence[SimpleTerm]
    _places: dict[tuple[str, Quantity], list[int]] = field(init=False)
    """Where the terms of a candidate's quantity stand, which are few."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {})
        for place, term in enumerate(self.terms):
            self._places.setdefault((term.candidate, term.quantity), []).append(place)

    @classmethod
    def of(cls, logs: Logs, requests: Sequence[Request], policies: Mapping[str, Policy]) -> "SimplePlan | str":
        """The plan, or what is not simple about it."""
        declared = logs.declaration
        special = {
            "log propensities": declared.log_propensity is not None, "densities": declared.density,
            "propensities by draws (wins)": declared.by_draws,
            "several loggers (loggers=)": declared.loggers is not None,
            "only settled rounds (settled_after=)": declared.settled_after is not None,
            "a vector over actions (logging=)": declared.logging is not None,
            "actions (action=)": declared.action is not None, "clusters": declared.cluster is not None,
            "sampled rounds": declared.is_sampled, "labels (score=)": declared.score is not None,
            "action_count=": declared.action_count is not None,
            "actions=": declared.actions is not None,
        }  # fmt: skip
        for what, applies in special.items():
            if applies:
                return what
        for request in requests:
            unusual = _unusual(request.statistic)
            if unusual is not None:
                return unusual
            if request.outcome is not None:
                return f"a second reward, {request.outcome.column!r}"
        simple = {name: _simple(policy) for name, policy in policies.items()}
        for name, policy in simple.items():
            if policy is None:
                return f"policy {name!r}, which is not a column"
        terms = list(dict.fromkeys(_terms(request.statistic for request in requests)))
        bounded = {(term.candidate, term.quantity) for term in terms if term.components}
        # A term with components has its moments beside them.
        terms = [term for term in terms if term.components or (term.candidate, term.quantity) not in bounded]
        terms.sort(key=lambda term: term.candidate)
        return cls({name: policy for name, policy in simple.items() if policy is not None}, terms)

    def place(self, statistic: LogSums | MomentSums) -> int:
        """Which of the terms a statistic is about: two bounds of one quantity have components of their own."""
        (wanted,) = _terms([statistic])
        places = self._places[statistic.candidate, statistic.quantity]
        return next(p for p in places if isinstance(statistic, MomentSums) or self.terms[p] == wanted)


def _terms(statistics: Iterable[Any]) -> Iterator[SimpleTerm]:
    for statistic in statistics:
        if isinstance(statistic, LogSums):
            yield SimpleTerm(statistic.candidate, statistic.quantity, statistic.offset, statistic.components)
        elif isinstance(statistic, MomentSums):
            yield SimpleTerm(statistic.candidate, statistic.quantity)


def _simple(policy: Policy) -> SimplePolicy | None:
    if isinstance(policy, Given) and isinstance(policy.reader, Column):
        return SimplePolicy(policy.reader.name, 1.0)
    if isinstance(policy, Blend):
        inner = _simple(policy.policy)
        return None if inner is None else SimplePolicy(inner.column, policy.alpha * inner.alpha)
    return None


def _unusual(statistic: Any) -> str | None:
    """What is not simple about a statistic."""
    if isinstance(statistic, LogSums | MomentSums) and type(statistic.quantity) not in COMPLEMENTS:
        return "the difference of two policies (over=)"
    plain = isinstance(statistic, Count | ProductionTotals | PolicyWeights)
    if isinstance(statistic, LogSums):
        plain = all(part.control is None and part.offset == statistic.offset for part in statistic.components)
    if isinstance(statistic, MomentSums):
        plain = statistic.moments == (MEAN, SQUARES)
    if isinstance(statistic, WeightTable):
        plain = statistic.quantity is None
    label: str = statistic.label
    return None if plain else label


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
    tables: FloatArray | None

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
            None if self.tables is None or other.tables is None else self.tables + other.tables,
        )


@dataclass(slots=True)
class Fused:
    """A plan that the fast path can carry out."""

    logs: Logs
    plan: Plan
    simple: SimplePlan
    library: Library
    _names: dict[str, int] = field(init=False)
    """Of the candidates, with their places."""
    _columns: list[str] = field(init=False)
    _terms: BatchTerms = field(init=False)
    _constants: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        terms, policies = self.simple.terms, self.simple.policies
        self._names = {name: place for place, name in enumerate(sorted(policies))}
        declared = self.logs.declaration
        self._columns = [declared.outcome, str(declared.propensity), *(policies[name].column for name in self._names)]
        counts = [len(term.components) for term in terms]
        candidates = [self._names[term.candidate] for term in terms]
        offsets = np.array([term.offset for term in terms], dtype=np.float64)
        smoothings = np.array([part.smoothing for term in terms for part in term.components], dtype=np.float64)
        # What a term of zero adds: log(1 + smoothing offset).
        self._constants = np.log1p(smoothings * np.repeat(offsets, counts))
        self._terms = BatchTerms(
            np.array([policies[name].alpha for name in self._names]),
            np.searchsorted(candidates, np.arange(len(self._names) + 1)).astype(np.int64),
            np.array([term.quantity.paired for term in terms], dtype=np.int64),
            np.array([COMPLEMENTS[type(term.quantity)] for term in terms], dtype=np.int64),
            offsets, np.cumsum([0, *counts], dtype=np.int64), smoothings,
            any(isinstance(request.statistic, WeightTable) for request in self.plan.requests),
        )  # fmt: skip

    @classmethod
    def of(cls, logs: Logs, plan: Plan) -> "Fused | None":
        library, whole = compiled(), all(not request.key for request in plan.requests)
        if library is None or not whole or plan.model is not None or not plan.policies:
            return None
        if logs.declaration.time is not None:
            return None
        simple = SimplePlan.of(logs, plan.requests, plan.policies)
        return None if isinstance(simple, str) else cls(logs, plan, simple, library)

    def add_up(self, batch: Batch) -> Partial | None:
        """The sums of a batch, or None where it has to be looked at more closely."""
        found = [None if name in batch.as_text else plain_numbers(batch.table[name]) for name in self._columns]
        columns = [column for column in found if column is not None]
        if len(columns) < len(found):
            return None
        scale, above = self.logs.scale, [1.0 + tolerance_of(column) for column in columns[1:]]
        limits = np.array([[scale.low, SMALLEST_PROPENSITY, *[0.0] * len(self._names)], [scale.high, *above]])
        sums = add_up_batch(self.library, columns, limits, scale.affine, self._terms)
        if sums is None or not (sums.weights[:, 2] <= LARGEST_WEIGHT).all():
            return None
        counts = np.diff(self._terms.first)
        rewards, smallest = sums.others.tolist()
        return Partial(
            len(columns[0]), sums.totals + np.repeat(sums.zeros, counts) * self._constants, sums.moments, sums.weights,
            tuple(sums.hashes.tolist()), rewards, smallest, sums.tables,
        )  # fmt: skip

    def sums(self, partial: Partial) -> Sums:
        def state(statistic: Any) -> Any:
            if isinstance(statistic, LogSums):
                place = self.simple.place(statistic)
                return partial.log_sums[self._terms.first[place] : self._terms.first[place + 1]]
            if isinstance(statistic, MomentSums):
                return partial.moments[self.simple.place(statistic)]
            if isinstance(statistic, PolicyWeights):
                total, squares, largest = partial.weights[self._names[statistic.candidate]].tolist()
                return WeightSums(total, squares, largest, None)
            if isinstance(statistic, WeightTable):
                assert partial.tables is not None
                table = partial.tables[self._names[statistic.candidate]]
                bins = np.flatnonzero(table[:, 0])
                return WeightCells.of_bins(bins, table[bins])
            if isinstance(statistic, ProductionTotals):
                return ProductionSums(partial.rewards, partial.smallest_propensity)
            return partial.rows

        return Sums(
            rows=partial.rows,
            states={request: {(): state(request.statistic)} for request in self.plan.requests},
            fingerprint=Fingerprint.of_halves(partial.rows, partial.hashes),
        )
