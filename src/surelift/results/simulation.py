"""How often each method held on simulated logs, and how wide it was."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surelift.bounds.bound import Promise
from surelift.results.result import Result


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one method, over the simulated logs of one policy."""

    policy: str
    method: str
    promise: Promise
    coverage: float
    """How often both bounds held."""
    width: float
    """Their mean distance, in the units of the column."""
    empty: float
    """How often the lower bound said nothing."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "method": self.method, "promise": self.promise, "coverage": self.coverage,
            "width": self.width, "empty": self.empty,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(Result):
    """Every method on the same simulated logs."""

    outcomes: tuple[Outcome, ...]
    rounds: int
    runs: int
    delta: float
    truth: Mapping[str, float]
    """The value of each policy in the simulation, in the units of the column."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds, "runs": self.runs, "delta": self.delta, "truth": dict(self.truth),
            "outcomes": self.records(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [outcome.to_dict() for outcome in self.outcomes]
