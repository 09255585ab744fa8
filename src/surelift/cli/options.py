"""The flags that commands share: the question, the bound, and what is written."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from surelift.cli.flag import ANSWER, OUTPUT, QUESTION, WHOLE, columns, flag, number
from surelift.cli.log_flags import LogFlags
from surelift.cli.policy_flags import PolicyFlags
from surelift.cli.terminal import hush
from surelift.errors import UsageError, printed

if TYPE_CHECKING:
    from surelift.logs.segments import SegmentColumn

# Acted on where it is read, before the command runs.
QuietFlag = Annotated[
    bool,
    flag(
        "",
        "No progress and no notes on standard error; only errors.",
        name=["--quiet", "-q"],
        group=OUTPUT,
        validator=hush,
    ),
]
DeltaFlag = Annotated[float, Parameter(help="The probability of error.", metavar="P", group=ANSWER)]
GridFlag = Annotated[
    str,
    Parameter(help="Smoothings to try: planned is for a single look.", metavar="anytime|planned", group=ANSWER),
]


@Parameter(name="*", group=ANSWER)
@dataclass(frozen=True, kw_only=True)
class MethodFlags:
    delta: DeltaFlag = 0.05
    method: Annotated[str, Parameter(help="The bound to use; see 'surelift explain'.", metavar="NAME")] = "mixture"
    control: Annotated[
        str,
        Parameter(
            help="What narrows the bound: auto, none, weights (needs whole distributions), model (a reward model refitted "
            "in the order of --time), or model:COL (a list column of expected rewards, from a model fitted elsewhere). "
            "With --score, auto is control by the score.",
            metavar="NAME",
        ),
    ] = "auto"
    grid: GridFlag = "anytime"
    smoothing: Annotated[
        float | None, flag("X", "A single smoothing, for methods that use one; by default 1/sqrt(rounds).")
    ] = None
    draws: Annotated[int | None, WHOLE, flag("N", "Number of resamples, for methods that resample; by default 1000.")] = None

    def arguments(self, **options: Any) -> dict[str, Any]:
        """Delta, the bound with its options, and the control; ``options`` are those of further flags."""
        from surelift.bounds import BOUNDS

        if self.method not in BOUNDS:
            raise UsageError(f"no method {self.method!r}; the methods are {', '.join(BOUNDS)}.")
        grid = None if self.grid == "anytime" else self.grid
        given = {"grid": grid, "smoothing": self.smoothing, "draws": self.draws, **options}
        chosen = {name: value for name, value in given.items() if value is not None}
        return {"delta": self.delta, "method": BOUNDS[self.method](**chosen), "control": control(self.control)}


@Parameter(name="*", group=ANSWER)
@dataclass(frozen=True, kw_only=True)
class MomentFlags:
    order: Annotated[int | None, WHOLE, flag("N", "Order of the method 'moments'; by default 2.")] = None
    regularizer: Annotated[
        str | None, flag("NAME:X", "Regularizer of the method 'moments', such as clipping:10 or shrinkage:5.")
    ] = None
    clip: Annotated[float | None, flag("X", "Largest weight, for methods that clip; by default sqrt(rounds).")] = None

    def arguments(self) -> dict[str, Any]:
        return {"order": self.order, "regularizer": self.regularizer, "clip": self.clip}


OverFlag = Annotated[
    str,
    Parameter(help="The baseline: production, or a column of another policy.", metavar="[NAME=]COL", group=QUESTION),
]


def baseline(text: str) -> Any:
    """The argument ``over``: a column, or a name and its column."""
    name, named, column = text.partition("=")
    return {name: columns(column)} if named and name and column else columns(text)


@Parameter(name="*", group=QUESTION)
@dataclass(frozen=True, kw_only=True)
class OverFlags:
    over: OverFlag = "production"
    margin: Annotated[
        str,
        Parameter(
            help="How much better it must be, in units of the reward, or for compare, gate and monitor in per cent: 2%.",
            metavar="X|X%",
            allow_leading_hyphen=True,
        ),
    ] = "0"

    def arguments(self) -> dict[str, Any]:
        margin = self.margin if self.margin.rstrip().endswith("%") else _margin(self.margin)
        return {"over": baseline(self.over), "margin": margin}


def _margin(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--margin takes a number, or per cent such as 2%, not {printed(text)}.") from error


ByFlag = Annotated[
    list[str] | None,
    flag(
        "COL[:EDGE,...]",
        "Column of segments known before the action, or bins of its numbers (age:18,30,50): an answer for each. Bounds "
        "share delta. Repeatable: the segments are then the combinations.",
        group=QUESTION,
    ),
]


@Parameter(name="*", group=QUESTION)
@dataclass(frozen=True, kw_only=True)
class SegmentFlags:
    by: ByFlag = None
    segments: Annotated[
        list[str] | None,
        flag(
            "A,B,...",
            "All segments, listed in advance; without it the answer is valid at one look at independent rounds. With "
            "several --by, one combination, such as FR,phone. Repeatable.",
        ),
    ] = None

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
        if text in present or not colon:
            if text not in present and "," in text:
                raise UsageError(f"no column is called {text!r}; repeat --by for several columns.")
            parts.append(text)
        else:
            subject = f"--by {text}, bins of {column!r}"
            parts.append(bins(column, [number(edge, subject) for edge in edges.split(",")]))
    return parts


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class AnswerFlags:
    json: Annotated[bool, flag("", "Print the answer as JSON instead of text.")] = False
    quiet: QuietFlag = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class FileFlags(AnswerFlags):
    html: Annotated[str | None, flag("FILE", "Write the answer as one HTML page.")] = None
    csv: Annotated[str | None, flag("FILE", "Write the answer as a CSV table.")] = None


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputFlags(FileFlags):
    certificate: Annotated[str | None, flag("FILE", "Write a certificate, for 'surelift verify'.")] = None


FLAGS = {
    field.name
    for kind in (LogFlags, PolicyFlags, MethodFlags, MomentFlags, OverFlags, SegmentFlags, OutputFlags)
    for field in fields(kind)
}
SidesFlag = Annotated[
    Literal["both", "lower", "upper"], Parameter(help="Spend delta on both bounds or on one.", group=ANSWER)
]


def control(text: str) -> Any:
    """The name of a control, or the predictions of a reward model."""
    kind, colon, column = text.partition(":")
    if kind != "model" or not colon:
        return text
    if not column:
        raise UsageError("--control model:COL names the column of expected rewards after the colon.")
    from surelift.controls import models

    return models.given(columns(column))
