"""Log sums: for every component of a bound, the sum of log(1 + smoothing (term + offset))."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls import MaxWeightControl, WeightControl
from surelift.controls.weights import KnownDistributions, TakenOff
from surelift.errors import LogsError
from surelift.quantities import Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.plan import Component
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units

# For fewer rounds it is not worth loading the compiler.
WORTH_COMPILING = 50_000
# A term below its floor by more than rounding shows that an assumption is false.
ROUNDING = 1e-9


def log_terms(quantity: FloatArray, *, smoothing: float) -> FloatArray:
    """log(1 + smoothing * quantity), also where the product overflows.

    >>> log_terms(np.array([0.0, 2.0, 1e308]), smoothing=64.0).round(6).tolist()
    [0.0, 4.859812, 713.355092]
    """
    with np.errstate(over="ignore"):
        logarithms = np.log1p(smoothing * quantity)
    overflown = np.isinf(logarithms)
    if overflown.any():
        logarithms[overflown] = np.log(smoothing) + np.log(quantity[overflown])
    return logarithms


@dataclass(frozen=True, slots=True)
class LogSums(Statistic):
    """The state is an array with one sum for each component."""

    label: ClassVar[str] = "the log sums of a bound"
    candidate: str
    quantity: Quantity
    offset: float
    components: tuple[Component, ...]
    smallest: tuple[tuple[str, float], ...] = ()
    """Where control counts a weight from, by policy: the smallest it can be, else 0."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Components are many, and their hash is asked for again and again.
        object.__setattr__(self, "_hash", hash((self.candidate, self.quantity, self.components)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        # The hash of a text differs from process to process.
        return LogSums, (self.candidate, self.quantity, self.offset, self.components, self.smallest)

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        rounds = reading.rounds
        values = self.quantity.terms(self.candidate, reading.weights, rounds.reward)
        batch = _Batch(self, reading, values, Units.of(rounds), groups, groups.of_units(rounds))
        totals = np.zeros((len(groups), len(self.components)))
        controls = [component.control for component in self.components]
        plain = [column for column, control in enumerate(controls) if control is None]
        if plain:
            totals[:, plain] = batch.plain([self.components[column] for column in plain])
        for column, control in enumerate(controls):
            if isinstance(control, MaxWeightControl):
                adjusted = batch.values + control.adjustment(reading.weights)
                totals[:, column] = batch.log_sums(adjusted, self.components[column])
        capped = [column for column, control in enumerate(controls) if isinstance(control, WeightControl)]
        if capped:
            totals[:, capped] = batch.capped([self.components[column] for column in capped])
        return list(totals)


@dataclass(frozen=True, slots=True)
class _Batch:
    """One term over the units of one batch."""

    term: LogSums
    reading: Reading
    values: FloatArray
    units: Units
    groups: Groups
    unit_groups: Groups

    def plain(self, components: Sequence[Component]) -> FloatArray:
        """(groups, components), of components that need the logged probabilities only."""
        shifted = self.shifted(self.values, components[0].offset)
        smoothings = np.array([component.smoothing for component in components])
        totals = [self.sums_of_logs(part, smoothings) for part in self.unit_groups.split(shifted)]
        # A batch may hold no round of any group.
        return np.array(totals).reshape(len(totals), len(components))

    def sums_of_logs(self, shifted: FloatArray, smoothings: FloatArray) -> FloatArray:
        shifted = shifted[shifted > 0.0]
        if self.reading.rounds.size < WORTH_COMPILING:
            return np.array([log_terms(shifted, smoothing=smoothing).sum() for smoothing in smoothings])
        from surelift.statistics import kernels

        return kernels.log_sums(shifted, smoothings)

    def log_sums(self, values: FloatArray, component: Component) -> FloatArray:
        shifted = np.maximum(self.shifted(values, component.offset), 0.0)
        return self.unit_groups.sums(log_terms(shifted, smoothing=component.smoothing))

    def capped(self, components: Sequence[Component]) -> FloatArray:
        """(groups, components), of those that subtract a capped share of the weights and add back its mean."""
        term, reading = self.term, self.reading
        known = KnownDistributions(reading.rounds, reading.probabilities, reading.predicted)
        names = term.quantity.taken_off(term.candidate, 0.5, None)
        smallest = {**dict.fromkeys(names, 0.0), **dict(term.smallest)}
        values = term.quantity.terms(
            term.candidate, {name: known.weights(name) for name in names}, reading.rounds.reward
        )
        overstated = self.unit_groups.sums(np.log1p(self.units.largest(known.overstated)))
        totals = np.zeros((len(self.groups), len(components)))
        order = sorted(range(len(components)), key=lambda column: _share(components[column]))
        for (by_model, share), group in groupby(order, key=lambda column: _share(components[column])):
            columns = list(group)
            off = known.taken_off(term.quantity, term.candidate, share=share, by_model=by_model, smallest=smallest)
            parts = [components[column] for column in columns]
            if self.units.plain and self.groups.codes is None and len(values) >= WORTH_COMPILING:
                totals[0, columns] = self._compiled(values, off, parts)
            else:
                for column, part in zip(columns, parts, strict=True):
                    assert isinstance(part.control, WeightControl)
                    totals[:, column] = self.log_sums(values + off.adjustment(part.control.cap), part)
        return np.asarray(totals - overstated[:, None])

    def _compiled(self, values: FloatArray, off: TakenOff, parts: Sequence[Component]) -> FloatArray:
        from surelift.statistics import kernels

        caps = [part.control.cap for part in parts if isinstance(part.control, WeightControl)]
        totals = np.zeros(len(parts))
        deepest = kernels.controlled_log_sums(
            values, off.taken, off.expected, off.logging.values, off.logging.starts, np.array(caps),
            np.array([part.offset for part in parts]), np.array([part.smoothing for part in parts]), totals,
        )  # fmt: skip
        if deepest > ROUNDING:
            self.refuse_floor(deepest)
        return totals

    def shifted(self, values: FloatArray, offset: float) -> FloatArray:
        """The number of each unit plus its offset.

        A term below its floor breaks a promise and is refused: round by round, before a cluster could hide it.
        """
        lowest = values.min(initial=0.0) + offset
        if lowest < -ROUNDING * (1.0 + offset):
            self.refuse_floor(-lowest)
        return self.units.scaled_up(self.units.mean(values, padded_with=self.term.quantity.padding) + offset)

    def refuse_floor(self, below: float) -> None:
        raise LogsError(
            f"policy {self.term.candidate!r}: a weight lies outside what was declared possible: a term lies {below:.6g} "
            "below its floor.\nA smallest or largest weight must follow from how the policy is built, as in "
            "blend(policy, alpha); with a false one nothing can be certified."
        )


def _share(component: Component) -> tuple[bool, float]:
    assert isinstance(component.control, WeightControl)
    return component.control.by_model, component.control.share
