"""Whether logs are fit for a guarantee."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from surelift.evidence.propensities import Evidence
from surelift.results.result import Result


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Literal["refuse", "warn"]
    subject: str
    says: str
    remedy: str
    segment: str | None = None
    """Where it was found, such as "day 2024-03-11"; None for the whole log."""
    e_value: float | None = None
    """The evidence, where it was tested: the chance to see so much of it in right logs is at most its inverse."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "severity": self.severity, "subject": self.subject, "says": self.says, "remedy": self.remedy,
            "segment": self.segment, "e_value": self.e_value,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeightSize:
    """The rounds whose weight lies below a power of two, and not below half of it."""

    below: float
    rounds: float
    """As a share of all rounds; the next as a share of the whole weight."""
    weight: float


@dataclass(frozen=True, slots=True)
class HeavyRound:
    """One of the rounds with the largest weights."""

    row: int
    """Counted from 0 over the whole log."""
    weight: float
    propensity: float
    reward: float
    """In the units of the column, as is a cost."""


@dataclass(frozen=True, slots=True)
class WeightHealth:
    """How the weights of one policy are spread over the rounds."""

    policy: str
    mean: float
    """Near 1 where production could take every action of the policy."""
    largest: float
    effective_rounds: float
    """As many equally weighted rounds would say about as much."""
    missing_support: float | None
    """The share of the policy's decisions that production could never take; None where the vectors are not known."""
    heaviest: tuple[float, float]
    """The share of rounds with the largest weights, at most 1%, and the share of the weight they carry."""
    sizes: tuple[WeightSize, ...]
    heaviest_rounds: tuple[HeavyRound, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "mean": self.mean, "largest": self.largest,
            "effective_rounds": self.effective_rounds, "missing_support": self.missing_support,
            "heaviest": list(self.heaviest), "sizes": [asdict(one) for one in self.sizes],
            "heaviest_rounds": [asdict(one) for one in self.heaviest_rounds],
        }  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Health(Result):
    """What was found; ``ok`` unless a finding refuses."""

    rounds: int
    findings: tuple[Finding, ...]
    weights: Mapping[str, WeightHealth]
    evidence: tuple[Evidence, ...]
    """Against the propensities, of every segment that was tested."""
    mean_reward: float | None
    """What production earned in a round, in the units of the column."""
    smallest_propensity: float | None
    kind: Literal["reward", "cost"] = "reward"

    @property
    def ok(self) -> bool:
        return all(finding.severity != "refuse" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok, "rounds": self.rounds, "mean_reward": self.mean_reward,
            "smallest_propensity": self.smallest_propensity,
            "findings": [finding.to_dict() for finding in self.findings],
            "weights": {name: health.to_dict() for name, health in self.weights.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [finding.to_dict() for finding in self.findings]
