"""What an embedding buys, and what it risks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surelift.results.improvement import Improvement
from surelift.results.result import ByName, Result


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
