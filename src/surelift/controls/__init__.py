"""Control variates: what is known about a round before its reward, which narrows a bound."""

from surelift.controls import models
from surelift.controls.max_weight import MaxWeightControl
from surelift.controls.weights import WeightControl

__all__ = ["MaxWeightControl", "WeightControl", "models"]
