"""Does an embedding of the actions narrow the bounds, and does the log contradict it?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from surelift.results.improvement import Improvement
from surelift.results.result import Result, dict_key
from surelift.results.several import ByName
from surelift.views.figures import Interval, Intervals
from surelift.views.formats import quoted
from surelift.views.page import Tone
from surelift.views.text import aligned, figure_lines, lines, some

TITLE = "Does the embedding help, and does the log contradict it?"


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingTrial(Result):
    """One policy, evaluated by the weights of actions and by the weights of embeddings."""

    policy: str
    plain: Improvement
    """The improvement over production, by the weights of actions."""
    marginal: Improvement
    """The improvement over production, by the weights of embeddings."""
    difference: Improvement
    """Actions minus embeddings: 0 where the embedding's assumption holds and support is full."""
    effective_sample_sizes: tuple[float, float]
    """The effective sample sizes by actions, and by embeddings."""
    largest_weights: tuple[float, float]

    title: ClassVar = TITLE
    derived: ClassVar = ("contradicted", "width")
    columns: ClassVar = {
        "policy": "policy", "contradicted": "contradicted", "width": "width", "plain_lower": "plain.lower",
        "plain_upper": "plain.upper", "lower": "marginal.lower", "upper": "marginal.upper",
        "plain_effective_sample_size": "effective_sample_sizes.0", "effective_sample_size": "effective_sample_sizes.1",
        "plain_largest_weight": "largest_weights.0", "largest_weight": "largest_weights.1",
    }  # fmt: skip

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.marginal.assumptions

    @property
    def doubts(self) -> tuple[str, ...]:
        return self.marginal.doubts

    @property
    def contradicted(self) -> bool:
        """The log contradicts the embedding; if its assumption is right, with probability at most delta."""
        return self.difference.lower > 0.0 or self.difference.upper < 0.0

    @property
    def width(self) -> float:
        """The interval by embeddings is so many times as wide as the one by actions."""
        plain = self.plain.upper - self.plain.lower
        return (self.marginal.upper - self.marginal.lower) / plain if plain > 0.0 else 1.0

    def sentence(self) -> str:
        name = quoted(self.policy)
        if self.contradicted:
            return f"Contradicted: for {name}, rewards depend on the action beyond its embedding; do not use it."
        return (
            f"For {name}, the interval is {self.width:.2f} times as wide as by actions; nothing in the log speaks against "
            "the embedding, but that does not prove it."
        )

    def text(self) -> str:
        return _text([self])

    def figure(self) -> Intervals:
        return _figure([self])


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingHealth(ByName[EmbeddingTrial]):
    """Every policy by name; all differences hold together with probability 1 - delta."""

    results: Mapping[str, EmbeddingTrial] = field(metadata=dict_key("policies"))
    delta: float
    rounds: int

    title: ClassVar = TITLE
    derived: ClassVar = ("ok",)

    @property
    def ok(self) -> bool:
        """Nothing in the log contradicts the embedding. That does not prove it."""
        return not any(trial.contradicted for trial in self.values())

    def text(self) -> str:
        return _text(self.values())

    def figure(self) -> Intervals:
        return _figure(self.values())

    def tone(self) -> Tone:
        return "open" if self.ok else "bad"


def _figure(trials: Collection[EmbeddingTrial]) -> Intervals:
    rows: list[Interval] = []
    for trial in trials:
        each = {"by actions": trial.plain, "by embeddings": trial.marginal, "difference": trial.difference}
        rows += [
            Interval(f"{trial.policy}, {how}", one.estimate, one.lower, one.upper, certified=one is trial.marginal)
            for how, one in each.items()
        ]
    return Intervals("improvement over production", tuple(rows), 0.0, signed=True)


def _text(trials: Collection[EmbeddingTrial]) -> str:
    rows: list[tuple[str, ...]] = [("policy", "effective sample size", "by embeddings", "largest weight", "by embeddings")]
    for trial in trials:
        sizes, largest = trial.effective_sample_sizes, trial.largest_weights
        rows.append((quoted(trial.policy), *(f"{size:,.0f}" for size in sizes), *(f"{weight:.4g}" for weight in largest)))
    sentences = some((trial.sentence() for trial in trials), "policies")
    return lines(figure_lines(_figure(trials)), aligned(rows), sentences)
