"""Compiled loops for the probabilities of a Gaussian argmax.

With z = t - d_a for the standardised score d_a of each action, measured from the largest, the density of "the largest score
is t and belongs to action a" is m(z_a) exp(sum_b log Phi(z_b)), where m = phi/Phi: one sum over the actions serves them all.
The nodes t are evenly spaced, so for one action all of them have the same phase between the entries of a table of log Phi,
and a fourth-order Taylor step from the nearest phase takes a few multiplications per node and no error function.

Two things make the loops fast: indices into the table are unsigned, which saves the check for negative ones; and nothing
becomes subnormal, which would be a hundred times slower.
"""

import math

import numpy as np
from numba import njit

FAST = {"contract", "nsz", "arcp", "reassoc", "nnan"}
Index = np.uint64


@njit(cache=True, nogil=True)
def _entries(table, rule):
    return Index(len(table) // (5 * rule.phases))


@njit(cache=True, nogil=True)
def _step(rule):
    return (rule.last - rule.first) / (rule.nodes - 1)


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_logarithms(total, table, o, entries, t):
    o1, o2, o3, o4 = o + entries, o + entries * Index(2), o + entries * Index(3), o + entries * Index(4)
    for i in range(len(total)):
        s = Index(i)
        total[i] += table[o + s] + t * (table[o1 + s] + t * (table[o2 + s] + t * (table[o3 + s] + t * table[o4 + s])))


@njit(cache=True, nogil=True, fastmath=FAST)
def _ratios(table, o, entries, t, out):
    """m(z), the derivative of log Phi, at every node."""
    real = out.dtype.type
    second, third, fourth = real(2.0) * t, real(3.0) * t * t, real(4.0) * t * t * t
    o1, o2, o3, o4 = o + entries, o + entries * Index(2), o + entries * Index(3), o + entries * Index(4)
    for i in range(len(out)):
        s = Index(i)
        out[i] = table[o1 + s] + second * table[o2 + s] + third * table[o3 + s] + fourth * table[o4 + s]


@njit(cache=True, nogil=True, fastmath=FAST)
def _ratios_times(table, o, entries, t, factor):
    """sum_s factor m(z)."""
    real = factor.dtype.type
    second, third, fourth = real(2.0) * t, real(3.0) * t * t, real(4.0) * t * t * t
    o1, o2, o3, o4 = o + entries, o + entries * Index(2), o + entries * Index(3), o + entries * Index(4)
    total = real(0.0)
    for i in range(len(factor)):
        s = Index(i)
        total += factor[i] * (table[o1 + s] + second * table[o2 + s] + third * table[o3 + s] + fourth * table[o4 + s])
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_scaled(total, x, factor):
    for s in range(len(total)):
        total[s] += factor * x[s]


@njit(cache=True, nogil=True, fastmath=FAST)
def _split_exponentials(x, least, powers):
    """exp(x) = y 2^k in float32: y goes into x, the bits of 2^k into ``powers``."""
    real = np.float32
    for s in range(len(x)):
        scaled = max(real(x[s]), real(least)) * real(1.4426950408889634)
        k = np.floor(scaled + real(0.5))
        r = (scaled - k) * real(0.6931471805599453)
        y = real(1 / 24) + r * (real(1 / 120) + r * real(1 / 720))
        y = real(1.0) + r * (real(1.0) + r * (real(1 / 2) + r * (real(1 / 6) + r * y)))
        powers[s] = (np.int32(k) + np.int32(127)) << np.int32(23)
        x[s] = y if x[s] > real(least) else real(0.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def _multiply(x, y, factor):
    for s in range(len(x)):
        x[s] *= y[s] * factor


@njit(cache=True, nogil=True)
def _exponentials(x, factor, least, powers):
    """factor exp(x), and 0 where x is below ``least``."""
    if x.itemsize == 4:
        _split_exponentials(x, least, powers)
        _multiply(x, powers.view(np.float32), x.dtype.type(factor))
    else:
        for s in range(len(x)):
            x[s] = factor * math.exp(x[s]) if x[s] > least else 0.0


@njit(cache=True, nogil=True)
def _densities(scores, table, rule, near, indices, steps, powers, out):
    """Write exp(sum_b log Phi(z_b)) times the step, and each action's index and Taylor step; return the best score."""
    phases, entries, step, farthest, least = rule.phases, _entries(table, rule), _step(rule), rule.farthest, rule.least
    out[:] = 0.0
    best = np.float64(scores[0])
    for b in range(1, len(scores)):
        best = max(best, np.float64(scores[b]))
    for b in range(len(scores)):
        gap = best - scores[b]
        near[b] = gap < farthest
        if near[b]:
            fine = gap * (phases / step)
            nearest = Index(fine + 0.5)
            indices[b] = (nearest & Index(phases - 1)) * Index(5) * entries + nearest // Index(phases)
            steps[b] = (fine - nearest) * (step / phases)
            _add_logarithms(out, table, indices[b], entries, steps[b])
    _exponentials(out, step, least, powers)
    return best


@njit(cache=True, nogil=True)
def all_probabilities(scores, table, rule, out):
    """The probability of every action of every row, (rows, actions)."""
    actions, nodes, entries = scores.shape[1], rule.nodes, _entries(table, rule)
    near, indices, steps = np.empty(actions, np.bool_), np.empty(actions, Index), np.empty(actions, table.dtype)
    density, powers = np.empty(nodes, table.dtype), np.empty(nodes, np.int32)
    for i in range(len(scores)):
        _densities(scores[i], table, rule, near, indices, steps, powers, density)
        for a in range(actions):
            out[i, a] = _ratios_times(table, indices[a], entries, steps[a], density) if near[a] else 0.0


@njit(cache=True, nogil=True, fastmath=FAST)
def _slope(density, ratio, mixed, own, z, step):
    """sum_s density m (own (z + m) - mixed)."""
    real = density.dtype.type
    total = real(0.0)
    for s in range(len(density)):
        total += density[s] * ratio[s] * (own * (z + real(s) * step + ratio[s]) - mixed[s])
    return total


@njit(cache=True, nogil=True)
def all_slopes(scores, worth, table, rule, out):
    """The gradient of sum_a worth_a p_a with respect to the standardised scores, for every row."""
    actions, nodes, entries, real = scores.shape[1], rule.nodes, _entries(table, rule), table.dtype.type
    near, indices, steps = np.empty(actions, np.bool_), np.empty(actions, Index), np.empty(actions, table.dtype)
    density, powers = np.empty(nodes, table.dtype), np.empty(nodes, np.int32)
    mixed, kept = np.empty(nodes, table.dtype), np.empty((actions, nodes), table.dtype)
    for i in range(len(scores)):
        best = _densities(scores[i], table, rule, near, indices, steps, powers, density)
        mixed[:] = 0.0
        for a in range(actions):
            if near[a]:
                _ratios(table, indices[a], entries, steps[a], kept[a])
                _add_scaled(mixed, kept[a], real(worth[i, a]))
        for a in range(actions):
            out[i, a] = 0.0
            if near[a]:
                z = real(rule.first + (best - scores[i, a]))
                out[i, a] = _slope(density, kept[a], mixed, real(worth[i, a]), z, real(_step(rule)))


@njit(cache=True, nogil=True, fastmath=FAST)
def _own_slope(density, ratio, z, step):
    """Multiply the density by m; returns its sum, and its sum weighted by z."""
    real = density.dtype.type
    total, own = real(0.0), real(0.0)
    for s in range(len(density)):
        density[s] *= ratio[s]
        total += density[s]
        own += density[s] * (z + real(s) * step)
    return total, own


@njit(cache=True, nogil=True)
def logged_probability(scores, action, table, rule, probability, slopes):
    """The probability of one action per row and its gradient with respect to the standardised scores, in one pass."""
    actions, nodes, entries, real = scores.shape[1], rule.nodes, _entries(table, rule), table.dtype.type
    near, indices, steps = np.empty(actions, np.bool_), np.empty(actions, Index), np.empty(actions, table.dtype)
    density, ratio, powers = np.empty(nodes, table.dtype), np.empty(nodes, table.dtype), np.empty(nodes, np.int32)
    for i in range(len(scores)):
        best = _densities(scores[i], table, rule, near, indices, steps, powers, density)
        a = action[i]
        probability[i] = 0.0
        slopes[i, :] = 0.0
        if near[a]:
            _ratios(table, indices[a], entries, steps[a], ratio)
            total, own = _own_slope(density, ratio, real(rule.first + (best - scores[i, a])), real(_step(rule)))
            for b in range(actions):
                if near[b]:
                    slopes[i, b] = -_ratios_times(table, indices[b], entries, steps[b], density)
            probability[i], slopes[i, a] = total, own
