"""The plan of what to add up, and sums that add up."""

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
    with_weight_control,
)
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, Sums, TermSums, WeightSums

__all__ = [
    "MEAN", "SQUARES", "Component", "LogSumKey", "LoggingSums", "Moment", "MomentKey", "Needed", "Plan", "Sums", "Term",
    "TermSums", "WeightSums", "offset_of", "on_grid", "with_weight_control",
]  # fmt: skip
