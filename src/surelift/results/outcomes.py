"""Several outcomes of one candidate, and what is claimed of each: quality up, cost down, latency not much worse."""

import math
import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal

from surelift.errors import UsageError, exact, is_number, printed
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import ByName, dict_key
from surelift.views.figures import Intervals
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import plain
from surelift.views.page import Page, Paragraph, Section
from surelift.views.tables import decimals_of, interval_cells
from surelift.views.text import aligned, all_hold, doubt_lines, lines


@dataclass(frozen=True, slots=True)
class Outcome:
    """A column of rewards or costs that judges the candidate, and what is claimed of it, in the units of the column.

    Without a claim it must get better: ``at_least`` is 0.

    Args:
        column: The column.
        at_least: The claim that it gets better by more than this.
        at_most_worse: The claim that it does not get worse by more than this.
        range: What a value can be, declared and never read off the data.
        cost: Whether less is better.
    """

    column: str
    _: KW_ONLY
    at_least: float | None = None
    """It gets better by more than this."""
    at_most_worse: float | None = None
    """It does not get worse by more than this."""
    range: tuple[float, float] = (0.0, 1.0)
    """What a value can be, declared and never read off the data."""
    cost: bool = False
    """Whether less is better."""

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise UsageError(f"an outcome needs the name of a column, but got a {type(self.column).__name__}.")
        if self.at_least is not None and self.at_most_worse is not None:
            raise UsageError(
                f"outcome {self.column!r} is given at_least= and at_most_worse=, but makes one claim: better by at least "
                "so much, or worse by at most so much."
            )
        if self.at_least is None and self.at_most_worse is None:
            object.__setattr__(self, "at_least", 0.0)
        for name in ("at_least", "at_most_worse"):
            amount = getattr(self, name)
            if amount is None:
                continue
            if not (is_number(amount) and 0.0 <= exact(amount) <= sys.float_info.max):
                raise UsageError(
                    f"outcome {self.column!r}: {name}= must be a number of at least 0, not {printed(amount)}; for a cost, "
                    "too, a better candidate has a positive improvement."
                )
            object.__setattr__(self, name, float(amount))
        object.__setattr__(self, "range", self._checked_range())
        low, high = self.range
        if abs(self.margin) >= high - low:
            raise UsageError(
                f"outcome {self.column!r}: a change of {plain(abs(self.margin))} is claimed, but none can be that large: "
                f"its values lie in [{low:g}, {high:g}]. Claims are in the units of the column; declare its range if that "
                "is another."
            )

    def _checked_range(self) -> tuple[float, float]:
        limits = tuple(self.range) if isinstance(self.range, tuple | list) else ()
        if len(limits) == 2 and all(map(is_number, limits)):
            low, high = float(limits[0]), float(limits[1])
            if low < high and math.isfinite(high - low):
                return low, high
        raise UsageError(
            f"outcome {self.column!r}: range must be two finite numbers, the smaller first, from what a value can be, "
            f"not from the observed extremes, but is {printed(self.range)}."
        )

    @property
    def margin(self) -> float:
        """What the improvement must exceed: negative where it may get worse."""
        return self.at_least if self.at_least is not None else 0.0 - (self.at_most_worse or 0.0)

    @property
    def words(self) -> str:
        """
        >>> Outcome("usd", at_least=0.05, cost=True).words, Outcome("ms", at_most_worse=50, range=(0, 900)).words
        ('lower by at least 0.05', 'worse by no more than 50')
        """
        if self.at_least is None:
            return f"worse by no more than {plain(self.at_most_worse or 0.0)}" if self.at_most_worse else "not worse"
        better = "lower" if self.cost else "higher"
        return f"{better} by at least {plain(self.at_least)}" if self.at_least else better

    def reached(self, result: Improvement) -> bool:
        """Not worse is enough for ``at_most_worse``: unlike an improvement, a change of exactly minus the margin holds."""
        return result.lower >= self.margin if self.at_least is None else result.lower > self.margin

    def held(self, result: Improvement) -> Improvement:
        return replace(result, certified=self.reached(result) and not result.doubts)

    def describe(self) -> dict[str, Any]:
        """As certificates store it; ``margin`` is what it may get worse by."""
        claim = {"margin": self.at_most_worse} if self.at_least is None else {"at_least": self.at_least}
        return {"column": self.column, **claim, "reward_range": list(self.range), "cost": self.cost}


