"""MomentSums: sums of powers of a quantity, or of what a regularizer makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.kernels.loop import LoopSums
from surelift.kernels.sums import group_sums
from surelift.logs.units import Weights
from surelift.quantities import Quantity
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.groups import Groups
from surelift.statistics.looped import Looped, Wanted
from surelift.statistics.plan import MEAN, SQUARES, Moment


@dataclass(frozen=True, slots=True)
class MomentSums(Looped):
    """The state is an array with one sum for each moment."""

    label: ClassVar[str] = "moments beyond the mean and the square"
    candidate: str
    quantity: Quantity
    moments: tuple[Moment, ...]

    def wanted(self, simple: bool) -> Sequence[Wanted]:
        plain = self.moments == (MEAN, SQUARES)
        return [Wanted(self.quantity.pieces(self.candidate))] if plain else []

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[FloatArray]:
        return list(sums.moments[:, places[0], :2]) if places else self._regularized(batch, groups)

    def _regularized(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        by_group = groups.units.sorted(batch.units.count)
        seen = policy_rounds(batch, self.candidate, self.quantity, self.moments)
        lacking = None if batch.units.starts is None else lacking_rounds(batch, self.candidate, self.quantity)
        totals = np.empty((len(groups), len(self.moments)))
        for column, moment in enumerate(self.moments):
            padding = 0.0 if lacking is None else moment.regularizer.values(lacking)
            values = batch.scaled(batch.units.mean(moment.regularizer.values(seen), padding))
            if moment.power <= 2:
                totals[:, column] = group_sums(values, by_group)[:, moment.power - 1]
            else:
                with np.errstate(over="ignore"):
                    totals[:, column] = group_sums(values**moment.power, by_group)[:, 0]
        return list(totals)


def policy_rounds(batch: Batch, candidate: str, quantity: Quantity, moments: Sequence[Moment]) -> PolicyRounds:
    """What the regularizers see of one policy."""
    by_model = any(moment.regularizer.asks_model for moment in moments)
    predicted = batch.predictions_for(candidate) if by_model else None
    probability, propensity = batch.policies[candidate].logged, batch.propensity
    if batch.units.multiplies:
        probability, propensity = (batch.units.weights(Weights(each, each)).weight for each in (probability, propensity))
    return PolicyRounds(
        weight=batch.weights[candidate].weight,
        probability=probability,
        propensity=propensity,
        earned=batch.judged.missed if quantity.complement else batch.judged.earned,
        terms=batch.terms(quantity.pieces(candidate)),
        predicted=None if predicted is None else predicted[0],
        expected=None if predicted is None else predicted[1],
    )


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
        weight=each(units.after(batch.weights[candidate]).weight),
        probability=probability,
        propensity=propensity,
        earned=each(quantity.earned(nothing)),
        terms=each(batch.padding(quantity.pieces(candidate))),
        predicted=nothing,
        expected=nothing,
    )
