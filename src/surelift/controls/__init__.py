"""Control variates: what is known about a round before its reward, which narrows a bound."""

from surelift.controls.score import ScoreControl
from surelift.controls.weights import MaxWeightControl, WeightControl

__all__ = ["MaxWeightControl", "ScoreControl", "WeightControl"]
