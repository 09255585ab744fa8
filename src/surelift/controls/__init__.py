"""What is known about a round before its reward, and narrows a bound."""

from surelift.controls.weights import WeightControl

__all__ = ["WeightControl"]
