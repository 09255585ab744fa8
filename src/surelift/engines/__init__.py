"""Who does the adding: one function from logs and a plan to sums."""

from surelift.engines.collect import collect, completed, count_units, engine_features, known_distributions

__all__ = ["collect", "completed", "count_units", "engine_features", "known_distributions"]
