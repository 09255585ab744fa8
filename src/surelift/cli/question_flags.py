"""The flags of a question: the baseline, segments and outcomes."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from surelift.cli.flag import QUESTION, Flags, columns, flag, flags, number, number_or_text, refuse_first, two_numbers
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.logs.segments import SegmentColumn
    from surelift.results.outcomes import Outcome

CLAIM = "at-least=X (better by at least X), at-most-worse=X, range=LOW,HIGH (by default 0,1) and cost (less is better)"
# How the value of each part of a claim is read.
_PARTS: Mapping[str, Any] = {"at-least": number, "at-most-worse": number, "range": two_numbers, "cost": lambda *_: True}


def baseline(text: str) -> Any:
    """A column or columns, or a name with them."""
    name, named, column = text.partition("=")
    return {name: columns(column)} if named and name and column else columns(text)


@flags(QUESTION)
class BaselineFlags(Flags):
    over: str = flag(
        "[NAME=]COL", "The baseline: production, or a column of another policy.", default="production", read=baseline
    )


@flags(QUESTION)
class OverFlags(BaselineFlags):
    margin: str = flag(
        "X|X%", "How much better it must be, in units of the reward, or for compare, gate and monitor in per cent: "
        "2%.", default="0", allow_leading_hyphen=True, read=number_or_text
    )  # fmt: skip


@flags(QUESTION)
class ByFlags(Flags):
    by: list[str] | None = flag(
        "COL[:EDGE,...]", "Column of segments known before the action, or bins of its numbers (age:18,30,50): an answer "
        "for each. Bounds share delta. Repeatable: the segments are then the combinations."
    )  # fmt: skip


@flags(QUESTION)
class SegmentFlags(ByFlags):
    segments: list[str] | None = flag(
        "A,B,...", "All segments, listed in advance; without it the answer is valid at one look at independent rounds. "
        "With several --by, one combination, such as FR,phone. Repeatable."
    )  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        found = super().arguments()
        if len(self.by or ()) <= 1 and self.segments is not None:
            found["segments"] = [name for text in self.segments for name in text.split(",")]
        return found


def by_columns(texts: list[str], present: Collection[str]) -> "list[SegmentColumn]":
    """Columns of segments; a column that is called so comes before bins."""
    from surelift.logs.segments import bins

    parts: list[SegmentColumn] = []
    for text in texts:
        column, colon, edges = text.rpartition(":")
        if text in present or (not colon and "," not in text):
            parts.append(text)
        elif colon:
            parts.append(bins(column, [number(edge, f"--by {text}, bins of {column!r}") for edge in edges.split(",")]))
        else:
            raise UsageError(f"no column is called {text!r}; repeat --by for several columns.")
    return parts


def parse_outcome(text: str, named: str) -> "Outcome":
    """Parse COL:at-least=X or COL:at-most-worse=X, with range=LOW,HIGH and cost as further parts.

    >>> parse_outcome("usd:at-least=0.05:range=0,2:cost", "--outcome")
    Outcome(column='usd', at_least=0.05, at_most_worse=None, range=(0.0, 2.0), cost=True)
    """
    from surelift.results.outcomes import Outcome

    column, *parts = text.split(":")
    claim: dict[str, Any] = {"range": (0.0, 1.0)}
    for part in parts:
        name, equals, value = part.partition("=")
        readable = name in _PARTS and bool(equals) != (name == "cost") and (name != "range" or value.count(",") == 1)
        twice = sum(each.partition("=")[0] == name for each in parts) > 1
        refusals = {
            f"{named} {text}: {name} is given twice.": readable and twice,
            f"{named} {text}: {part!r} cannot be read; give COL, and after colons {CLAIM}.": not readable,
        }
        refuse_first(refusals)
        claim[name.replace("-", "_")] = _PARTS[name](value, f"{named} {text}")
    refuse_first({f"{named} takes COL, and after colons {CLAIM}; not {text!r}.": not column})
    return Outcome(column, **claim)


def parse_outcomes(texts: Sequence[str]) -> "dict[str, Outcome]":
    """Parse several as [NAME=]COL:..."""
    outcomes: dict[str, Outcome] = {}
    for text in texts:
        head, colon, rest = text.partition(":")
        name, equals, column = head.partition("=")
        if not name or name in outcomes:
            fault = f"names {name!r} twice" if name else "has no name"
            raise UsageError(f"--outcome {text} {fault}; give each outcome a name of its own, NAME=COL:... or COL:...")
        outcomes[name] = parse_outcome(f"{column if equals else head}{colon}{rest}", "--outcome")
    return outcomes


@flags(QUESTION)
class OutcomeFlags(Flags):
    outcome: list[str] | None = flag(
        "[NAME=]COL[:CLAIM]", "Judge by this column beside the reward (compare and monitor: instead of it). After colons: "
        f"{CLAIM}. Delta is split evenly over the outcomes, and certified means that every claim holds. Repeatable."
    )  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        return {"outcomes": parse_outcomes(self.outcome)} if self.outcome else {}


@flags(QUESTION)
class GateFlags(OverFlags):
    guardrails: list[str] | None = flag(
        "COL:CLAIM", "An outcome beside the reward that must not get worse by more than X: COL:at-most-worse=X. After "
        f"colons: {CLAIM}. Delta is split evenly over the improvement and the guardrails. Repeatable.", name="--guardrail",
        read=lambda texts: [parse_outcome(text, "--guardrail") for text in texts],
    )  # fmt: skip
