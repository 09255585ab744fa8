"""What is added up for a term: moments, and for every component of a bound the sum of log(1 + smoothing (term + offset)).

Beside the log sums, for every component with a control, the sum of term + offset: what its terms estimate. Without a control
that is a moment of the term, which is added up anyway.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.controls import ScoreControl
from surelift.controls.weights import KnownDistributions, controlled_by_score
from surelift.errors import LogsError
from surelift.kernels.control import ControlComponents, ControlledTerms, controlled_log_sums
from surelift.kernels.loop import LoopSums, LoopTerm, LoopUnits
from surelift.kernels.sums import group_sums
from surelift.logs.units import Piece, Weights
from surelift.quantities import Quantity
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.looped import Looped
from surelift.statistics.plan import MEAN, SQUARES, Component, Moment, arranged
from surelift.statistics.statistic import Groups

# A term below its floor by more than rounding shows that an assumption is false.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class MomentSums(Looped):
    """The state is an array with one sum for each moment, of a quantity or of what a regularizer makes of it."""

    label: ClassVar[str] = "moments beyond the mean and the square"
    candidate: str
    quantity: Quantity
    moments: tuple[Moment, ...]

    def wanted(self, simple: bool) -> Sequence[LoopTerm]:
        plain = self.moments == (MEAN, SQUARES)
        return [LoopTerm(self.quantity.pieces(self.candidate))] if plain else []

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[FloatArray]:
        return list(sums.moments[:, places[0], :2]) if places else self._regularized(batch, groups)

    def _regularized(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        by_group = groups.units.sorted(batch.units.count)
        seen = policy_rounds(batch, self.candidate, self.quantity, self.moments)
        lacking = None if batch.units.starts is None else lacking_rounds(batch, self.candidate, self.quantity)
        totals = np.empty((len(groups.values), len(self.moments)))
        for column, (regularizer, power) in enumerate(self.moments):
            padding = 0.0 if lacking is None else regularizer.values(lacking)
            values = batch.scaled(batch.units.mean(regularizer.values(seen), padding))
            with np.errstate(over="ignore"):
                sums = group_sums(values if power <= 2 else values**power, by_group)
            totals[:, column] = sums[:, 1 if power == 2 else 0]
        return list(totals)


def policy_rounds(batch: Batch, candidate: str, quantity: Quantity, moments: Sequence[Moment]) -> PolicyRounds:
    by_model = any(moment.regularizer.asks_model for moment in moments)
    predicted, expected = (batch.predictions_for(candidate) if by_model else None) or (None, None)
    probability, propensity = batch.policies[candidate].logged, batch.propensity
    if batch.units.multiplies:
        probability, propensity = (batch.units.weights(Weights(each, each)).weight for each in (probability, propensity))
    return PolicyRounds(
        weight=batch.weights[candidate].weight, probability=probability, propensity=propensity,
        earned=batch.judged.missed if quantity.complement else batch.judged.earned,
        terms=batch.terms(quantity.pieces(candidate)), predicted=predicted, expected=expected,
    )  # fmt: skip


def lacking_rounds(batch: Batch, candidate: str, quantity: Quantity) -> PolicyRounds:
    """What they see of a row that a unit lacks, which earned nothing: as of any other, or no bound by them would hold."""

    def each(value: Any) -> FloatArray:
        return np.array(np.broadcast_to(value, batch.units.count), dtype=np.float64)

    policy, units, nothing = batch.policies[candidate].logged, batch.units, each(0.0)
    probability, propensity = (
        each(units.after(units.weights(Weights(of, of)) if units.multiplies else None).weight)
        for of in (policy, batch.propensity)
    )
    return PolicyRounds(
        weight=each(units.after(batch.weights[candidate]).weight), probability=probability, propensity=propensity,
        earned=each(quantity.earned(nothing)), terms=each(batch.padding(quantity.pieces(candidate))),
        predicted=nothing, expected=nothing,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogSums(Looped):
    """The state is an array with a log sum for each component, and then a sum for each that is controlled."""

    label: ClassVar[str] = "the log sums of a bound"
    candidate: str
    quantity: Quantity
    offset: float
    components: tuple[Component, ...]
    smallest: tuple[tuple[str, float], ...] = ()
    """The smallest weight that each policy can have, from which control counts, else from 0."""

    def __hash__(self) -> int:
        """One of a few fields: it is asked for many times a batch, and components are many."""
        return hash((self.candidate, self.quantity, self.offset, len(self.components)))

    def wanted(self, simple: bool) -> list[LoopTerm]:
        """A line for the components of one control and one offset, which differ in their smoothing alone."""
        pieces = self.quantity.pieces(self.candidate)
        lines = []
        for control, offset, columns in arranged(self.components).lines:
            # A share of the weights minus 1 is taken off.
            off = () if control is None else tuple(Piece(name, True, -share, -share) for name, share in control.shares)
            smoothings = tuple(self.components[k].smoothing for k in columns)
            lines.append(LoopTerm((*pieces, *off), offset=offset, smoothings=smoothings))
        return lines

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[FloatArray]:
        layout, units = arranged(self.components), batch.units.count
        totals, besides = np.zeros((2, len(groups.values), len(self.components)))
        for place, (control, offset, columns) in zip(places, layout.lines, strict=True):
            if sums.deepest[place] > ROUNDING:
                self.refuse_floor(float(sums.deepest[place]) * (1.0 + offset))
            totals[:, columns] = sums.totals[place]
            if control is not None:
                mass = groups.units.counts(units) if batch.scale is None else groups.units.sums(batch.scale)
                besides[:, columns] = (sums.moments[:, place, 0] + offset * mass)[:, None]
        if layout.by_weights:
            totals[:, layout.by_weights], besides[:, layout.by_weights] = self._by_weights(batch, groups, layout.by_weights)
        if layout.by_score:
            pieces = self.quantity.pieces(self.candidate)
            totals[:, layout.by_score], besides[:, layout.by_score] = self._capped(
                batch, groups, layout.by_score, batch.padding(pieces),
                lambda by_score, share: controlled_by_score(batch, pieces, share, by_score=by_score),
            )  # fmt: skip
        return list(np.hstack([totals, besides[:, layout.controlled]]))

    def _by_weights(self, batch: Batch, groups: Groups, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """(groups, components), of those that subtract a capped share of the weights and add back its mean."""
        known, pieces = KnownDistributions(batch), self.quantity.pieces(self.candidate)
        names = self.quantity.subtracted(self.candidate, 0.5, None)
        smallest = {**dict.fromkeys(names, 0.0), **dict(self.smallest)}
        values, padding = known.terms(pieces), batch.padding(pieces, {name: known.weights(name) for name in names})

        def terms_of(by_model: bool, share: float) -> ControlledTerms:
            return known.controlled(values, self.quantity, self.candidate, share=share, by_model=by_model, smallest=smallest)

        totals, sums = self._capped(batch, groups, columns, padding, terms_of)
        return totals - groups.units.sums(np.log1p(batch.overstated))[:, None], sums

    def _capped(
        self, batch: Batch, groups: Groups, columns: Sequence[int], padding: Any,
        terms_of: Callable[[bool, float], ControlledTerms],
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """The sums of components by whether something predicts, and the share: those alike differ in their cap alone."""
        totals, sums = np.zeros((2, len(groups.values), len(columns)))
        units = LoopUnits(
            batch.units.count, len(groups.values), groups.units.codes, batch.units.starts, batch.units.divisor, padding,
            keep=batch.keep if batch.scale is not None else None,
        )  # fmt: skip
        parts = [self.components[column] for column in columns]
        shares = [_share(part.control) for part in parts]
        for (predicted, share), alike in groupby(sorted(range(len(parts)), key=shares.__getitem__), key=shares.__getitem__):
            own: Any = list(alike)
            caps, offsets, smoothings = np.array(
                [(parts[k].control.cap, parts[k].offset, parts[k].smoothing) for k in own]
            ).T
            found = controlled_log_sums(terms_of(predicted, share), units, ControlComponents(caps, offsets, smoothings))
            totals[:, own], sums[:, own], deepest = found
            if deepest > ROUNDING:
                self.refuse_floor(deepest)
        return totals, sums

    def refuse_floor(self, below: float) -> None:
        raise LogsError(
            f"policy {self.candidate!r}: a weight lies outside what was declared possible: a term lies {below:.6g} "
            "below its floor.\nA smallest or largest weight must follow from how the policy is built, as in "
            "blend(policy, alpha); with a false one nothing can be certified."
        )


def _share(control: Any) -> tuple[bool, float]:
    return (control.by_score if isinstance(control, ScoreControl) else control.by_model), control.share
