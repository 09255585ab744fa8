"""May the candidate be launched? The logs are checked, the improvement certified, and the guardrails held."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surelift.decisions.asking import Progress, require_logs
from surelift.decisions.check import check
from surelift.decisions.compare import compare
from surelift.decisions.method import check_delta, choose_control
from surelift.errors import UsageError
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION
from surelift.results.gate import Gate, Guardrail
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance


def gate(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    guardrails: Sequence[Guardrail] = (),
    method: str = "mixture",
    control: Any = "auto",
    grid: str | Grid = "anytime",
    smoothing: float | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Gate:
    """Check the logs, then certify the improvement and every guardrail, with delta split evenly over these claims.

    A reward model in ``control`` speaks of the reward alone; guardrails are then controlled by weights.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> gate(logs, {"new": [0.4, 0.6] * 500}).certified
    True
    """
    require_logs(logs)
    rails = _named(guardrails)
    share = check_delta(delta) / (1 + len(rails))
    logs_of = {
        column: logs.declared_as(logs.declaration.with_reward(column, rail.reward_range, is_cost=rail.cost))
        for column, rail in rails.items()
    }
    health = check(logs, policy, progress=progress)
    if not health.ok:
        return Gate(False, health, None, {}, delta, None)
    options: dict[str, Any] = {
        "over": over, "delta": share, "method": method, "grid": grid, "smoothing": smoothing, "draws": draws,
        "progress": progress,
    }  # fmt: skip
    improvement = compare(logs, policy, margin=margin, control=control, **options)
    unmodelled = control if choose_control(control)[1] is None else "auto"
    held = {
        column: _held(compare(logs_of[column], policy, margin=-rail.margin, control=unmodelled, **options))
        for column, rail in rails.items()
    }
    certified = improvement.certified and all(result.certified for result in held.values())
    return Gate(certified, health, improvement, held, delta, _basis(improvement, held, rails, delta))


def _held(result: Improvement) -> Improvement:
    """Not worse is enough: unlike an improvement, a change of exactly minus the margin holds."""
    return replace(result, certified=result.lower >= result.margin and not result.doubts)


def _basis(
    improvement: Improvement, held: Mapping[str, Improvement], rails: Mapping[str, Guardrail], delta: float
) -> Provenance:
    fingerprint = improvement.provenance.fingerprint
    for result in held.values():
        fingerprint = fingerprint + result.provenance.fingerprint
    described = [rail.describe() for rail in rails.values()]
    options = {**improvement.provenance.options, "delta": delta, "guardrails": described}
    return replace(improvement.provenance, question="gate", options=options, fingerprint=fingerprint)


def _named(rails: Sequence[Guardrail]) -> dict[str, Guardrail]:
    if not isinstance(rails, Sequence) or not all(isinstance(rail, Guardrail) for rail in rails):
        raise UsageError("guardrails must be a list of Guardrail(column, margin).")
    named = {rail.column: rail for rail in rails}
    if len(named) != len(rails):
        raise UsageError("two guardrails name one column; give each column one margin.")
    return named
