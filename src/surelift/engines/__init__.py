"""Who does the adding: one function from logs and a plan to sums."""

from surelift.engines.collect import collect, count_units, engine_features, known_distributions
from surelift.engines.first_pass import completed

__all__ = ["collect", "completed", "count_units", "engine_features", "known_distributions"]
