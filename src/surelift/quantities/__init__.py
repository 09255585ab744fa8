"""Per-round quantities whose mean is bounded: value, shortfall, improvement, difference."""

from surelift.quantities.quantity import Decline, Difference, Gain, Predicted, Quantity, Shortfall, Value, Weights

__all__ = ["Decline", "Difference", "Gain", "Predicted", "Quantity", "Shortfall", "Value", "Weights"]
