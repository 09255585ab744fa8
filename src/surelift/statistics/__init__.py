"""The plan of what to add up, and sums that add up."""

from surelift.statistics.narrowing import Narrowing, by_max_weight, by_model, by_weights
from surelift.statistics.plan import (
    MEAN,
    SQUARES,
    Component,
    Moment,
    Needed,
    Plan,
    Term,
    offset_of,
    on_grid,
)
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, Sums, TermSums, WeightSums

__all__ = [
    "MEAN", "SQUARES", "Component", "LogSumKey", "LoggingSums", "Moment", "MomentKey", "Narrowing", "Needed", "Plan",
    "Sums", "Term", "TermSums", "WeightSums", "by_max_weight", "by_model", "by_weights", "offset_of", "on_grid",
]  # fmt: skip
