"""The quantities whose mean is bounded: value, shortfall, improvement, difference."""

from surelift.quantities.quantity import Decline, Difference, Gain, Predicted, Quantity, Shortfall, Value

__all__ = ["Decline", "Difference", "Gain", "Predicted", "Quantity", "Shortfall", "Value"]
