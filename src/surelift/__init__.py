"""surelift turns logged decisions into certified ones.

>>> import surelift as sl
>>> logs = sl.Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
>>> sl.compare(logs, {"new": [0.4, 0.6] * 500}).certified
True
"""

from surelift import datasets, grids
from surelift.decisions import (
    Certificate,
    Evaluation,
    Finding,
    Health,
    Improvement,
    PolicyValue,
    Selection,
    Verification,
    WeightHealth,
    check,
    compare,
    evaluate,
    select,
    verify,
)
from surelift.errors import LogsError, SureliftError, UsageError
from surelift.grids import Grid
from surelift.logs import Logs
from surelift.policies import bounded, chosen, epsilon_greedy, mixture, softmax, uniform
from surelift.version import __version__

__all__ = [
    "Certificate", "Evaluation", "Finding", "Grid", "Health", "Improvement", "Logs", "LogsError", "PolicyValue",
    "Selection", "SureliftError", "UsageError", "Verification", "WeightHealth", "__version__", "bounded", "check",
    "chosen", "compare", "datasets", "epsilon_greedy", "evaluate", "grids", "mixture", "select", "softmax", "uniform",
    "verify",
]  # fmt: skip
