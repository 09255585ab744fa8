"""Who does the adding: one function from logs and a plan to sums."""

from surelift.engines.collect import collect, count_units, known_distributions

__all__ = ["collect", "count_units", "known_distributions"]
