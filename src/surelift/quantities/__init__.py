"""Per-round quantities whose mean is bounded: value, shortfall, improvement, difference."""

from surelift.quantities.improvement import Decline, Difference, Gain
from surelift.quantities.quantity import Predicted, Quantity, Weights
from surelift.quantities.value import Shortfall, Value

__all__ = ["Decline", "Difference", "Gain", "Predicted", "Quantity", "Shortfall", "Value", "Weights"]
