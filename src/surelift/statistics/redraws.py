"""The weights of one policy over all rounds and all actions: what the Efron-Stein bound redraws.

It adds up by laying parts end to end, so its memory grows with the log, and it needs the rounds in their order.
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
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Proxies:
    r"""With Z_k the weights up to k and redrawn ones beyond, and w' redrawn:

    ``variance`` is the sum over k of E[(w_k/Z_k + w'_k/(Z_k - w_k + w'_k))^2], ``expected`` that of
    E[(w'_k / sum w')^2], each with its Monte-Carlo standard error; ``second_moment`` is the sum of pi^2/pi0.
    """

    variance: float
    expected: float
    variance_error: float
    expected_error: float
    second_moment: float
    draws: int


def proxies_of(
    logged: FloatArray, chances: FloatArray, weights: FloatArray, starts: IntArray, second_moment: float, *, draws: int
) -> Proxies:
    """Redraw the whole log ``draws`` times."""
    variances, expected = np.empty(draws), np.empty(draws)

    def draw(first: int) -> None:
        part = slice(first, min(first + LANES, draws))
        variances[part], expected[part] = redraw(
            logged, chances, weights, starts, block=first // LANES, lanes=part.stop - first
        )

    # The loop lets go of the interpreter, and what a lane draws does not depend on who draws it.
    with ThreadPoolExecutor() as pool:
        list(pool.map(draw, range(0, draws, LANES)))
    return Proxies(
        float(variances.mean()),
        float(expected.mean()),
        float(variances.std() / math.sqrt(draws)),
        float(expected.std() / math.sqrt(draws)),
        second_moment,
        draws,
    )


@dataclass(frozen=True, eq=False)
class WholeLog:
    logged: FloatArray
    chances: FloatArray
    weights: FloatArray
    lengths: IntArray
    second_moment: float
    draws: int

    def __add__(self, other: "WholeLog") -> "WholeLog":
        return WholeLog(
            np.concatenate([self.logged, other.logged]),
            np.concatenate([self.chances, other.chances]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.lengths, other.lengths]),
            self.second_moment + other.second_moment,
            self.draws,
        )

    @cached_property
    def proxies(self) -> Proxies:
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        return proxies_of(self.logged, self.chances, self.weights, starts, self.second_moment, draws=self.draws)


@dataclass(frozen=True, slots=True)
class Redraws(Statistic):
    label: ClassVar[str] = "what efron-stein redraws, which is the whole log in its order"
    needs_order: ClassVar[bool] = True
    candidate: str
    draws: int

    def of(self, batch: Batch, groups: Groups) -> Sequence[WholeLog]:
        logging, found, size = batch.decisions.logging, batch.policies[self.candidate], batch.size
        if logging is None or found.vectors is None:
            raise UsageError(
                f"efron-stein redraws actions, so it needs the whole distributions: production's in logging=, and policy "
                f"{self.candidate!r} as a vector over actions."
            )
        chances, wanted = logging, found.vectors.values
        weights = np.divide(wanted, chances.values, out=np.zeros_like(wanted), where=chances.values > 0.0)
        # An action that production cannot take has an infinite weight there.
        beyond = (chances.values == 0.0) & (wanted > 0.0)
        moments = chances.fold(np.add, np.where(beyond, np.inf, wanted * weights), empty=0.0)
        logged = 1.0 + found.excess(batch.propensity)
        states = []
        for rows in groups.split(np.arange(size)):
            inside = np.zeros(size, dtype=np.bool_)
            inside[rows] = True
            entries = np.repeat(inside, chances.lengths)
            states.append(
                WholeLog(
                    logged[rows], chances.values[entries], weights[entries], chances.lengths[rows],
                    float(moments[rows].sum()), self.draws,
                )
            )  # fmt: skip
        return states

    def encode(self, state: Any) -> Any:
        arrays = (state.logged, state.chances, state.weights, state.lengths)
        moment = None if state.second_moment == float("inf") else state.second_moment
        return [*(array.tolist() for array in arrays), moment, state.draws]

    def decode(self, content: Any) -> Any:
        logged, chances, weights, lengths, moment, draws = content
        logged, chances, weights = (np.array(array, dtype=np.float64) for array in (logged, chances, weights))
        lengths = np.array(lengths, dtype=np.int64)
        return WholeLog(logged, chances, weights, lengths, float("inf") if moment is None else moment, draws)
