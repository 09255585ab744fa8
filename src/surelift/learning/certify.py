"""The certificate of a learned rule: its bound in float64 over the whole log, with exact probabilities."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from surelift.bounds.mixture import ROUNDING
from surelift.learning.examples import Examples, logged
from surelift.learning.gaussian import EXACT
from surelift.learning.objective import Objective, sizes_of, sums_of
from surelift.learning.rule import GaussianRule

_ENTRIES_AT_ONCE, _ON_DEVICE = 1 << 20, 1 << 24


class Bounded(NamedTuple):
    """What one pass over the rounds found: the bound on [0, 1], or on [-1, 1] for an improvement, and a plain estimate."""

    lower: float
    estimate: float
    mean_weight: float
    rounds: int


def certify(
    rule: GaussianRule,
    objective: Objective,
    rows: Iterable[Examples],
    *,
    delta: float,
    device: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Bounded:
    """With NumPy, or the same on a device, also in float64."""
    total: Any = 0.0
    sizes: Any = 0.0
    estimate, weights, rounds, actions = 0.0, 0.0, 0, len(rule.means)
    width = max(1, (_ON_DEVICE if device else _ENTRIES_AT_ONCE) // (max(objective.sums, EXACT.nodes) * actions))
    for chunk in rows:
        for part in chunk.pieces(width):
            if device:
                part = part.tensors(device, wide=True)
                probabilities = rule.probabilities_on_device(part.features)
            else:
                probabilities = rule.probabilities(part.features)
            own = logged(probabilities, part.action)
            coefficients = objective.coefficients(part)
            total = total + sums_of(coefficients, probabilities if objective.every_action else own)
            sizes = sizes + sizes_of(coefficients)
            weight = own / part.propensity
            weights += float(weight.sum())
            estimate += float(((weight - float(objective.about == "improvement")) * part.reward).sum())
        rounds += len(chunk)
        if progress is not None:
            progress(rounds)
    # Never overstated: neither by the quadrature nor by rounding in the sums.
    if device:
        total, sizes = total.cpu().numpy(), sizes.cpu().numpy()
    slack = rule.tolerance + ROUNDING
    low = total - np.array(objective.signs) * slack * sizes - np.array(objective.signs) * ROUNDING * np.abs(total)
    bound = float(objective.bound(low, np.float64(rule.divergence), rounds=rounds, delta=delta))
    floor = -1.0 if objective.about == "improvement" else 0.0
    lower = max(floor, bound - ROUNDING * (1.0 + abs(bound)))
    return Bounded(lower, estimate / rounds, weights / rounds, rounds)
