"""The bound of a learned Gaussian policy over the whole log, in float64 with exact probabilities."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from surelift.bounds.mixture import ROUNDING
from surelift.learning.data.examples import Examples
from surelift.learning.objectives.objective import Objective, sizes_of, sums_of
from surelift.learning.policies.gaussian import GaussianRule
from surelift.learning.policies.quadrature import EXACT
from surelift.learning.tensors import logged

_ENTRIES_AT_ONCE, _ON_DEVICE = 1 << 20, 1 << 24


class CertifiedBound(NamedTuple):
    """The bound in [0, 1], or in [-1, 1] for an improvement, beside the IPS estimate and the mean importance weight."""

    lower: float
    estimate: float
    mean_weight: float
    rounds: int


def certified_bound(
    rule: GaussianRule,
    objective: Objective,
    dataset: Iterable[Examples],
    *,
    delta: float,
    device: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> CertifiedBound:
    """Compute the bound with NumPy, or with torch on a device, in float64 either way."""
    total: Any = 0.0
    sizes: Any = 0.0
    estimate, weights, rounds, actions = 0.0, 0.0, 0, len(rule.means)
    width = max(1, (_ON_DEVICE if device else _ENTRIES_AT_ONCE) // (max(objective.sums, EXACT.nodes) * actions))
    for chunk in dataset:
        for part in chunk.pieces(width):
            if device:
                part = part.tensors(device, double=True)
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
    if device:
        total, sizes = total.cpu().numpy(), sizes.cpu().numpy()
    # Lowered by the possible error of the quadrature and of rounding, so that the bound is never overstated.
    slack = rule.tolerance + ROUNDING
    low = total - np.array(objective.signs) * slack * sizes - np.array(objective.signs) * ROUNDING * np.abs(total)
    bound = float(objective.bound(low, np.float64(rule.divergence), rounds=rounds, delta=delta))
    floor = -1.0 if objective.about == "improvement" else 0.0
    lower = max(floor, bound - ROUNDING * (1.0 + abs(bound)))
    return CertifiedBound(lower, estimate / rounds, weights / rounds, rounds)
