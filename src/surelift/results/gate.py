"""May the candidate be launched?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surelift.errors import UsageError, is_number
from surelift.results.health import Health
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import Result


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A second reward (or cost) that must not get worse by more than ``margin``, in the units of its column."""

    column: str
    margin: float = 0.0
    reward_range: tuple[float, float] = (0.0, 1.0)
    cost: bool = False
    """Whether less of it is better."""

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise UsageError(f"a guardrail names a column, but is given a {type(self.column).__name__}.")
        if not (is_number(self.margin) and 0.0 <= self.margin < float("inf")):
            raise UsageError(
                f"guardrail {self.column!r}: the margin is how much worse it may get, a number of at least 0, not "
                f"{self.margin!r}."
            )

    def describe(self) -> dict[str, Any]:
        return {
            "column": self.column, "margin": self.margin, "reward_range": list(self.reward_range), "cost": self.cost,
        }  # fmt: skip


def guardrail_from(description: Mapping[str, Any]) -> Guardrail:
    return Guardrail(
        description["column"], description["margin"], tuple(description["reward_range"]), description["cost"]
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
    basis: Provenance | None = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "certified": self.certified, "delta": self.delta, "fit": self.health.ok,
            "improvement": None if self.improvement is None else self.improvement.to_dict(),
            "guardrails": {column: result.to_dict() for column, result in self.guardrails.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        found = {} if self.improvement is None else {"": self.improvement, **self.guardrails}
        return [{"guardrail": column, **record} for column, result in found.items() for record in result.records()]
