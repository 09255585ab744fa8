"""May the candidate be launched? The logs are checked, the improvement certified, and the guardrails held."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from surelift.controls import models
from surelift.decisions.asking import Progress, require_logs
from surelift.decisions.basis import Basis
from surelift.decisions.check import Health, check
from surelift.decisions.compare import compare
from surelift.decisions.improvement import Improvement
from surelift.decisions.method import check_delta
from surelift.decisions.result import Result
from surelift.errors import UsageError, is_number
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A second reward that must not get worse by more than ``margin``, in the units of its column."""

    column: str
    margin: float = 0.0
    reward_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not (is_number(self.margin) and 0.0 <= self.margin < float("inf")):
            raise UsageError(
                f"guardrail {self.column!r}: the margin is how much worse it may get, a number of at least 0, not "
                f"{self.margin!r}."
            )


@dataclass(frozen=True, slots=True, repr=False)
class Gate(Result):
    """Whether a candidate may be launched, and what of it is certain."""

    certified: bool
    """The logs are fit, the improvement exceeds its margin, and no guardrail gets worse by more than its own."""
    health: Health
    improvement: Improvement | None
    """None where the logs are not fit."""
    guardrails: Mapping[str, Improvement]
    """By column; certified where the lower bound exceeds minus its margin."""
    delta: float
    """The chance that any of these bounds fails: it is split evenly over them."""
    basis: Basis | None = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "certified": self.certified, "delta": self.delta, "fit": self.health.ok,
            "improvement": None if self.improvement is None else self.improvement.to_dict(),
            "guardrails": {column: result.to_dict() for column, result in self.guardrails.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        found = {} if self.improvement is None else {"": self.improvement, **self.guardrails}
        return [{"guardrail": column, **record} for column, result in found.items() for record in result.records()]


def gate(
    logs: Logs,
    policy: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    guardrails: Iterable[Guardrail | Mapping[str, Any]] = (),
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
    rails = _named([one if isinstance(one, Guardrail) else _from_description(one) for one in guardrails])
    share = check_delta(delta) / (1 + len(rails))
    logs_of = {column: logs.with_reward(column, rail.reward_range) for column, rail in rails.items()}
    health = check(logs, policy, progress=progress)
    if not health.ok:
        return Gate(False, health, None, {}, delta, None)
    options: dict[str, Any] = {
        "over": over, "delta": share, "method": method, "grid": grid, "smoothing": smoothing, "draws": draws,
        "progress": progress,
    }  # fmt: skip
    improvement = compare(logs, policy, margin=margin, control=control, **options)
    unmodelled = "auto" if models.is_model(control) else control
    held = {
        column: compare(logs_of[column], policy, margin=-rail.margin, control=unmodelled, **options)
        for column, rail in rails.items()
    }
    certified = improvement.certified and all(result.certified for result in held.values())
    return Gate(certified, health, improvement, held, delta, _basis(improvement, held, rails, delta))


def _basis(
    improvement: Improvement, held: Mapping[str, Improvement], rails: Mapping[str, Guardrail], delta: float
) -> Basis:
    fingerprint = improvement.basis.fingerprint
    for result in held.values():
        fingerprint = fingerprint + result.basis.fingerprint
    described = [
        {"column": rail.column, "margin": rail.margin, "reward_range": list(rail.reward_range)}
        for rail in rails.values()
    ]
    options = {**improvement.basis.options, "delta": delta, "guardrails": described}
    return replace(improvement.basis, question="gate", options=options, fingerprint=fingerprint)


def _from_description(description: Mapping[str, Any]) -> Guardrail:
    return Guardrail(description["column"], description["margin"], tuple(description["reward_range"]))


def _named(rails: list[Guardrail]) -> dict[str, Guardrail]:
    named = {rail.column: rail for rail in rails}
    if len(named) != len(rails):
        raise UsageError("two guardrails name one column; give each column one margin.")
    return named
