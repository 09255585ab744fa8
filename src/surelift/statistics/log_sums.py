"""Log sums: for every component of a bound, the sum of log(1 + smoothing (term + offset)).

Beside them, for every component with a control, the sum of term + offset: what its terms estimate. Without a control that
is a moment of the term, which is added up anyway.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.score import LabelledTerms
from surelift.controls.weights import KnownDistributions
from surelift.errors import LogsError
from surelift.kernels.columns import count_outside
from surelift.kernels.control import ControlComponents, ControlledTerms, UnitsOfRounds, controlled_log_sums
from surelift.kernels.log_sums import log_sums
from surelift.quantities import Quantity
from surelift.quantities.prefixes import padding_of
from surelift.statistics.groups import Groups
from surelift.statistics.plan import Component
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units

# A term below its floor by more than rounding shows that an assumption is false.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LogSums(Statistic):
    """The state is an array with a log sum for each component, and then a sum for each that is controlled."""

    label: ClassVar[str] = "the log sums of a bound"
    candidate: str
    quantity: Quantity
    offset: float
    components: tuple[Component, ...]
    smallest: tuple[tuple[str, float], ...] = ()
    """Where control counts a weight from, by policy: the smallest it can be, else 0."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # ControlComponents are many, and their hash is asked for again and again.
        object.__setattr__(self, "_hash", hash((self.candidate, self.quantity, self.components)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        # The hash of a text differs from process to process.
        return LogSums, (self.candidate, self.quantity, self.offset, self.components, self.smallest)

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        batch = _Batch(
            self, reading, reading.terms(self.candidate, self.quantity), Units.of(reading.rounds), groups.units
        )
        totals, sums = np.zeros((2, len(groups), len(self.components)))
        for (control, offset), columns in _alike(self).items():
            values = batch.values if control is None else batch.values + control.adjustment(reading.weights)
            smoothings = np.array([self.components[column].smoothing for column in columns])
            totals[:, columns] = batch.log_sums(values, smoothings, offset)
            if control is not None:
                sums[:, columns] = batch.groups.sums(batch.shifted(values, offset))[:, None]
        for kind, added_up in ((WeightControl, batch.by_weights), (ScoreControl, batch.by_score)):
            capped = [column for column, part in enumerate(self.components) if isinstance(part.control, kind)]
            if capped:
                totals[:, capped], sums[:, capped] = added_up([self.components[column] for column in capped])
        return list(np.hstack([totals, sums[:, controlled(self.components)]]))


@lru_cache(maxsize=1024)
def controlled(components: tuple[Component, ...]) -> list[int]:
    """The places of the components with a control."""
    return [place for place, part in enumerate(components) if part.control is not None]


@lru_cache(maxsize=1024)
def _alike(term: LogSums) -> Mapping[tuple[MaxWeightControl | None, float], list[int]]:
    """The components of one control and one offset, which differ in their smoothing alone."""
    columns = dict[tuple[MaxWeightControl | None, float], list[int]]()
    for column, part in enumerate(term.components):
        if part.control is None or isinstance(part.control, MaxWeightControl):
            columns.setdefault((part.control, part.offset), []).append(column)
    return columns


@dataclass(frozen=True, slots=True)
class _Batch:
    """One term over the units of one batch."""

    term: LogSums
    reading: Reading
    values: FloatArray
    units: Units
    groups: Groups
    """Of the units."""

    def log_sums(self, values: FloatArray, smoothings: FloatArray, offset: float) -> FloatArray:
        """(groups, smoothings), of a number for each round.

        A term below its floor breaks a promise and is refused: round by round, before a cluster could hide it.
        """
        by_group, floor = self.groups.sorted(self.units.count), -ROUNDING * (1.0 + offset)
        if self.units.plain:
            totals, below = log_sums(values, smoothings, by_group, offset=offset, floor=floor)
        else:
            below = count_outside(values, floor - offset, np.inf)
            totals, _ = log_sums(self.shifted(values, offset), smoothings, by_group)
        if below:
            self.refuse_floor(-(float(values.min(initial=0.0)) + offset))
        return totals

    def shifted(self, values: FloatArray, offset: float) -> FloatArray:
        """What each unit multiplies the smoothing by."""
        padding = self.reading.padding(self.term.candidate, self.term.quantity)
        return self.units.scaled_up(self.units.mean(values, padded_with=padding) + offset)

    def by_score(self, components: Sequence[Component]) -> tuple[FloatArray, FloatArray]:
        """(groups, components), of those that subtract a capped share of what a score predicts, and add back its mean."""
        labels = self.reading.rounds.labels
        assert labels is not None
        labelled = LabelledTerms.of(*self.reading.at_ends(self.term.candidate, self.term.quantity), labels)
        padding = self.reading.padding(self.term.candidate, self.term.quantity)
        return self._capped(components, lambda by_score, share: labelled.controlled(share, by_score=by_score), padding)

    def by_weights(self, components: Sequence[Component]) -> tuple[FloatArray, FloatArray]:
        """(groups, components), of those that subtract a capped share of the weights and add back its mean."""
        term, reading = self.term, self.reading
        known = KnownDistributions(reading.rounds, reading.probabilities, reading.predicted)
        names = term.quantity.taken_off(term.candidate, 0.5, None)
        smallest = {**dict.fromkeys(names, 0.0), **dict(term.smallest)}
        weights = {name: known.weights(name) for name in names}
        values = term.quantity.terms(term.candidate, weights, reading.rounds.reward)
        padding = padding_of(reading.rounds, term.candidate, term.quantity, weights)
        overstated = self.groups.sums(np.log1p(known.overstated))

        def terms_of(by_model: bool, share: float) -> ControlledTerms:
            off = known.taken_off(term.quantity, term.candidate, share=share, by_model=by_model, smallest=smallest)
            return ControlledTerms(values, off.taken, off.logging.starts, off.expected, off.logging.values)

        totals, sums = self._capped(components, terms_of, padding)
        return totals - overstated[:, None], sums

    def _capped(
        self,
        components: Sequence[Component],
        terms_of: Callable[[bool, float], ControlledTerms],
        padding: float | FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Of components by whether something predicts, and the share: those alike differ in their cap alone."""
        totals, sums = np.zeros((2, len(self.groups), len(components)))
        order = sorted(range(len(components)), key=lambda column: _share(components[column]))
        for (predicted, share), group in groupby(order, key=lambda column: _share(components[column])):
            columns = list(group)
            parts = [components[column] for column in columns]
            totals[:, columns], sums[:, columns] = self._controlled(terms_of(predicted, share), parts, padding)
        return totals, sums

    def _controlled(
        self, terms: ControlledTerms, parts: Sequence[Component], padding: float | FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        caps = [part.control.cap for part in parts if isinstance(part.control, WeightControl | ScoreControl)]
        offsets, smoothings = [part.offset for part in parts], [part.smoothing for part in parts]
        clusters = self.units.clusters
        units = UnitsOfRounds(
            self.units.count,
            len(self.groups),
            self.groups.codes,
            None if clusters is None else clusters.starts,
            None if clusters is None else clusters.divisor,
            padding,
            self.units.keep_probability,
        )
        components = ControlComponents(np.array(caps), np.array(offsets), np.array(smoothings))
        totals, sums, deepest = controlled_log_sums(terms, units, components)
        if deepest > ROUNDING:
            self.refuse_floor(deepest)
        return totals, sums

    def refuse_floor(self, below: float) -> None:
        raise LogsError(
            f"policy {self.term.candidate!r}: a weight lies outside what was declared possible: a term lies {below:.6g} "
            "below its floor.\nA smallest or largest weight must follow from how the policy is built, as in "
            "blend(policy, alpha); with a false one nothing can be certified."
        )


def _share(component: Component) -> tuple[bool, float]:
    control = component.control
    if isinstance(control, ScoreControl):
        return control.by_score, control.share
    assert isinstance(control, WeightControl)
    return control.by_model, control.share
