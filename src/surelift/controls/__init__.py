"""Control variates: what is known about a round before its reward, which narrows a bound."""

from surelift.controls.weights import MaxWeightControl, ScoreControl, WeightControl

__all__ = ["MaxWeightControl", "ScoreControl", "WeightControl"]
