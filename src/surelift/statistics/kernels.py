"""Compiled loops. Imported at first use: numba takes half a second to load, and small logs do without.

**Log sums.** For factors 1 + y >= 1, q = prod(1 + y) - 1 is kept instead of the product: (1 + a)(1 + b) - 1 = (a + b) + ab
adds and multiplies numbers that are never negative, so that nothing cancels, however small the y. Of eight rows,
prod(1 + lam x_i) - 1 is a polynomial in lam whose coefficients, the elementary symmetric sums of the x_i, serve every lam.
A block of rows then costs one logarithm for each lam, and blocks are added up with compensation.
"""

import math

import numpy as np
from numba import njit

from surelift.arrays import FloatArray

FAST = {"contract", "nsz", "arcp"}
BLOCK, GROUPS = 4096, 512
BIG = 1e300
LOG_2 = math.log(2.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def _symmetric_sums(x, e):
    """Of the eight rows x[j], x[j + 512], ..., the sums e[0][j] of them, e[1][j] of products of two, up to all eight."""
    a0, a1, a2, a3 = x[:GROUPS], x[GROUPS : 2 * GROUPS], x[2 * GROUPS : 3 * GROUPS], x[3 * GROUPS : 4 * GROUPS]
    b0, b1 = x[4 * GROUPS : 5 * GROUPS], x[5 * GROUPS : 6 * GROUPS]
    b2, b3 = x[6 * GROUPS : 7 * GROUPS], x[7 * GROUPS : 8 * GROUPS]
    e0, e1, e2, e3, e4, e5, e6, e7 = e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]
    for j in range(GROUPS):
        s, p, t, r = a0[j] + a1[j], a0[j] * a1[j], a2[j] + a3[j], a2[j] * a3[j]
        f1, f2, f3, f4 = s + t, p + r + s * t, p * t + r * s, p * r
        s, p, t, r = b0[j] + b1[j], b0[j] * b1[j], b2[j] + b3[j], b2[j] * b3[j]
        g1, g2, g3, g4 = s + t, p + r + s * t, p * t + r * s, p * r
        e0[j] = f1 + g1
        e1[j] = f2 + f1 * g1 + g2
        e2[j] = f3 + f2 * g1 + f1 * g2 + g3
        e3[j] = f4 + f3 * g1 + f2 * g2 + f1 * g3 + g4
        e4[j] = f4 * g1 + f3 * g2 + f2 * g3 + f1 * g4
        e5[j] = f4 * g2 + f3 * g3 + f2 * g4
        e6[j] = f4 * g3 + f3 * g4
        e7[j] = f4 * g4


@njit(cache=True, nogil=True, fastmath=FAST)
def _two_polynomials(e, u, v, x, y):
    """u and v: the products of eight factors, minus 1, for two smoothings at once, which share the loads."""
    e0, e1, e2, e3, e4, e5, e6, e7 = e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]
    for j in range(GROUPS):
        c0, c1, c2, c3, c4, c5, c6, c7 = e0[j], e1[j], e2[j], e3[j], e4[j], e5[j], e6[j], e7[j]
        u[j] = x * (c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * c7)))))))
        v[j] = y * (c0 + y * (c1 + y * (c2 + y * (c3 + y * (c4 + y * (c5 + y * (c6 + y * c7)))))))


