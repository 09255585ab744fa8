"""How many more rounds like these would certify it?"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.decisions.asking import Progress, count_rounds, require_logs
from surelift.decisions.comparison import comparison_of, one_policy
from surelift.decisions.method import check_delta, choose_method
from surelift.engines import collect_blocks
from surelift.errors import LogsError, UsageError, is_number
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION
from surelift.results.forecast import Forecast, Growth
from surelift.statistics import Component, Sums, Term

BLOCKS = 64
MOST_ROUNDS = 10**15


def power(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    improvement: float | None = None,
    power: float = 0.8,
    control: Any = "auto",
    grid: str | Grid = "anytime",
    progress: Progress | None = None,
) -> Forecast:
    """Forecast how many rounds like these certify an improvement over the margin, with probability ``power``.

    ``improvement`` is the true one to assume; without it the estimate, which is as uncertain as the rounds are few.

    >>> logs = Logs(reward=[0, 1, 1, 0] * 20, propensity=[0.5] * 80)
    >>> forecast = power(logs, {"new": [0.4, 0.6, 0.45, 0.55] * 20})
    >>> forecast.certified, forecast.more_rounds > 0
    (False, True)
    """
    require_logs(logs)
    name, candidate = one_policy(policy, logs if isinstance(logs, Logs) else None)
    if not (is_number(power) and 0.0 < power < 1.0):
        raise UsageError(f"power, the chance to certify, must lie strictly between 0 and 1, but is {power!r}.")
    if improvement is not None and not (is_number(improvement) and math.isfinite(improvement)):
        raise UsageError(f"improvement must be a finite number, but is {improvement!r}.")
    if improvement is not None and not abs(improvement) <= logs.scale.width:
        raise UsageError(
            f"an improvement of {improvement:g} is impossible where rewards lie within {logs.scale.width:g}."
        )
    method = choose_method("mixture", control=control, grid=grid)
    asked = comparison_of(
        logs, {name: candidate}, over=over, margin=margin, method=method, question="compare",
        options={"delta": check_delta(delta)},
    )  # fmt: skip
    if logs.declaration.keep_probability is not None:
        raise UsageError("power forecasts rounds like these, and sampled ones are not like those to come; ask without.")
    plan = asked.plan(lambda: count_rounds(logs))
    blocks = collect_blocks(logs, plan, BLOCKS, progress=progress)
    whole = Sums()
    for block in blocks:
        whole = whole + block
    if whole.units < 2:
        raise LogsError("these logs have fewer than 2 rounds, which forecast nothing.")
    answer = asked.answer(plan, whole, delta=delta)[name]
    assumed = answer.estimate if improvement is None else float(improvement)
    scale = logs.scale
    term = plan.terms[0]
    growth = _growth(blocks, term, scale.unit_margin(assumed), scale.unit_margin(answer.margin))
    hope = assumed > answer.margin and not answer.doubts
    needed = _rounds_needed(growth, delta=delta, power=power, from_now=False) if hope else None
    more = 0 if answer.certified else _rounds_needed(growth, delta=delta, power=power, from_now=True) if hope else None
    return Forecast(
        policy=name, over=answer.over, estimate=answer.estimate, lower=answer.lower, certified=answer.certified,
        improvement=assumed, margin=answer.margin, delta=float(delta), power=float(power), rounds=answer.rounds,
        rounds_needed=needed, more_rounds=more, counted=answer.counted, method=answer.method,
        control=answer.control, doubts=answer.doubts, growth=growth,
    )  # fmt: skip


def _growth(blocks: list[Sums], term: Term, assumed: float, margin: float) -> Growth:
    """From the log sums of many blocks: their mean a round, and how much they vary from block to block."""
    filled = [block for block in blocks if block.units]
    rounds = np.array([block.units for block in filled], dtype=np.float64)
    sums = np.stack([block.of(term).log_sums for block in filled])
    mean = sums.sum(axis=0) / rounds.sum()
    variance = ((sums - rounds[:, None] * mean) ** 2 / rounds[:, None]).sum(axis=0) / max(len(filled) - 1, 1)
    parts = term.needed.components
    smoothing, offset = np.array([part.smoothing for part in parts]), np.array([part.offset for part in parts])
    estimate = _means(mean, parts)
    # As if every factor were larger, or smaller, by what the assumed improvement makes of its mean.
    shifted = (
        mean
        + np.log1p(smoothing * np.maximum(assumed + offset, 0.0))
        - np.log1p(smoothing * np.maximum(estimate + offset, 0.0))
    )
    against = np.log1p(smoothing * np.maximum(margin + offset, 0.0))
    prior, gained = np.array([part.prior for part in parts]), sums.sum(axis=0) - rounds.sum() * against
    return Growth(prior, shifted - against, np.sqrt(variance), gained)


def _means(mean: FloatArray, parts: Sequence[Component]) -> FloatArray:
    """The mean of the terms of each component, which a control moves: a logarithm with hardly any smoothing is the mean."""
    kinds = [
        None if part.control is None else (type(part.control), getattr(part.control, "share", part.control))
        for part in parts
    ]
    found = np.empty(len(parts))
    for kind in set(kinds):
        own = [place for place, one in enumerate(kinds) if one == kind]
        least = min(own, key=lambda place: parts[place].smoothing)
        found[own] = np.expm1(mean[least]) / parts[least].smoothing - parts[least].offset
    return found


def _rounds_needed(growth: Growth, *, delta: float, power: float, from_now: bool) -> int | None:
    from scipy.special import ndtri

    quantile, target = -float(ndtri(power)), math.log(1.0 / delta)
    low, high = 0.0, 1.0
    while growth.log_wealth(high, quantile, from_now=from_now) < target:
        low, high = high, 2.0 * high
        if high > MOST_ROUNDS:
            return None
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (
            (low, middle) if growth.log_wealth(middle, quantile, from_now=from_now) >= target else (middle, high)
        )
    return math.ceil(high)
