"""The flags that commands share beside the log and the policies: the question, the bound, and what is written."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from surelift.cli.flag import ANSWER, OUTPUT, QUESTION, Flags, columns, flag, flags, number, number_or_text, two_numbers
from surelift.cli.log_flags import LogFlags
from surelift.cli.policy_flags import PolicyFlags
from surelift.cli.terminal import hush
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.logs.segments import SegmentColumn
    from surelift.results.outcomes import Outcome

CLAIM = "at-least=X (better by at least X), at-most-worse=X, range=LOW,HIGH (by default 0,1) and cost (less is better)"


def delta() -> Any:
    return flag("P", "The probability of error.", default=0.05, group=ANSWER)


def grid() -> Any:
    return flag("anytime|planned", "Smoothings to try: planned is for a single look.", default="anytime")


def quiet() -> Any:
    """Acted on where it is read, before the command runs."""
    text = "No progress and no notes on standard error; only errors."
    return flag("", text, default=False, name=["--quiet", "-q"], validator=hush, group=OUTPUT)


@flags(ANSWER)
class GridFlags(Flags):
    delta: float = delta()
    grid: str = grid()


@flags(ANSWER)
class MethodFlags(Flags):
    delta: float = delta()
    method: str = flag("NAME", "The bound to use; see 'surelift explain'.", default="mixture")
    control: str = flag(
        "NAME", "What narrows the bound: auto, none, weights (needs whole distributions), model (a reward model refitted "
        "in the order of --time), or model:COL (a list column of expected rewards, from a model fitted elsewhere). With "
        "--score, auto is control by the score.", default="auto"
    )  # fmt: skip
    grid: str = grid()
    smoothing: float | None = flag("X", "A single smoothing, for methods that use one; by default 1/sqrt(rounds).")
    draws: int | None = flag("N", "Number of resamples, for methods that resample; by default 1000.")

    def arguments(self) -> dict[str, Any]:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if self.grid == "anytime":
            del given["grid"]  # the default of the bounds that have one
        return {**given, "control": control(self.control)}


@flags(ANSWER)
class ValueFlags(MethodFlags):
    order: int | None = flag("N", "Order of the method 'moments'; by default 2.")
    regularizer: str | None = flag("NAME:X", "Regularizer of the method 'moments', such as clipping:10 or shrinkage:5.")
    clip: float | None = flag("X", "Largest weight, for methods that clip; by default sqrt(rounds).")
    sides: Literal["both", "lower", "upper"] = flag(
        None, "Spend delta on both bounds or on one.", default="both", show_choices=True
    )


def control(text: str) -> Any:
    """The name of a control, or the predictions of a reward model."""
    kind, colon, column = text.partition(":")
    if kind != "model" or not colon:
        return text
    if not column:
        raise UsageError("--control model:COL names the column of expected rewards after the colon.")
    from surelift.controls import models

    return models.given(columns(column))


@flags(QUESTION)
class BaselineFlags(Flags):
    over: str = flag("[NAME=]COL", "The baseline: production, or a column of another policy.", default="production")

    def arguments(self) -> dict[str, Any]:
        name, named, column = self.over.partition("=")
        over = {name: columns(column)} if named and name and column else columns(self.over)
        return {**vars(self), "over": over}


@flags(QUESTION)
class OverFlags(BaselineFlags):
    margin: str = flag(
        "X|X%", "How much better it must be, in units of the reward, or for compare, gate and monitor in per cent: "
        "2%.", default="0", allow_leading_hyphen=True
    )  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "margin": number_or_text(self.margin)}


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
        several = len(self.by or ()) > 1
        listed = [name for text in self.segments or () for name in ([text] if several else text.split(","))]
        return {"by": self.by, "segments": None if self.segments is None else listed}


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


@flags(QUESTION)
class OutcomeFlags(Flags):
    outcome: list[str] | None = flag(
        "[NAME=]COL[:CLAIM]", "Judge by this column beside the reward (compare and monitor: instead of it). After colons: "
        f"{CLAIM}. Delta is split evenly over the outcomes, and certified means that every claim holds. Repeatable."
    )  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        return {"outcomes": parse_outcomes(self.outcome)} if self.outcome else {}


def parse_outcome(text: str, named: str) -> "Outcome":
    """Parse COL:at-least=X or COL:at-most-worse=X, with range=LOW,HIGH and cost as further parts.

    >>> parse_outcome("usd:at-least=0.05:range=0,2:cost", "--outcome")
    Outcome(column='usd', at_least=0.05, at_most_worse=None, range=(0.0, 2.0), cost=True)
    """
    from surelift.results.outcomes import Outcome

    column, *parts = text.split(":")
    claim: dict[str, Any] = {}
    for part in parts:
        name, _, value = part.partition("=")
        if name.replace("-", "_") in claim:
            raise UsageError(f"{named} {text}: {name} is given twice.")
        if part == "cost":
            claim[name] = True
        elif name in ("at-least", "at-most-worse"):
            claim[name.replace("-", "_")] = number(value, f"{named} {text}")
        elif name == "range" and value.count(",") == 1:
            claim[name] = two_numbers(value, f"{named} {text}")
        else:
            raise UsageError(f"{named} {text}: {part!r} cannot be read; give COL, and after colons {CLAIM}.")
    if not column:
        raise UsageError(f"{named} takes COL, and after colons {CLAIM}; not {text!r}.")
    return Outcome(column, **{"range": (0.0, 1.0), **claim})


def parse_outcomes(texts: Sequence[str]) -> "dict[str, Outcome]":
    """Parse several as [NAME=]COL:...

    >>> list(parse_outcomes(["quality:at-least=0.01", "price=usd:cost"]))
    ['quality', 'price']
    """
    outcomes: dict[str, Outcome] = {}
    for text in texts:
        head, colon, rest = text.partition(":")
        name, equals, column = head.partition("=")
        if not name or name in outcomes:
            fault = f"names {name!r} twice" if name else "has no name"
            raise UsageError(f"--outcome {text} {fault}; give each outcome a name of its own, NAME=COL:... or COL:...")
        outcomes[name] = parse_outcome(f"{column if equals else head}{colon}{rest}", "--outcome")
    return outcomes


@flags(OUTPUT)
class AnswerFlags:
    json: bool = flag("", "Print the answer as JSON instead of text.", default=False)
    quiet: bool = quiet()


@flags(OUTPUT)
class FileFlags(AnswerFlags):
    html: str | None = flag("FILE", "Write the answer as one HTML page.")
    csv: str | None = flag("FILE", "Write the answer as a CSV table.")


@flags(OUTPUT)
class OutputFlags(FileFlags):
    certificate: str | None = flag("FILE", "Write a certificate, for 'surelift verify'.")


FLAGS = {
    field.name
    for kind in (LogFlags, PolicyFlags, ValueFlags, OverFlags, SegmentFlags, OutputFlags)
    for field in fields(kind)
}
