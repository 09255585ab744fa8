"""What a bound counts: rows, or runs of rows that belong together, each a factor of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.sums import cluster_means


@dataclass(frozen=True, slots=True)
class Weights:
    """A policy's importance weights."""

    weight: FloatArray
    excess: FloatArray  # the weight minus 1, computed without the rounding of that subtraction


NO_DIFFERENCE = Weights(1.0, 0.0)  # type: ignore[arg-type]


class Piece(NamedTuple):
    """A part of a term: a policy's weight, or that minus 1, so often where the reward is 0, and where it is 1."""

    policy: str
    excess: bool
    at_zero: float
    at_one: float


def ends_of(pieces: Iterable[Piece], weights: Mapping[str, Weights]) -> tuple[Any, Any]:
    """A term where the reward is 0, and where it is 1; 0.0 where nothing counts there."""
    at_zero: Any = 0.0
    at_one: Any = 0.0
    for policy, excess, low, high in pieces:
        of = weights[policy].excess if excess else weights[policy].weight
        at_zero = at_zero if low == 0.0 else at_zero + low * of
        at_one = at_one if high == 0.0 else at_one + high * of
    return at_zero, at_one


@dataclass(frozen=True)
class Units:
    """Every row is one; with ``starts``, unit u is rows ``starts[u]`` to ``starts[u + 1]`` and counts as their mean."""

    count: int
    starts: IntArray | None = None  # the first row of each unit, and behind the last
    divisor: FloatArray | None = None  # divides the sum over each: its rows, known in advance, or the most that it can have
    multiplies: ClassVar[bool] = False  # the weight of a row is that of all decisions up to it

    def weights(self, steps: Weights) -> Weights:
        """The weight of each row from those of the decisions, given what came before it in its unit."""
        return steps

    def before(self, weight: FloatArray) -> FloatArray | None:
        """The weight of what came before each row in its unit; None where that is 1."""
        return None

    def after(self, weights: Weights | None) -> Weights:
        """The weights of a row that a unit lacks: there every policy acts like production."""
        return NO_DIFFERENCE

    def mean(self, values: FloatArray, padding: FloatArray | float) -> FloatArray:
        """The mean of the rows of each unit, with ``padding`` in place of each row that it lacks."""
        if self.starts is None or self.divisor is None:
            return values
        if isinstance(padding, float):
            return cluster_means(values, self.starts, self.divisor, padding)
        lacking = padding * (self.divisor - np.diff(self.starts)) / self.divisor
        return cluster_means(values, self.starts, self.divisor, 0.0) + lacking

    def first(self, values: Any) -> Any:
        return values if self.starts is None else values[self.starts[:-1]]

    def combined(self, values: FloatArray) -> FloatArray:
        """The relative error that each unit may have, from those that its rows may have."""
        return values if self.starts is None or not self.count else np.maximum.reduceat(values, self.starts[:-1])


@dataclass(frozen=True)
class Sequences(Units):
    """Each row of a unit is decided after those before: it is weighted by the product up to it.

    Where a reward does not depend on later actions, its mean given everything before the first row is at most what the
    candidate earns there, if it acts from the first on. After the end of a session the weight stays the last one.
    """

    starts: IntArray
    divisor: FloatArray
    multiplies: ClassVar[bool] = True

    def weights(self, steps: Weights) -> Weights:
        """
        >>> units = Sequences(2, np.array([0, 2, 3]), np.array([2.0, 2.0]))
        >>> units.weights(Weights(np.array([2.0, 1.5, 0.5]), np.array([1.0, 0.5, -0.5])))
        Weights(weight=array([2. , 3. , 0.5]), excess=array([ 1. ,  2. , -0.5]))
        """
        weight, excess = steps.weight.copy(), steps.excess.copy()
        lengths = np.diff(self.starts)
        order = np.argsort(-lengths, kind="stable")
        firsts, sizes = self.starts[:-1][order], lengths[order]
        with np.errstate(over="ignore", invalid="ignore"):
            for place in range(1, int(sizes.max(initial=0))):
                # The rows that stand second in their run, then those that stand third, and so on.
                here = firsts[: np.searchsorted(-sizes, -place)] + place
                weight[here] *= weight[here - 1]
                excess[here] += excess[here - 1] * (1.0 + excess[here])
        return Weights(weight, excess)

    def before(self, weight: FloatArray) -> FloatArray:
        before = np.ones(len(weight))
        before[1:] = weight[:-1]
        before[self.starts[:-1]] = 1.0
        return before

    def after(self, weights: Weights | None) -> Weights:
        assert weights is not None
        last = self.starts[1:] - 1
        return Weights(weights.weight[last], weights.excess[last])

    def combined(self, values: FloatArray) -> FloatArray:
        return np.zeros(0) if self.count == 0 else np.expm1(np.add.reduceat(np.log1p(values), self.starts[:-1]))
