"""The paper's expectations for logarithmic smoothing, with sample means plugged in: not certificates."""

import math


def bias_bound(discrepancy: float, *, smoothing: float) -> float:
    """The bias is at most smoothing times S, under full support (the paper, Proposition 6)."""
    return smoothing * discrepancy


def variance_bound(discrepancy: float, *, rounds: int) -> float:
    """The variance is at most S over the number of rounds (the paper, Proposition 6)."""
    return discrepancy / rounds


def sub_gaussian_smoothing(second_moment: float, *, rounds: int, delta: float) -> float:
    """The smoothing at which the estimate is sub-Gaussian: sqrt(log(2/delta) / (rounds E[(w r)^2])) (Proposition 7).

    >>> round(sub_gaussian_smoothing(1.0, rounds=100, delta=2 / math.e), 3)
    0.1
    """
    return math.sqrt(math.log(2.0 / delta) / (rounds * second_moment)) if second_moment > 0.0 else math.inf


def selection_suboptimality(
    best_discrepancy: float, *, smoothing: float, candidates: int, rounds: int, delta: float
) -> float:
    """How far the selected policy may be from the best one, with probability 1 - delta (the paper, Proposition 9)."""
    return smoothing * best_discrepancy + 2.0 * math.log(2.0 * candidates / delta) / (smoothing * rounds)


def learning_suboptimality(
    linear_discrepancy: float, *, divergence: float, smoothing: float, rounds: int, delta: float
) -> float:
    """The same for learning, where ``divergence`` is KL(Q*||P) of the best posterior (the paper, Proposition 11)."""
    return smoothing * linear_discrepancy + 2.0 * (divergence + math.log(2.0 / delta)) / (smoothing * rounds)
