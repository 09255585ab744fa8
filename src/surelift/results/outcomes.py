"""Several outcomes of one candidate, and what is claimed of each: quality up, cost down, latency not much worse."""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal

from surelift.errors import UsageError, exact, is_number, printed
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import dict_key
from surelift.results.several import ByName
from surelift.views.figures import Intervals
from surelift.views.formats import baseline_name, plain, quoted
from surelift.views.page import Page, Paragraph, Section
from surelift.views.tables import interval_cells
from surelift.views.text import aligned, doubt_lines, lines


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
    at_most_worse: float | None = None
    range: tuple[float, float] = (0.0, 1.0)
    cost: bool = False

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise UsageError(fault)
        if self.at_least is None and self.at_most_worse is None:
            object.__setattr__(self, "at_least", 0.0)
        for name in ("at_least", "at_most_worse"):
            if (amount := getattr(self, name)) is not None:
                object.__setattr__(self, name, float(amount))
        object.__setattr__(self, "range", tuple(map(float, self.range)))

    def _faults(self) -> Iterator[str]:
        """What is wrong, each found only where nothing before it is."""
        if not isinstance(self.column, str):
            yield f"an outcome needs the name of a column, but got a {type(self.column).__name__}."
        outcome = f"outcome {self.column!r}"
        if not isinstance(self.cost, bool):
            yield f"{outcome}: cost must be True or False, but is {printed(self.cost)}."
        if self.at_least is not None and self.at_most_worse is not None:
            yield (
                f"{outcome} is given at_least= and at_most_worse=, but makes one claim: better by at least so much, or "
                "worse by at most so much."
            )
        for name in ("at_least", "at_most_worse"):
            amount = getattr(self, name)
            if amount is not None and not (is_number(amount) and 0.0 <= exact(amount) <= sys.float_info.max):
                yield (
                    f"{outcome}: {name}= must be a number of at least 0, not {printed(amount)}; for a cost, too, a better "
                    "candidate has a positive improvement."
                )
        limits = tuple(self.range) if isinstance(self.range, tuple | list) else ()
        low, high = map(float, limits) if len(limits) == 2 and all(map(is_number, limits)) else (math.nan, math.nan)
        if not (low < high and math.isfinite(high - low)):
            yield (
                f"{outcome}: range must be two finite numbers, the smaller first, from what a value can be, not from the "
                f"observed extremes, but is {printed(self.range)}."
            )
        if abs(self.margin) >= high - low:
            yield (
                f"{outcome}: a change of {plain(abs(self.margin))} is claimed, but none can be that large: its values lie "
                f"in [{low:g}, {high:g}]. Claims are in the units of the column; declare its range if that is another."
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
        """The outcome as certificates store it; ``margin`` is what it may get worse by."""
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
    rounds: int
    provenance: Provenance = field(compare=False)

    title: ClassVar = "Does every claim hold?"
    derived: ClassVar = ("certified",)

    @property
    def certified(self) -> bool:
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
        def claimed(names: Iterable[str]) -> list[str]:
            return [f"{quoted(name)} is {self.claims[name].words}" for name in names]

        instead = f"with {quoted(self.first.policy)} instead of {baseline_name(self.first.over)}"
        open_claims = [name for name, result in self.results.items() if not self.claims[name].reached(result)]
        ruled_out = [name for name in open_claims if self.results[name].ruled_out]
        if ruled_out:
            return f"Not certified: {instead}, it is ruled out that {', and that '.join(claimed(ruled_out))}."
        if open_claims:
            return f"Not certified: {instead}, these rounds do not show that {', and that '.join(claimed(open_claims))}."
        *others, last = claimed(self.results)
        every = f"{', '.join(others)} and {last}" if others else last
        if self.certified:
            return f"Certified: {instead}, {every}."
        return f"Not certified: {instead}, it looks as if {every}, but this is in doubt: {'; '.join(self.doubts)}."

    def text(self) -> str:
        first = self.first
        head = f"Improvements of {quoted(first.policy)} over {baseline_name(first.over)}, {self.rounds:,} {first.counted}"
        rows: list[tuple[str, ...]] = [("outcome", "estimate", "at least", "at most", "claim", "verdict")]
        for name, result in self.results.items():
            row = result.interval(name)
            rows.append((quoted(name), *interval_cells(row, sign=True), self.claims[name].words, row.verdict))
        split = f"Each outcome is in its own units and bounded at delta {self.delta / len(self):g}. {self.together()}"
        return lines(f"{head}; positive is better", aligned(rows), split, doubt_lines(self.doubts), self.sentence())

    def figure(self) -> Intervals:
        return claims_figure(self.results)

    def lead(self) -> tuple[str, ...]:
        return f"{self.rounds:,} {self.first.counted}.", self.together()

    def page(self) -> Page:
        asked = (f"{quoted(name)}, column {quoted(claim.column)}: {claim.words}" for name, claim in self.claims.items())
        paragraph = Paragraph("Delta is split evenly over these claims:", items=tuple(asked))
        return ByName.page(self).with_section(Section("The claims", (paragraph,)))

    def record_of(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": name, "column": self.claims[name].column, "claim": self.claims[name].words, **record}


def claims_figure(results: Mapping[str, Improvement]) -> Intervals:
    """An interval for each claim, in its own units, beside the margin that its lower bound must exceed."""
    rows = tuple(result.interval(name) for name, result in results.items())
    over = baseline_name(next(iter(results.values())).over)
    return Intervals(f"improvement over {over}, each in its own units", rows, signed=True, column="claim", own_units=True)
