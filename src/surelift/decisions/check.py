"""Are these logs fit for a guarantee, and how much can they say about each policy?"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from surelift.decisions.asking import Progress, require_logs
from surelift.decisions.basis import doubts_of
from surelift.decisions.result import Result
from surelift.engines import collect
from surelift.logs.faults import describe_faults
from surelift.logs.logs import Logs
from surelift.policies.resolve import name_policies
from surelift.statistics import Plan, Sums, WeightSums

# Below so many effective rounds, or such a share of them, a bound is wide; above such a share one round decides.
FEW_ROUNDS = 100
SMALL_SHARE = 0.01
LARGE_SHARE = 0.1
STANDARD_ERRORS = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Literal["refuse", "warn"]
    subject: str
    says: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        return {"severity": self.severity, "subject": self.subject, "says": self.says, "remedy": self.remedy}


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

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "mean": self.mean, "largest": self.largest,
            "effective_rounds": self.effective_rounds, "missing_support": self.missing_support,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Health(Result):
    """What was found; ``ok`` unless a finding refuses."""

    rounds: int
    findings: tuple[Finding, ...]
    weights: Mapping[str, WeightHealth]
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


def check(logs: Logs, policies: Any = None, *, progress: Progress | None = None) -> Health:
    """Read every round once and say what is wrong with the logs, and what the weights of each policy look like.

    >>> check(Logs(reward=[0, 1], propensity=[0.5, 1.2])).ok
    False
    """
    require_logs(logs)
    named = {} if policies is None else name_policies(policies)
    sums = collect(logs, Plan(named), progress=progress)
    fit = sums.units > 0 and not sums.invalid
    weights = {name: _weight_health(name, sums.weights[name], sums.units) for name in named} if fit else {}
    findings = [*_about_rounds(logs, sums)]
    for name, health in weights.items():
        findings += _about_weights(health, sums.weights[name], sums.units)
    return Health(
        rounds=sums.rows,
        findings=tuple(findings),
        weights=weights,
        mean_reward=logs.scale.value(sums.logging.rewards / sums.units) if fit else None,
        smallest_propensity=sums.logging.smallest_propensity if fit else None,
        kind="cost" if logs.scale.is_cost else "reward",
    )


def _about_rounds(logs: Logs, sums: Sums) -> Iterator[Finding]:
    if sums.rows == 0:
        yield Finding("refuse", "rounds", "the logs are empty", "Check the path or the filter.")
    ordered = sorted(sums.invalid.items(), key=lambda item: -item[1].count)
    for (fault, _), line in zip(ordered, describe_faults(sums.invalid, rows=sums.rows), strict=True):
        yield Finding("refuse", fault.subject, line, fault.reason.remedy)
    for doubt in doubts_of(logs):
        yield Finding("warn", "propensity", doubt, "Log the propensity when the decision is made; see the README.")


def _weight_health(name: str, sums: WeightSums, rounds: int) -> WeightHealth:
    effective = sums.total * sums.total / sums.squares if sums.squares > 0.0 else 0.0
    missing = None if sums.unsupported is None else sums.unsupported / rounds
    return WeightHealth(name, sums.total / rounds, sums.largest, effective, missing)


def _about_weights(health: WeightHealth, sums: WeightSums, rounds: int) -> Iterator[Finding]:
    subject = f"policy {health.policy!r}"
    if health.missing_support:
        yield Finding(
            "warn", subject,
            f"{health.missing_support:.2%} of its decisions are actions that production could not take",
            "What they would earn is counted as nothing; every bound stays true, the lower ones are loose by as much.",
        )  # fmt: skip
    variance = sums.squares / rounds - health.mean**2
    error = math.sqrt(max(variance, 0.0) / rounds)
    if abs(health.mean - 1.0) > STANDARD_ERRORS * error + 1e-6:
        low = health.mean < 1.0
        yield Finding(
            "warn", subject,
            f"its mean weight is {health.mean:.4g}, where 1 is expected",
            (
                "Either its propensities were logged too large, or it prefers actions that production never takes: up to "
                f"{1 - health.mean:.1%} of its decisions are then not in the log."
                if low
                else "Weights that are too large on average say that propensities were logged too small: check them first."
            ),
        )  # fmt: skip
    share = sums.largest / sums.total if sums.total > 0 else 0.0
    if share > LARGE_SHARE:
        yield Finding(
            "warn", subject, f"one round carries {share:.0%} of its weight (a weight of {health.largest:.4g})",
            "A point estimate hangs on that round; the bounds do not, but they will be wide.",
        )  # fmt: skip
    if health.effective_rounds < max(FEW_ROUNDS, SMALL_SHARE * rounds):
        yield Finding(
            "warn", subject, f"{rounds:,} rounds are worth only {health.effective_rounds:,.0f} of its own",
            "Try a cautious mixture, mixture(policy, 0.1), or collect more rounds.",
        )  # fmt: skip
