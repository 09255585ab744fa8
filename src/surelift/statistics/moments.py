"""MomentSums: sums of powers of a quantity, or of what a regularizer makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.kernels.sums import group_sums
from surelift.quantities import Quantity
from surelift.quantities.prefixes import in_sequence, running_products
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.groups import Groups
from surelift.statistics.plan import MEAN, SQUARES, Moment
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic
from surelift.statistics.units import Units

NEGATIVE_WEIGHTS = (
    "the weights of an additive slate can be negative, so only plain means of them are estimates: use 'ips'."
)


@dataclass(frozen=True, slots=True)
class MomentSums(Statistic):
    """The state is an array with one sum for each moment."""

    label: ClassVar[str] = "moments beyond the mean and the square"
    candidate: str
    quantity: Quantity
    moments: tuple[Moment, ...]

    def of(self, reading: Reading, groups: Groups) -> Sequence[FloatArray]:
        units = Units.of(reading.rounds)
        by_group, padding = groups.units.sorted(units.count), reading.padding(self.candidate, self.quantity)

        def sums_of(values: FloatArray) -> FloatArray:
            return group_sums(units.scaled_up(units.mean(values, padded_with=padding)), by_group)

        if self.moments == (MEAN, SQUARES):
            return list(sums_of(reading.terms(self.candidate, self.quantity)))
        if reading.least_weights[self.candidate] < 0.0 and any(m.regularizer != MEAN.regularizer for m in self.moments):
            raise UsageError(NEGATIVE_WEIGHTS)
        seen = policy_rounds(reading, self.candidate, self.quantity, self.moments)
        totals = np.empty((len(groups), len(self.moments)))
        for column, moment in enumerate(self.moments):
            if reading.rounds.declaration.density and not moment.regularizer.for_densities:
                name = type(moment.regularizer).__name__
                raise UsageError(f"{name} has no meaning for densities, which may exceed 1.")
            values = moment.regularizer.values(seen)
            if moment.power <= 2:
                totals[:, column] = sums_of(values)[:, moment.power - 1]
            else:
                means = units.scaled_up(units.mean(values, padded_with=padding))
                with np.errstate(over="ignore"):
                    totals[:, column] = group_sums(means**moment.power, by_group)[:, 0]
        return list(totals)


def policy_rounds(reading: Reading, candidate: str, quantity: Quantity, moments: Sequence[Moment]) -> PolicyRounds:
    """What the regularizers see of one policy."""
    by_model = any(moment.regularizer.asks_model for moment in moments)
    predicted = reading.predictions_for(candidate) if by_model else None
    probability, propensity = reading.probabilities[candidate].logged, reading.rounds.propensity
    if (clusters := in_sequence(reading.rounds)) is not None:
        probability, propensity = (running_products(each, clusters) for each in (probability, propensity))
    return PolicyRounds(
        weight=reading.weights[candidate].weight,
        probability=probability,
        propensity=propensity,
        earned=quantity.earned(reading.rounds.reward),
        terms=reading.terms(candidate, quantity),
        predicted=None if predicted is None else predicted[0],
        expected=None if predicted is None else predicted[1],
    )
