"""All sums of a batch of plain columns in one compiled pass. Imported at first use, as ``kernels`` is.

Columns are taken in blocks that stay in the processor's cache: validated, hashed, weighed and turned into terms, and
whole blocks of terms into log sums. Loops are plain and long, and slices are made before them: that is what compiles well.
"""

import numpy as np
from numba import njit

from surelift.statistics.kernels import BLOCK, GROUPS, add_block

# Plain sums of a block may be added in any order, and were looked through for what is no number.
SUMS = {"contract", "nsz", "arcp", "reassoc", "nnan"}
SMALLEST_PROPENSITY = 1e-150


@njit(cache=True, nogil=True)
def _mix(values, low, high, seeds):
    """Mix a column into both lanes of the hashes of its rounds: what ``RoundHashes.mix`` does."""
    bits, first, second = values.view(np.uint64), seeds[0], seeds[1]
    for i in range(len(values)):
        read = bits[i] if values[i] != 0.0 else np.uint64(0)
        word, other = (low[i] ^ read) * first, (high[i] ^ read) * second
        low[i] = word ^ (word >> np.uint64(29))
        high[i] = other ^ (other >> np.uint64(29))


@njit(cache=True, nogil=True)
def _finish(lane, totals, place):
    """Scramble every word, and add the lower and the upper 32 bits apart: neither sum can overflow."""
    first, second = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    low, high = np.uint64(0), np.uint64(0)
    for i in range(len(lane)):
        word = lane[i]
        word = (word ^ (word >> np.uint64(30))) * first
        word = (word ^ (word >> np.uint64(27))) * second
        word = word ^ (word >> np.uint64(31))
        low += word & np.uint64(0xFFFFFFFF)
        high += word >> np.uint64(32)
    totals[place] += low
    totals[place + 1] += high


@njit(cache=True, nogil=True)
def _copy_within(source, target, least, most, least_excluded):
    """Copy numbers as float64, and say whether all lie from ``least`` (itself excluded, or not) to ``most``."""
    fine = True
    if least_excluded:
        for i in range(len(source)):
            value = np.float64(source[i])
            target[i] = value
            fine &= (value > least) & (value <= most)
    else:
        for i in range(len(source)):
            value = np.float64(source[i])
            target[i] = value
            fine &= (value >= least) & (value <= most)
    return fine


# Python's division looks for a zero each time, which keeps a loop from taking many at once.
@njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")
def _weigh(probability, propensity, alpha, weight, excess):
    """Weights, and weights minus 1, of a mixture: the sum, and the sum of squares."""
    total, squares = 0.0, 0.0
    for i in range(len(propensity)):
        q = propensity[i]
        p = min(probability[i], 1.0)
        inverse = 1.0 / q
        w = ((1.0 - alpha) * q + alpha * p) * inverse
        weight[i] = w
        excess[i] = alpha * ((p - q) * inverse)
        total += w
        squares += w * w
    return total, squares


@njit(cache=True, nogil=True)
def _largest(values):
    """Of numbers that are not negative: their bits are in the same order, and integers are compared many at a time."""
    bits = values.view(np.int64)
    top = np.int64(0)
    for i in range(len(bits)):
        top = bits[i] if bits[i] > top else top
    found = np.empty(1, np.int64)
    found[0] = top
    return found.view(np.float64)[0]


