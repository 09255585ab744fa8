"""Who does the adding: one function from logs and a plan to sums."""

from surelift.engines.stream import collect, known_distributions

__all__ = ["collect", "known_distributions"]
