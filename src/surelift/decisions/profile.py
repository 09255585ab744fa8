"""What would each single smoothing have given, beside the mixture of them all?"""

import math
from typing import Any

import numpy as np

from surelift.decisions.asking import Progress, ask, count_rounds
from surelift.decisions.comparison import comparison_of, one_policy
from surelift.decisions.method import check_delta, choose_method
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION
from surelift.results.profile import Profile


def profile(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    grid: str | Grid = "anytime",
    progress: Progress | None = None,
) -> Profile:
    """Bound an improvement by every smoothing of the grid alone, without control, beside the mixture of them all.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> found = profile(logs, {"new": [0.4, 0.6] * 500})
    >>> found.best[1] > found.lower > 0
    True
    """
    name, candidate = one_policy(policy, logs if isinstance(logs, Logs) else None)
    method = choose_method("mixture", control="none", grid=grid)
    asked = comparison_of(
        logs, {name: candidate}, over=over, margin=0.0, method=method, question="compare",
        options={"delta": check_delta(delta)},
    )  # fmt: skip
    plan = asked.plan(lambda: count_rounds(logs))
    sums = ask(logs, plan, progress=progress)
    answer = asked.answer(plan, sums, delta=delta)[name]
    found = sums.of(plan.terms[0])
    parts = found.needed.components
    smoothing, offset = (np.array([getattr(part, each) for part in parts]) for each in ("smoothing", "offset"))
    with np.errstate(over="ignore"):
        alone = np.expm1((found.log_sums - math.log(1.0 / delta)) / found.rounds) / smoothing - offset
    bounds = np.maximum(alone, -offset) * logs.scale.width
    order = np.argsort(smoothing)
    return Profile(
        name, answer.over, answer.estimate, answer.lower, tuple(smoothing[order].tolist()), tuple(bounds[order].tolist()),
        float(delta), answer.rounds, answer.doubts,
    )  # fmt: skip
