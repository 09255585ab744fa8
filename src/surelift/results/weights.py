"""How the importance weights of a policy are distributed over the rounds."""

from collections.abc import Mapping
from dataclasses import dataclass

from surelift.views.figures import Bar, WeightHistogram
from surelift.views.names import quoted
from surelift.views.page import Paragraph, Section, shown
from surelift.views.tables import Table
from surelift.views.text import aligned


@dataclass(frozen=True, slots=True)
class WeightSize:
    """The rounds whose weight is below a power of two, but not below half of it."""

    below: float
    rounds: float
    """As a share of all rounds; the next as a share of the total weight."""
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
    """How the weights of one policy are distributed over the rounds."""

    policy: str
    mean: float
    """Close to 1 where production could take every action of the policy."""
    largest: float
    effective_sample_size: float
    """The number of equally weighted rounds that carry about as much information."""
    missing_support: float | None
    """The share of the policy's decisions that production could never take; None without whole distributions."""
    heaviest: tuple[float, float]
    """The share of rounds with the largest weights, at most 1%, and the share of the weight they carry."""
    sizes: tuple[WeightSize, ...]
    heaviest_rounds: tuple[HeavyRound, ...]

    def cells(self) -> tuple[str, ...]:
        """Its numbers under ``HEAD``."""
        return (
            f"{self.mean:.4g}", f"{self.largest:.4g}", f"{self.effective_sample_size:,.0f}",
            "unknown" if self.missing_support is None else f"{self.missing_support:.2%}",
        )  # fmt: skip


HEAD = ("policy", "mean weight", "largest", "effective sample size", "missing support")


def weight_lines(weights: Mapping[str, WeightHealth]) -> list[str]:
    """A table for a terminal."""
    return aligned([HEAD, *((quoted(each.policy), *each.cells()) for each in weights.values())]) if weights else []


def weight_histogram(weights: Mapping[str, WeightHealth]) -> WeightHistogram:
    bars = (Bar(each.policy, size.below, size.rounds, size.weight) for each in weights.values() for size in each.sizes)
    return WeightHistogram(tuple(bars))


def weight_section(weights: Mapping[str, WeightHealth], drawn: Mapping[str, WeightHealth], kind: str) -> Section:
    """The weights of every policy in numbers, and of some in a figure; ``kind`` is reward or cost."""
    rows = tuple((each.policy, *each.cells(), _concentration(each.heaviest)) for each in weights.values())
    meaning = (
        "An importance weight says how much more often the candidate would have taken the logged action than production "
        "did. Where a few rounds carry most of the weight, the estimate depends on them and the bounds are wide. "
        "The last column is the share of the weight in the heaviest rounds, at most 1% of all."
    )
    numbers = Paragraph(table=Table((*HEAD, "weight in heaviest"), rows))
    heaviest = Paragraph(table=_heaviest(drawn, kind))
    return Section("Importance weights", (Paragraph(meaning), numbers, *shown(weight_histogram(drawn)), heaviest))


def _concentration(heaviest: tuple[float, float]) -> str:
    """The share of the weight in the heaviest rounds, and their share of all rounds."""
    rounds, weight = heaviest
    return f"{weight:.0%} in {rounds:.2%}" if weight else "-"


def _heaviest(weights: Mapping[str, WeightHealth], kind: str) -> Table:
    rows = tuple(
        (policy, f"{heavy.row:,}", f"{heavy.weight:.4g}", f"{heavy.propensity:.4g}", f"{heavy.reward:.4g}")
        for policy, each in weights.items()
        for heavy in each.heaviest_rounds
    )
    note = "the rounds with the largest weights, by row number, counted from 0"
    return Table(("policy", "row", "weight", "propensity", kind), rows, note)