@njit(cache=True, nogil=True, fastmath=FAST)
def _two_polynomials_of_sixteen(e, u, v, x, y):
    """The same for sixteen rows: two groups of eight at once, put together before they are stored."""
    e0, e1, e2, e3, e4, e5, e6, e7 = e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]
    half = GROUPS // 2
    f0, f1, f2, f3 = e0[half:], e1[half:], e2[half:], e3[half:]
    f4, f5, f6, f7 = e4[half:], e5[half:], e6[half:], e7[half:]
    for j in range(half):
        c0, c1, c2, c3, c4, c5, c6, c7 = e0[j], e1[j], e2[j], e3[j], e4[j], e5[j], e6[j], e7[j]
        a = x * (c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * c7)))))))
        b = y * (c0 + y * (c1 + y * (c2 + y * (c3 + y * (c4 + y * (c5 + y * (c6 + y * c7)))))))
        c0, c1, c2, c3, c4, c5, c6, c7 = f0[j], f1[j], f2[j], f3[j], f4[j], f5[j], f6[j], f7[j]
        c = x * (c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * c7)))))))
        d = y * (c0 + y * (c1 + y * (c2 + y * (c3 + y * (c4 + y * (c5 + y * (c6 + y * c7)))))))
        u[j] = (a + c) + a * c
        v[j] = (b + d) + b * d


@njit(cache=True, nogil=True, fastmath=FAST)
def _fold(u, half):
    """Put the products in the two halves of u[: 2 half] together."""
    low, high = u[:half], u[half : 2 * half]
    for j in range(half):
        a, b = low[j], high[j]
        low[j] = (a + b) + a * b


@njit(cache=True, nogil=True)
def _logarithm(u):
    """The sum of log(1 + u_j), or infinity where a product has grown too large to be one."""
    product, powers = 1.0, 0
    for j in range(len(u)):
        if not u[j] < BIG:
            return math.inf
        fraction, power = math.frexp(1.0 + u[j])
        product *= fraction
        powers += power
    total = powers * LOG_2 + math.log(product)
    if total > 8.0 * len(u):
        return total
    # What rounding 1 + u took away would count.
    total, lost = 0.0, 0.0
    for j in range(len(u)):
        total, lost = _added(total, lost, math.log1p(u[j]))
    return total + lost


@njit(cache=True, nogil=True)
def _log_products(e, u, v, x, y, width):
    """The log sums of a block for two smoothings, of products of 4096/width rows each."""
    if width == GROUPS:
        _two_polynomials(e, u, v, x, y)
    else:
        _two_polynomials_of_sixteen(e, u, v, x, y)
        half = GROUPS // 4
        while half >= width:
            _fold(u, half)
            _fold(v, half)
            half //= 2
    if width == 1:
        return (math.log1p(u[0]) if u[0] < BIG else math.inf), (math.log1p(v[0]) if v[0] < BIG else math.inf)
    return _logarithm(u[:width]), _logarithm(v[:width])


@njit(cache=True, nogil=True)
def _added(total, lost, term):
    """Neumaier's sum: what the total cannot hold is kept apart."""
    grown = total + term
    lost += (total - grown) + term if total >= term else (term - grown) + total
    return grown, lost


@njit(cache=True, nogil=True)
def _directly(x, smoothing):
    """One logarithm a row, also where the product overflows."""
    total, lost = 0.0, 0.0
    for i in range(len(x)):
        y = smoothing * x[i]
        term = math.log1p(y) if y < math.inf else math.log(smoothing) + math.log(x[i])
        total, lost = _added(total, lost, term)
    return total + lost


@njit(cache=True, nogil=True)
def add_block(block, smoothings, totals, lost, widths, e, u, v):
    """Add one block of 4096 rows to the log sums of every smoothing."""
    _symmetric_sums(block, e)
    for k in range(0, len(smoothings), 2):
        other = min(k + 1, len(smoothings) - 1)
        first, second = smoothings[k], smoothings[other]
        while True:
            a, b = _log_products(e, u, v, first, second, widths[k])
            if (a < BIG and b < BIG) or widths[k] == GROUPS:
                break
            # Where products of a whole block overflow they are split earlier: into 16, or 512.
            widths[k] = 16 if widths[k] == 1 else GROUPS
        if not a < BIG:
            a = _directly(block, first)
        if not b < BIG:
            b = _directly(block, second)
        totals[k], lost[k] = _added(totals[k], lost[k], a)
        if other > k:
            totals[other], lost[other] = _added(totals[other], lost[other], b)


