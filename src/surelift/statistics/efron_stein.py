"""The variance proxies of the Efron-Stein bound: Monte-Carlo over actions redrawn from production's distributions.

They depend on the order of the rounds and on all of them at once, so they do not add up. Draws run in lanes of a few
hundred whose suffix sums stay in the processor's cache; memory grows with the log and not with the draws.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray

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
