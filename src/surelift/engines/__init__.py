"""Who does the adding: one function from logs and a plan to sums."""

from surelift.engines.stream import collect

__all__ = ["collect"]
