"""Every outcome of a small law as a one-row log, so that the library's own sums give that outcome's factor."""

import math
from typing import Any

import numpy as np

import surelift as sl
from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.policies import Policy
from surelift.quantities import Decline, Difference, Gain, Quantity, Shortfall, Value
from surelift.statistics import Component, Plan, Term, plan_of
from surelift.statistics.sums import accumulate
from tests.laws import Law


def log_of(law: Law, **columns: Any) -> tuple[FloatArray, sl.Logs]:
    """A log with every outcome of the law once, and the probability of each."""
    logging = np.array(law.logging)
    rows = [
        (q * chance, action, level)
        for action, (q, high) in enumerate(zip(law.logging, law.high_chance, strict=True))
        for level, chance in zip(law.reward_levels, (1 - high, high), strict=True)
        if q * chance > 0
    ]
    chances, action, reward = (np.array(column) for column in zip(*rows, strict=True))
    return chances, sl.Logs(
        reward=reward, propensity=logging[action], action=action, logging=np.tile(logging, (len(rows), 1)), **columns
    )


def cases(new: float, now: float, rival: float) -> list[tuple[str, Quantity, float]]:
    """Each quantity of the candidate, with its true value."""
    return [
        ("new", Value(), new), ("new", Shortfall(), 1 - new), ("new", Gain(), new - now),
        ("new", Decline(), now - new), ("new", Difference("rival"), new - rival), ("rival", Difference("new"), rival - new),
    ]  # fmt: skip


def factors_of(logs: sl.Logs, plan: Plan, term: Term) -> dict[Component, FloatArray]:
    """1 + smoothing (term + offset) of each row, from the library: exp of the log sum of a one-row log."""
    (table,) = logs.batches(plan.needs(logs))
    predictor = None if plan.model is None else plan.model.start(logs)
    factors: dict[Component, list[float]] = {component: [] for component in term.needed.components}
    for row in range(table.table.num_rows):
        batch = Batch(logs, type(table)(table.table.slice(row, 1), table.start + row), plan.policies)
        batch.predictor = predictor
        sums = accumulate(batch, plan)
        assert not sums.invalid
        log_sums = sums.of(term).log_sums
        for place, component in enumerate(term.needed.components):
            factors[component].append(math.exp(log_sums[place]))
    return {component: np.array(values) for component, values in factors.items()}


def means_of_factors(
    law: Law, policies: dict[str, Policy], term: Term, target: float, model: Any = None
) -> dict[Component, float]:
    """For each component, the mean of its factor divided by its value at the target: at most 1."""
    chances, logs = log_of(law)
    factors = factors_of(logs, plan_of(policies, (term,), model), term)
    return {
        component: math.fsum(chances * factor) / (1 + component.smoothing * (target + component.offset))
        for component, factor in factors.items()
    }