def outcome_from(description: Mapping[str, Any]) -> Outcome:
    """Read what ``describe`` wrote."""
    names = {"margin": "at_most_worse", "reward_range": "range"}
    return Outcome(**{names.get(name, name): value for name, value in description.items()})


@dataclass(frozen=True, slots=True, repr=False)
class Outcomes(ByName[Improvement]):
    """The improvement of each outcome, by name; all lower bounds hold at once, each at delta divided by their number."""

    results: Mapping[str, Improvement] = field(metadata=dict_key("outcomes"))
    claims: Mapping[str, Outcome]
    delta: float
    """The probability that any of the lower bounds fails."""
    rounds: int
    provenance: Provenance = field(compare=False)

    title: ClassVar = "Does every claim hold?"
    derived: ClassVar = ("certified",)

    @property
    def certified(self) -> bool:
        """Whether every claim holds."""
        return all(result.certified for result in self.results.values())

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(self.all_of("assumptions"))

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(self.all_of("doubts"))

    def all_of(self, kind: Literal["assumptions", "doubts"]) -> Mapping[str, None]:
        """Each once; what not all outcomes have in common, such as a range, with the name of its outcome."""
        texts = {name: getattr(result, kind) for name, result in self.results.items()}
        shared = set(getattr(self.first, kind)).intersection(*texts.values())
        return dict.fromkeys(
            text if text in shared else f"{quoted(name)}: {text}" for name, own in texts.items() for text in own
        )

    def sentence(self) -> str:
        instead = f"{quoted(self.first.policy)} instead of {baseline_name(self.first.over)}"
        left = [name for name, result in self.results.items() if not self.claims[name].reached(result)]
        if not left:
            *others, last = self._told(list(self.results))
            told = f"{', '.join(others)} and {last}" if others else last
            if self.certified:
                return f"Certified: with {instead}, {told}."
            return f"Not certified: with {instead}, it looks as if {told}, but this is in doubt: {'; '.join(self.doubts)}."
        ruled_out = [name for name in left if self.results[name].ruled_out]
        if ruled_out:
            return f"Not certified: with {instead}, it is ruled out that {', and that '.join(self._told(ruled_out))}."
        return f"Not certified: with {instead}, these rounds do not show that {', and that '.join(self._told(left))}."

    def _told(self, names: list[str]) -> list[str]:
        return [f"{quoted(name)} is {self.claims[name].words}" for name in names]

    def together(self) -> str:
        return f"Together, all lower bounds {all_hold(self.first.promise, self.delta)}."

    def text(self) -> str:
        first, share = self.first, self.delta / len(self)
        head = f"Improvements of {quoted(first.policy)} over {baseline_name(first.over)}, {self.rounds:,} {first.counted}"
        rows: list[tuple[str, ...]] = [("outcome", "estimate", "at least", "at most", "claim", "verdict")]
        for name, result in self.results.items():
            row = result.interval(name)
            cells = interval_cells(row, decimals_of(row), sign=True)
            rows.append((quoted(name), *cells, self.claims[name].words, row.verdict))
        split = f"Each outcome is in its own units and bounded at delta {share:g}. {self.together()}"
        return lines(f"{head}; positive is better", aligned(rows), split, doubt_lines(self.doubts), self.sentence())

    def figure(self) -> Intervals:
        return claims_figure(self.results, over=self.first.over)

    def lead(self) -> tuple[str, ...]:
        return (f"{self.rounds:,} {self.first.counted}.", self.together())

    def page(self) -> Page:
        asked = (f"{quoted(name)}, column {quoted(claim.column)}: {claim.words}" for name, claim in self.claims.items())
        paragraph = Paragraph("Delta is split evenly over these claims:", items=tuple(asked))
        return ByName.page(self).with_section(Section("The claims", (paragraph,)))

    def records(self) -> list[dict[str, Any]]:
        return [
            {"outcome": name, "column": self.claims[name].column, "claim": self.claims[name].words, **record}
            for name, result in self.results.items()
            for record in result.records()
        ]


def claims_figure(results: Mapping[str, Improvement], *, over: str) -> Intervals:
    """An interval for each claim, in its own units, beside the margin that its lower bound must exceed."""
    rows = tuple(result.interval(name) for name, result in results.items())
    label = f"improvement over {baseline_name(over)}, each in its own units"
    return Intervals(label, rows, signed=True, column="claim", own_units=True)
