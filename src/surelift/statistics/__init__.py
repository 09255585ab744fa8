"""The plan of what to add up, and sums that add up."""

from surelift.statistics.plan import Component, Plan, Term, offset_of, plan_term
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, Sums, WeightSums

__all__ = [
    "Component",
    "LogSumKey",
    "LoggingSums",
    "MomentKey",
    "Plan",
    "Sums",
    "Term",
    "WeightSums",
    "offset_of",
    "plan_term",
]
