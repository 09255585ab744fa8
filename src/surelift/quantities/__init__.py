"""Per-round quantities whose mean is bounded: value, shortfall, improvement, difference."""

from surelift.quantities.difference import Difference
from surelift.quantities.improvement import Decline, Gain
from surelift.quantities.quantity import Predicted, Quantity, Weights
from surelift.quantities.value import Shortfall, Value

__all__ = ["Decline", "Difference", "Gain", "Predicted", "Quantity", "Shortfall", "Value", "Weights"]
