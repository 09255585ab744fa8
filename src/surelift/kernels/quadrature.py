"""The probabilities of a Gaussian argmax and their gradients, by the trapezoid rule on a table of log Phi.

For standardised scores d, the probability of action a is the sum of m(z_a) exp(sum_b log Phi(z_b)) over evenly spaced
nodes t, with z = t - d and m = phi/Phi. Between the entries of the table, a Taylor step of fourth order is taken.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.kernels.library import Packed, compiled

_AT_ONCE = 1 << 15


class Quadrature(NamedTuple):
    """Evenly spaced nodes, at most 256, around the largest score, and a table of log Phi at phases between them."""

    first: float
    last: float
    nodes: int
    phases: int
    farthest: float  # actions this far below the best have no effect, to the precision of the quadrature
    least: float  # densities with a logarithm below this are taken as 0
    smallest: float  # smaller entries of the table are set to 0, so that products never become subnormal
    single: bool = False  # whether to compute in single precision

    @property
    def real(self) -> Any:
        return np.float32 if self.single else np.float64

    @property
    def step(self) -> float:
        return (self.last - self.first) / (self.nodes - 1)


@cache
def _table(rule: Quadrature) -> FloatArray:
    """(phases, 5, entries): log Phi and the coefficients of its Taylor step, at every phase between the nodes."""
    from scipy.special import log_ndtr  # only here, since a policy that is served may do without

    entries = rule.nodes + math.ceil(rule.farthest / rule.step) + 2
    z = rule.first + (np.arange(entries)[None, :] + np.arange(rule.phases)[:, None] / rule.phases) * rule.step
    f = log_ndtr(z)
    ratio = np.exp(-0.5 * z * z - f) / math.sqrt(2.0 * math.pi)
    second = -ratio * (z + ratio)
    third = -second * (z + ratio) - ratio * (1.0 + second)
    fourth = -third * (z + 2.0 * ratio) - 2.0 * second * (1.0 + second)
    table = np.stack([f, ratio, second / 2.0, third / 6.0, fourth / 24.0], axis=1)
    table[np.abs(table) < rule.smallest] = 0.0
    return table.astype(rule.real)


def all_probabilities(scores: FloatArray, rule: Quadrature) -> FloatArray:
    """The probability of every action of every row, (rows, actions)."""
    out = np.empty(scores.shape, rule.real)
    if not _by_library("all_probabilities", scores, (), rule, out):
        for rows, density, _, ratio in _nodes(scores, rule):
            out[rows] = np.einsum("rs,ras->ra", density, ratio)
    return out


def all_slopes(scores: FloatArray, worth: FloatArray, rule: Quadrature) -> FloatArray:
    """The gradient of sum_a worth_a p_a with respect to the scores, for every row."""
    out, worth = np.empty(scores.shape, rule.real), worth.astype(rule.real, copy=False)
    if not _by_library("all_slopes", scores, (worth,), rule, out):
        for rows, density, z, ratio in _nodes(scores, rule):
            own = worth[rows, :, None]
            mixed = (own * ratio).sum(axis=1, keepdims=True)
            out[rows] = np.einsum("rs,ras->ra", density, ratio * (own * (z + ratio) - mixed))
    return out


def logged_probability(scores: FloatArray, action: IntArray, rule: Quadrature) -> tuple[FloatArray, FloatArray]:
    """The probability of one action per row and its gradient with respect to the scores, in one pass."""
    probability, out = np.empty(len(scores), rule.real), np.empty(scores.shape, rule.real)
    action = action.astype(np.int64, copy=False)
    if not _by_library("logged_probability", scores, (action,), rule, probability, out):
        for rows, density, z, ratio in _nodes(scores, rule):
            logged = np.arange(len(density)), action[rows]
            density *= ratio[logged]
            probability[rows] = density.sum(axis=1)
            out[rows] = -np.einsum("rs,ras->ra", density, ratio)
            out[rows][logged] = (density * z[logged]).sum(axis=1)
    return probability, out


def _by_library(name: str, scores: FloatArray, others: tuple[Any, ...], rule: Quadrature, *outs: FloatArray) -> bool:
    library, table = compiled(), _table(rule)
    if library is None:
        return False
    settings = Packed(rule.first, rule.step, rule.farthest, rule.least, rule.nodes, rule.phases, table.shape[2])
    name, scores = f"{name}_{32 if rule.single else 64}", scores.astype(np.float64, copy=False)
    library.call(name, scores, *others, *scores.shape, settings, table, *outs)
    return True


def _nodes(scores: FloatArray, rule: Quadrature) -> Iterator[tuple[slice, FloatArray, FloatArray, FloatArray]]:
    """Some rows at once: exp(sum_b log Phi(z_b)) times the step, (rows, nodes); z and m(z), (rows, actions, nodes)."""
    at_once = max(1, _AT_ONCE // (scores.shape[1] * rule.nodes))
    windows = np.lib.stride_tricks.sliding_window_view(_table(rule), rule.nodes, axis=2)
    least = rule.real(rule.least)
    for rows in [slice(start, start + at_once) for start in range(0, len(scores), at_once)]:
        part = scores[rows].astype(np.float64)
        gap = part.max(axis=1, keepdims=True) - part
        near = (gap < rule.farthest)[:, :, None]
        fine = np.where(gap < rule.farthest, gap, 0.0) * (rule.phases / rule.step)
        nearest = (fine + 0.5).astype(np.int64)
        t = ((fine - nearest) * (rule.step / rule.phases)).astype(rule.real)[:, :, None]
        f, f1, f2, f3, f4 = (windows[:, k][nearest % rule.phases, nearest // rule.phases] for k in range(5))
        logarithms = np.where(near, f + t * (f1 + t * (f2 + t * (f3 + t * f4))), 0.0).sum(axis=1, dtype=rule.real)
        density = np.where(logarithms > least, np.exp(np.maximum(logarithms, least)) * rule.real(rule.step), 0.0)
        ratio = np.where(near, f1 + 2 * t * f2 + 3 * t * t * f3 + 4 * t * t * t * f4, 0.0)
        z = (rule.first + gap).astype(rule.real)[:, :, None] + np.arange(rule.nodes) * rule.real(rule.step)
        yield rows, density, z.astype(rule.real), ratio
