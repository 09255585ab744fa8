"""Sums of one term, built by hand or by the library."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surelift import Logs
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.engines import collect
from surelift.logs.decisions import Limits
from surelift.policies import Policy
from surelift.policies.resolve import name_policies
from surelift.quantities import Quantity, Value
from surelift.questions.method import choose_method, no_count
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


def offset_of(candidate: str, quantity: Quantity, policies: Mapping[str, Policy]) -> float:
    """How far below zero a term can be."""
    return offset_under(candidate, quantity, {name: policy.limits for name, policy in policies.items()})


def offset_under(candidate: str, quantity: Quantity, limits: Mapping[str, Limits]) -> float:
    plain = choose_method("mixture", "none")
    return plain.plan(candidate, quantity, limits=limits, count=no_count, known=frozenset()).needed.offset
