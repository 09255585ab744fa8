"""What does an embedding buy, and what does it risk? Narrower bounds, and an assumption that the log can contradict."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surelift.decisions.asking import Progress, require_logs
from surelift.decisions.check import check
from surelift.decisions.compare import compare
from surelift.decisions.improvement import Improvement
from surelift.decisions.method import check_delta
from surelift.decisions.result import ByName, Result
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.policies.direct import Direct
from surelift.policies.resolve import name_policies


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingTrial(Result):
    """One policy, judged action by action and through the embedding."""

    policy: str
    plain: Improvement
    """Over production, by the weights of actions."""
    marginal: Improvement
    """The same by the weights of embeddings."""
    difference: Improvement
    """What the weights of actions say more than those of embeddings: 0 where the assumption holds and support is full."""
    effective_rounds: tuple[float, float]
    """Of the one and of the other."""
    largest_weight: tuple[float, float]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Of the answer through the embedding."""
        return self.marginal.assumptions

    @property
    def doubts(self) -> tuple[str, ...]:
        return self.marginal.doubts

    @property
    def contradicted(self) -> bool:
        """Whether the log speaks against the embedding: at most with probability delta, where the assumption is right."""
        return self.difference.lower > 0.0 or self.difference.upper < 0.0

    @property
    def width(self) -> float:
        """Of the interval through the embedding, as a share of the plain one."""
        plain = self.plain.upper - self.plain.lower
        return (self.marginal.upper - self.marginal.lower) / plain if plain > 0.0 else 1.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "contradicted": self.contradicted, "width": self.width,
            "effective_rounds": list(self.effective_rounds), "largest_weight": list(self.largest_weight),
            "plain": self.plain.to_dict(), "marginal": self.marginal.to_dict(), "difference": self.difference.to_dict(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        (plain_rounds, rounds), (plain_largest, largest) = self.effective_rounds, self.largest_weight
        return [{
            "policy": self.policy, "contradicted": self.contradicted, "width": self.width,
            "plain_lower": self.plain.lower, "plain_upper": self.plain.upper, "lower": self.marginal.lower,
            "upper": self.marginal.upper, "plain_effective_rounds": plain_rounds, "effective_rounds": rounds,
            "plain_largest_weight": plain_largest, "largest_weight": largest,
        }]  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingHealth(ByName[EmbeddingTrial]):
    """Every policy by name; all differences hold together with probability 1 - delta."""

    results: Mapping[str, EmbeddingTrial]
    delta: float
    rounds: int

    @property
    def ok(self) -> bool:
        """Whether nothing in the log speaks against the embedding. That is no proof of it."""
        return not any(one.contradicted for one in self.results.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok, "delta": self.delta, "rounds": self.rounds,
            "policies": {name: one.to_dict() for name, one in self.results.items()},
        }  # fmt: skip


def check_embedding(
    logs: Logs, policies: Any, *, delta: float = 0.05, progress: Progress | None = None
) -> EmbeddingHealth:
    """Hold the weights of embeddings against those of actions, for logs that have both.

    Under the assumption (and where production could take every action) both have the same mean: a difference whose bounds
    exclude zero contradicts the embedding. A log in which actions are rare says little about it: no contradiction is no
    proof. The log is read several times.
    """
    require_logs(logs)
    if logs.embedding is None:
        raise UsageError("these logs have no embedding; give one in Logs(..., embedding=...).")
    named, delta = name_policies(policies), check_delta(delta)
    apart = logs.without_embedding()
    plain_health, health = check(apart, named, progress=progress), check(logs, named, progress=progress)
    trials = {}
    for name, policy in named.items():
        each: dict[str, Any] = {"delta": delta / (2 * len(named)), "progress": progress}
        direct = f"{name}, by actions"
        before, after = (one.weights[name] for one in (plain_health, health))
        trials[name] = EmbeddingTrial(
            policy=name,
            plain=compare(apart, {name: policy}, **each),
            marginal=compare(logs, {name: policy}, **each),
            difference=compare(logs, {direct: Direct(policy)}, over={name: policy}, control="none", **each),
            effective_rounds=(before.effective_rounds, after.effective_rounds),
            largest_weight=(before.largest, after.largest),
        )
    first = next(iter(trials.values()))
    return EmbeddingHealth(trials, delta, first.marginal.rounds)
