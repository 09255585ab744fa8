"""The propensity of each round, in whichever form it is declared."""

import math
from typing import TYPE_CHECKING

import numpy as np

from surelift.arrays import FloatArray
from surelift.kernels.columns import count_outside
from surelift.logs import faults
from surelift.logs.densities import DENSITIES
from surelift.logs.loggers import balanced_propensity
from surelift.logs.wins import Wins

if TYPE_CHECKING:
    from surelift.logs.rounds import Rounds

# The smallest number above zero.
SMALLEST = math.ulp(0.0)


def read_propensity(rounds: "Rounds") -> FloatArray:
    """Production's probability of the logged action, or its density there, checked."""
    declared = rounds.declaration
    if declared.loggers is not None:
        return balanced_propensity(rounds)
    if declared.log_propensity is not None:
        subject = f"log_propensity {declared.log_propensity!r}"
        logarithms, tolerance = rounds.numbers(declared.log_propensity, subject)
        with np.errstate(over="ignore"):
            values = np.exp(logarithms)
        shown, reason = logarithms, faults.LOG_PROPENSITY
    elif isinstance(declared.propensity, DENSITIES):
        subject, tolerance, reason = "propensity, the density of production", 0.0, faults.DENSITY
        values = shown = rounds.density_at(declared.propensity, subject)
    elif isinstance(declared.propensity, Wins):
        return declared.propensity.propensity(rounds, "propensity, the wins of production")
    elif declared.propensity is None:
        return _of_vector(rounds)
    else:
        subject = f"propensity {declared.propensity!r}"
        values, tolerance = rounds.numbers(declared.propensity, subject)
        shown, reason = values, faults.PROPENSITY
    if declared.density:
        rounds.refuse(subject, faults.DENSITY, (values <= 0) | (np.isinf(values) & np.isfinite(shown)), shown)
    elif count_outside(values, SMALLEST, 1.0 + tolerance):
        rounds.refuse(subject, reason, (values <= 0) | (values > 1.0 + tolerance), shown)
    return values if rounds.logging is None else _reconcile(rounds, values, tolerance, subject)


def _of_vector(rounds: "Rounds") -> FloatArray:
    """The entry of production's vector at the logged action."""
    assert rounds.logging is not None
    assert rounds.action is not None
    propensity = rounds.logging.at(rounds.action)
    rounds.refuse("propensity, the entry of logging= at action=", faults.PROPENSITY, propensity <= 0, propensity)
    # A vector that sums to less than 1 may understate its entries by that much.
    return np.asarray(propensity / np.clip(rounds.logging.sums(), 0.5, 1.0))


def _reconcile(rounds: "Rounds", propensity: FloatArray, tolerance: float, subject: str) -> FloatArray:
    """Check the column against the vector and keep the larger: too small a weight never breaks a lower bound."""
    assert rounds.logging is not None
    assert rounds.action is not None
    in_vector = rounds.logging.at(rounds.action)
    tolerance = max(tolerance, rounds.logging.tolerance)
    with np.errstate(invalid="ignore"):
        differs = ~(np.abs(in_vector - propensity) <= tolerance * np.maximum(in_vector, propensity))
    rounds.refuse(subject, faults.VECTOR_PROPENSITY, rounds.usable & differs, propensity)
    # A vector that sums to less than 1 may understate its entries by that much.
    with np.errstate(over="ignore"):
        return np.fmax(propensity, in_vector) / np.clip(rounds.logging.sums(), 0.5, 1.0)
