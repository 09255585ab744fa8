"""Sums of one term, built by hand or by the library."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from surelift import Logs
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.engines import collect
from surelift.policies.resolve import name_policies
from surelift.quantities import Quantity, Value
from surelift.statistics import Component, Needed, Term, TermSums, WeightSums, plan_of
from tests.strategies import LoggedRounds


def from_logs(log_sums: Sequence[float] | FloatArray, components: Sequence[Component], *, rounds: int) -> TermSums:
    """As if these log sums were over this many rounds."""
    needed = Needed(offset=components[0].offset, components=tuple(components))
    sums = np.zeros(len(components))
    return TermSums(rounds, needed, np.asarray(log_sums, dtype=np.float64), sums, {}, None, WeightSums(), None)


def collected(rounds: LoggedRounds, method: str, quantity: Quantity | None = None, **options: Any) -> TermSums:
    """The sums a method needs, computed by the library."""
    return collected_from(rounds.logs(), rounds.probability, method, quantity, **options)


def collected_from(logs: Logs, policy: Any, method: str, quantity: Quantity | None = None, **options: Any) -> TermSums:
    needed = BOUNDS[method].plan(quantity=Value(), offset=0.0, count=logs.count, **options)
    term = Term("new", Value() if quantity is None else quantity, needed)
    return collect(logs, plan_of(name_policies({"new": policy}), (term,))).of(term)
