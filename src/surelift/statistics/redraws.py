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
from surelift.errors import UsageError
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic

LANES = 500
SEED = 20240523


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
    kernel, prefix, seed = _kernel(), np.cumsum(logged), np.uint64(SEED)

    def draw(first: int) -> None:
        part = slice(first, first + LANES)
        block = np.uint64(first // LANES)
        kernel(logged, prefix, chances, weights, starts, seed, block, variances[part], expected[part])

    # The kernel lets go of the interpreter, and what a lane draws does not depend on who draws it.
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


_compiled: Any = None


def _kernel() -> Any:
    """Compiled at first use, and kept on disk: numba takes half a second to import."""
    global _compiled
    if _compiled is None:
        from numba import njit

        _compiled = njit(cache=True, nogil=True, fastmath={"contract", "nsz", "arcp", "reassoc"})(_draw_lanes)
    return _compiled


def _draw_lanes(
    logged: FloatArray, prefix: FloatArray, chances: FloatArray, weights: FloatArray, starts: IntArray,
    seed: np.uint64, block: np.uint64, variances: FloatArray, expected: FloatArray,
) -> None:  # fmt: skip
    """Redraw the whole log once in every lane, from the last round to the first."""
    lanes = len(variances)
    suffix = np.zeros(lanes)
    variances[:] = 0.0
    expected[:] = 0.0
    most = 0
    for k in range(len(logged)):
        most = max(most, starts[k + 1] - starts[k])
    # Alias tables: column j holds its own weight below the threshold and another's above it, in 32-bit fixed point.
    threshold = np.empty(most, np.uint64)
    own, other = np.empty(most), np.empty(most)
    scaled = np.empty(most)
    small, large = np.empty(most, np.int64), np.empty(most, np.int64)
    step, first, second = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for k in range(len(logged) - 1, -1, -1):
        start, size = starts[k], starts[k + 1] - starts[k]
        total = 0.0
        for j in range(size):
            total += chances[start + j]
        smalls, larges = 0, 0
        for j in range(size):
            scaled[j] = chances[start + j] / total * size
            own[j] = weights[start + j]
            other[j] = weights[start + j]
            threshold[j] = low
            if scaled[j] < 1.0:
                small[smalls] = j
                smalls += 1
            else:
                large[larges] = j
                larges += 1
        while smalls > 0 and larges > 0:
            smalls -= 1
            poor, rich = small[smalls], large[larges - 1]
            threshold[poor] = np.uint64(scaled[poor] * 4294967295.0)
            other[poor] = weights[start + rich]
            scaled[rich] -= 1.0 - scaled[poor]
            if scaled[rich] < 1.0:
                larges -= 1
                small[smalls] = rich
                smalls += 1
        columns = np.uint64(size)
        weight, before = logged[k], prefix[k - 1] if k > 0 else 0.0
        counter = (np.uint64(k) + block * np.uint64(len(logged))) * np.uint64(LANES) + seed * step
        for lane in range(lanes):
            word = (counter + np.uint64(lane)) * step
            word = (word ^ (word >> np.uint64(30))) * first
            word = (word ^ (word >> np.uint64(27))) * second
            scaled_word = ((word ^ (word >> np.uint64(31))) >> half) * columns
            column = np.int64(scaled_word >> half)
            redrawn = own[column] if (scaled_word & low) <= threshold[column] else other[column]
            others = before + suffix[lane]
            mixed, swapped = others + weight, others + redrawn
            # weight / mixed + redrawn / swapped, with one division where neither sum is zero.
            product = mixed * swapped
            if product > 0.0:
                change = (weight * swapped + redrawn * mixed) / product
            else:
                change = (1.0 if mixed > 0.0 else 0.0) + (1.0 if swapped > 0.0 else 0.0)
            variances[lane] += change * change
            expected[lane] += redrawn * redrawn
            suffix[lane] += redrawn
    for lane in range(lanes):
        expected[lane] = expected[lane] / (suffix[lane] * suffix[lane]) if suffix[lane] > 0.0 else 1.0


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

    def of(self, reading: Reading, groups: Groups) -> Sequence[WholeLog]:
        rounds, found = reading.rounds, reading.probabilities[self.candidate]
        if rounds.logging is None or found.vectors is None:
            raise UsageError(
                f"efron-stein redraws actions, so it needs the whole distributions: production's in logging=, and policy "
                f"{self.candidate!r} as a vector over actions."
            )
        chances, wanted = rounds.logging, found.vectors.values
        weights = np.divide(wanted, chances.values, out=np.zeros_like(wanted), where=chances.values > 0.0)
        # An action that production cannot take has an infinite weight there.
        beyond = (chances.values == 0.0) & (wanted > 0.0)
        moments = chances.fold(np.add, np.where(beyond, np.inf, wanted * weights), empty=0.0)
        logged = 1.0 + found.excess(rounds.propensity)
        states = []
        for rows in groups.split(np.arange(rounds.size)):
            inside = np.zeros(rounds.size, dtype=np.bool_)
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
