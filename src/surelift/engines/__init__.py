"""Who does the adding: one function from logs and a plan to sums."""

from surelift.engines.stream import collect, collect_blocks, collect_by, known_distributions

__all__ = ["collect", "collect_blocks", "collect_by", "known_distributions"]
