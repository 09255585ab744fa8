"""Continuous actions: densities of production and candidates, and substitutes for deterministic candidates.

>>> from surelift import Logs, compare
>>> table = {"dose": [1.0, 2.0], "usual": [1.5, 1.5], "new": [2.0, 2.0], "well": [0, 1]}
>>> logs = Logs(table, reward="well", action="dose", propensity=gaussian("usual", 1.0), density=True)
>>> compare(logs, gaussian("new", 1.0)).rounds
2
"""

from surelift.logs.densities import blend, gaussian, uniform
from surelift.policies.continuous import binned, kernel

__all__ = ["binned", "blend", "gaussian", "kernel", "uniform"]