@njit(cache=True, nogil=True)
def _smallest(values):
    bits = values.view(np.int64)
    least = bits[0]
    for i in range(len(bits)):
        least = bits[i] if bits[i] < least else least
    found = np.empty(1, np.int64)
    found[0] = least
    return found.view(np.float64)[0]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _total(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@njit(cache=True, nogil=True)
def _where(values, places):
    """Where values are not zero, without a branch: each place is written down, and kept if so."""
    count = 0
    for i in range(len(values)):
        places[count] = i
        count += values[i] != 0.0
    return count


@njit(cache=True, nogil=True, fastmath=SUMS)
def _all_terms(factor, reward, complement, offset, waiting):
    """factor r, or factor (1 - r), plus the offset; the sum of the terms without it, and the sum of their squares."""
    sign, shift = (-1.0, 1.0) if complement else (1.0, 0.0)
    total, squares = 0.0, 0.0
    for i in range(len(reward)):
        term = factor[i] * (shift + sign * reward[i])
        # A term may fall below its floor by rounding, never by more: no weight of a mixture is below its smallest.
        waiting[i] = max(term + offset, 0.0)
        total += term
        squares += term * term
    return total, squares


@njit(cache=True, nogil=True)
def _some_terms(factor, reward, places, offset, waiting):
    """The same, for the rounds in ``places`` only: the others earned nothing."""
    total, squares = 0.0, 0.0
    for i in range(len(places)):
        term = factor[places[i]] * reward[places[i]]
        waiting[i] = max(term + offset, 0.0)
        total += term
        squares += term * term
    return total, squares


@njit(cache=True, nogil=True)
def add_up_batch(
    raw_reward, raw_propensity, candidates, alphas, most, reward_from, reward_to, reward_zero, reward_divisor,
    term_candidate, term_paired, term_complement, term_offset, term_first, smoothings, seeds,
    totals, lost, zeros, moments, weights, hashes, others,
):  # fmt: skip
    """All sums of a batch of plain columns in one pass, block by block; False where a value is out of range.

    A round without a reward adds a constant, log(1 + smoothing offset), to what is about the reward: where most are such,
    they are only counted.
    """
    rows, terms, names = len(raw_reward), len(term_candidate), len(candidates)
    reward, raw, propensity, probability = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    weight, excess = np.empty((names, BLOCK)), np.empty((names, BLOCK))
    places = np.empty(BLOCK + 1, np.int64)
    low, high = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    pending, filled = np.zeros((terms, 2 * BLOCK)), np.zeros(terms, np.int64)
    widths = np.ones(len(smoothings), np.int64)
    e, u, v = np.empty((8, GROUPS)), np.empty(GROUPS), np.empty(GROUPS)
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        fine = _copy_within(raw_reward[start : start + count], raw, reward_from, reward_to, False)
        fine &= _copy_within(raw_propensity[start : start + count], propensity, SMALLEST_PROPENSITY, most[0], True)
        if not fine:
            return False
        if reward_zero == 0.0 and reward_divisor == 1.0:
            reward[:count] = raw[:count]
        else:
            for i in range(count):
                reward[i] = (raw[i] - reward_zero) / reward_divisor
        earned = reward[:count]
        low[:count] = seeds[0]
        high[:count] = seeds[1]
        _mix(raw[:count], low[:count], high[:count], seeds)
        _mix(propensity[:count], low[:count], high[:count], seeds)
        others[0] += _total(earned)
        others[1] = min(others[1], _smallest(propensity[:count]))
        paying = _where(earned, places)
        for c in range(names):
            if not _copy_within(candidates[c][start : start + count], probability, 0.0, most[1 + c], False):
                return False
            _mix(probability[:count], low[:count], high[:count], seeds)
            total, squares = _weigh(
                probability[:count], propensity[:count], alphas[c], weight[c, :count], excess[c, :count]
            )
            weights[c, 0] += total
            weights[c, 1] += squares
            weights[c, 2] = max(weights[c, 2], _largest(weight[c, :count]))
        _finish(low[:count], hashes, 0)
        _finish(high[:count], hashes, 2)
        for t in range(terms):
            c, first, last = term_candidate[t], term_first[t], term_first[t + 1]
            factor = excess[c, :count] if term_paired[t] else weight[c, :count]
            if not term_complement[t] and paying < 0.4 * count:
                waiting = pending[t, filled[t] : filled[t] + paying]
                total, squares = _some_terms(factor, earned, places[:paying], term_offset[t], waiting)
                filled[t] += paying
                zeros[t] += count - paying
            else:
                waiting = pending[t, filled[t] : filled[t] + count]
                total, squares = _all_terms(factor, earned, term_complement[t], term_offset[t], waiting)
                filled[t] += count
            moments[t, 0] += total
            moments[t, 1] += squares
            if filled[t] >= BLOCK:
                add_block(
                    pending[t, :BLOCK], smoothings[first:last], totals[first:last], lost[first:last], widths[first:last],
                    e, u, v,
                )  # fmt: skip
                filled[t] -= BLOCK
                for i in range(filled[t]):
                    pending[t, i] = pending[t, BLOCK + i]
    for t in range(terms):
        if filled[t]:
            pending[t, filled[t] : BLOCK] = 0.0
            first, last = term_first[t], term_first[t + 1]
            add_block(
                pending[t, :BLOCK], smoothings[first:last], totals[first:last], lost[first:last], widths[first:last],
                e, u, v,
            )  # fmt: skip
    return True
