"""Resamples of the rounds, for the bootstrap, and what the Efron-Stein bound redraws: all weights of a policy.

How often a round enters a resample follows from its number alone, so resamples add up. A log to redraw is laid end to end:
its memory grows with the log, and it needs the rounds in their order.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.errors import UsageError
from surelift.kernels.redraws import LANES, redraw
from surelift.kernels.resamples import resample
from surelift.quantities import Quantity
from surelift.statistics.splits import row_numbers
from surelift.statistics.statistic import Groups, Statistic


@dataclass(frozen=True, slots=True)
class Resamples(Statistic):
    """The state is an array (2, count): for each resample its sum of terms and its number of units."""

    label: ClassVar[str] = "bootstrap resamples"
    candidate: str
    quantity: Quantity
    count: int

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        return self.of_all([self], batch, groups)[0]

    @classmethod
    def of_all(cls, statistics: Sequence[Any], batch: Batch, groups: Groups) -> list[Sequence[FloatArray]]:
        found: list[Sequence[FloatArray]] = [[]] * len(statistics)
        numbers, by_group = batch.units.first(row_numbers(batch)), groups.units.sorted(batch.units.count)
        for count in dict.fromkeys(statistic.count for statistic in statistics):
            places = [place for place, statistic in enumerate(statistics) if statistic.count == count]
            pieces = [statistics[place].quantity.pieces(statistics[place].candidate) for place in places]
            terms = [batch.scaled(batch.units.mean(batch.terms(of), batch.padding(of))) for of in pieces]
            for place, states in zip(places, resample(terms, numbers, count, by_group), strict=True):
                found[place] = list(states)
        return found


Resamples.works_with = Resamples


@dataclass(frozen=True, slots=True)
class Proxies:
    r"""Means over redraws, where Z_k adds the weights up to k and redrawn ones beyond, and w' is redrawn:

    ``variance`` is the sum over k of E[(w_k/Z_k + w'_k/(Z_k - w_k + w'_k))^2], ``expected`` that of
    E[(w'_k / sum w')^2], each with its Monte-Carlo standard error; ``second_moment`` is the sum of pi^2/pi0.
    """

    variance: float
    expected: float
    variance_error: float
    expected_error: float
    second_moment: float
    draws: int


@dataclass(frozen=True, eq=False)
class WholeLog:
    logged: FloatArray
    chances: FloatArray
    weights: FloatArray
    lengths: IntArray
    second_moment: float
    draws: int

    def __add__(self, other: "WholeLog") -> "WholeLog":
        names = ("logged", "chances", "weights", "lengths")
        logged, chances, weights, lengths = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in names)
        return WholeLog(logged, chances, weights, lengths, self.second_moment + other.second_moment, self.draws)

    @cached_property
    def proxies(self) -> Proxies:
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        found = np.empty((2, self.draws))

        def draw(first: int) -> None:
            lanes = min(LANES, self.draws - first)
            found[:, first : first + lanes] = redraw(
                self.logged, self.chances, self.weights, starts, block=first // LANES, lanes=lanes
            )

        # The loop lets go of the interpreter, and what a lane draws does not depend on who draws it.
        with ThreadPoolExecutor() as pool:
            list(pool.map(draw, range(0, self.draws, LANES)))
        (variance, expected), root = found, math.sqrt(self.draws)
        return Proxies(
            float(variance.mean()), float(expected.mean()), float(variance.std() / root), float(expected.std() / root),
            self.second_moment, self.draws,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Redraws(Statistic):
    label: ClassVar[str] = "what efron-stein redraws, which is the whole log in its order"
    needs_order: ClassVar[bool] = True
    state: ClassVar[type] = WholeLog
    candidate: str
    draws: int

    def of(self, batch: Batch, groups: Groups) -> Sequence[WholeLog]:
        chances, found, size = batch.decisions.logging, batch.policies[self.candidate], batch.size
        if chances is None or found.vectors is None:
            raise UsageError(
                f"efron-stein redraws actions, so it needs the whole distributions: production's in logging=, and policy "
                f"{self.candidate!r} as a vector over actions."
            )
        wanted = found.vectors.values
        weights = np.divide(wanted, chances.values, out=np.zeros_like(wanted), where=chances.values > 0.0)
        # An action that production cannot take has an infinite weight there.
        beyond = (chances.values == 0.0) & (wanted > 0.0)
        moments = chances.fold(np.add, np.where(beyond, np.inf, wanted * weights), empty=0.0)
        logged = 1.0 + found.excess(batch.propensity)
        states = []
        for rows in groups.split(np.arange(size)):
            entries = np.repeat(np.isin(np.arange(size), rows), chances.lengths)
            states.append(WholeLog(
                logged[rows], chances.values[entries], weights[entries], chances.lengths[rows], float(moments[rows].sum()),
                self.draws,
            ))  # fmt: skip
        return states