@njit(cache=True, nogil=True)
def add_log_sums(x, smoothings, totals, lost):
    """Add sum_i log(1 + smoothing x_i), x >= 0, to ``totals`` for every smoothing; ``lost`` keeps what a sum cannot hold."""
    e, u, v, padded = np.empty((8, GROUPS)), np.empty(GROUPS), np.empty(GROUPS), np.zeros(BLOCK)
    widths = np.ones(len(smoothings), np.int64)
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        if len(block) < BLOCK:
            padded[: len(block)] = block
            padded[len(block) :] = 0.0
            block = padded
        add_block(block, smoothings, totals, lost, widths, e, u, v)


def log_sums(x: FloatArray, smoothings: FloatArray) -> FloatArray:
    """sum_i log(1 + smoothing x_i) for every smoothing, x >= 0.

    >>> log_sums(np.array([2.0, 0.0]), np.array([0.5])).round(6).tolist()
    [0.693147]
    """
    totals, lost = np.zeros(len(smoothings)), np.zeros(len(smoothings))
    add_log_sums(np.ascontiguousarray(x), np.ascontiguousarray(smoothings), totals, lost)
    return totals + lost


@njit(cache=True, nogil=True, fastmath=FAST | {"nnan"})
def _capped_means(expected, shares, caps, means):
    """sum_a min(expected_a, cap share_a) for every cap."""
    means[:] = 0.0
    for a in range(len(expected)):
        whole, share = expected[a], shares[a]
        for j in range(len(caps)):
            means[j] += min(whole, caps[j] * share)


@njit(cache=True, nogil=True, fastmath=FAST | {"nnan"})
def _grow(products, means, caps, offsets, smoothings, value, off):
    """Multiply every product by its factor; says whether all terms were above their floors and all products small."""
    above, small = True, True
    for j in range(len(products)):
        term = value + means[j] - min(off, caps[j]) + offsets[j]
        above &= term >= 0.0
        y = smoothings[j] * max(term, 0.0)
        product = (products[j] + y) + products[j] * y
        small &= product < 1e140
        products[j] = product
    return above, small


@njit(cache=True, nogil=True)
def controlled_log_sums(values, taken, expected, shares, starts, caps, offsets, smoothings, totals):
    """Add sum_i log(1 + smoothing (value_i - min(taken_i, cap) + its mean + offset)) for every cap; the deepest shortfall.

    ``expected`` and ``shares`` hold, for every action of every round laid end to end, what would be taken off and how often
    production takes it. What is returned says by how much, relative to 1 + offset, a term fell below its floor.
    """
    size = len(caps)
    # Filled up to whole vectors with components that add nothing.
    padded = (size + 7) // 8 * 8
    cap, offset, smoothing = np.zeros(padded), np.zeros(padded), np.zeros(padded)
    cap[:size], offset[:size], smoothing[:size] = caps, offsets, smoothings
    means, products, lost = np.empty(padded), np.zeros(padded), np.zeros(padded)
    deepest = 0.0
    for i in range(len(values)):
        _capped_means(expected[starts[i] : starts[i + 1]], shares[starts[i] : starts[i + 1]], cap, means)
        above, small = _grow(products, means, cap, offset, smoothing, values[i], taken[i])
        if not above:
            for j in range(size):
                term = values[i] + means[j] - min(taken[i], cap[j]) + offset[j]
                deepest = max(deepest, -term / (1.0 + offset[j]))
        if not small or i % 1024 == 1023:
            _settle(products[:size], totals, lost)
    _settle(products[:size], totals, lost)
    for j in range(size):
        totals[j] += lost[j]
    return deepest


@njit(cache=True, nogil=True)
def _settle(products, totals, lost):
    """Take the logarithm of the products so far, and begin anew."""
    for j in range(len(products)):
        totals[j], lost[j] = _added(totals[j], lost[j], math.log1p(products[j]))
        products[j] = 0.0
