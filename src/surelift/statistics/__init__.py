"""Statistics that add up over rounds, the keys they are split by, and the plan of what to add up."""

from surelift.statistics.narrowing import Narrowing, automatic, by_max_weight, by_model, by_score, by_weights
from surelift.statistics.plan import MEAN, SQUARES, Component, Moment, Needed, Plan, Request, Term, on_grid
from surelift.statistics.statistic import Statistic
from surelift.statistics.sums import Sums, TermSums, plan_of
from surelift.statistics.totals import WeightSums

__all__ = [
    "MEAN", "SQUARES", "Component", "Moment", "Narrowing", "Needed", "Plan", "Request", "Statistic", "Sums", "Term",
    "TermSums", "WeightSums", "automatic", "by_max_weight", "by_model", "by_score", "by_weights", "on_grid",
    "plan_of",
]  # fmt: skip
