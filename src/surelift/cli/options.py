"""The flags that commands share, and how they become logs and policies."""

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import ANSWER, OUTPUT, POLICIES, QUESTION, WHOLE, columns, flag, number, wins_flag
from surelift.cli.log_flags import LogFlags
from surelift.errors import UsageError, printed

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy
    from surelift.logs.logs import Logs
    from surelift.logs.segments import SegmentColumn
    from surelift.policies.policy import Policy

Sources = Annotated[
    list[str],
    Parameter(
        name="SOURCE",
        help="Parquet, CSV, JSON lines or Arrow files, or VW's dsjson: paths, globs in quotes, folders, s3://, gs://, "
        "abfs:// or https://, or - for standard input.",
        show_default=False,
    ),
]


@Parameter(name="*", group=POLICIES)
@dataclass(frozen=True, kw_only=True)
class PolicyFlags:
    policy: Annotated[
        list[str] | None,
        flag("[NAME=]COL: column of the candidate's probability of the logged action, or a list column. Repeatable."),
    ] = None
    chosen: Annotated[
        list[str] | None, flag("[NAME=]COL: column of the action a deterministic candidate would take. Repeatable.")
    ] = None
    learned: Annotated[list[str] | None, flag("[NAME=]FILE: a policy written by 'surelift learn'. Repeatable.")] = None
    predictions: Annotated[
        list[str] | None,
        flag(
            "[NAME=]FILE: probabilities of all actions, or one action, a line per round, as 'vw -p' writes. Repeatable."
        ),
    ] = None
    first_action: Annotated[
        int | None,
        WHOLE,
        flag("Number of the first action, 0 or 1, in --predictions of one action, if it is not told."),
    ] = None
    blend: Annotated[
        list[str] | None,
        flag("NAME=ALPHA: candidate NAME in a share ALPHA of decisions, production in the rest. Repeatable."),
    ] = None
    policy_wins: Annotated[
        list[str] | None,
        flag("[NAME=]K,M: columns of how many of M draws of a candidate took the logged action. Repeatable."),
    ] = None

    def columns(self) -> list[str]:
        """Those of the candidates of pages, which are nothing but columns."""
        for role in ("chosen", "learned", "predictions", "policy_wins"):
            if getattr(self, role):
                raise UsageError(f"--slate takes candidates by --policy COLUMN, and no --{role.replace('_', '-')}.")
        if not self.policy:
            raise UsageError("no candidate was named; say --policy COLUMN, or --policy NAME=COLUMN.")
        return list(dict.fromkeys(text.partition("=")[2] or text for text in self.policy))

    def policies(
        self, brought: "Mapping[str, Policy] | None" = None, present: Collection[str] = ()
    ) -> "dict[str, Policy]":
        """The candidates that were named; ``brought`` come with a format, ``present`` are the columns of the log."""
        from surelift.policies.resolve import as_policy, blend, chosen

        named: dict[str, Policy] = {}
        blended: dict[str, tuple[str, Policy]] = {}
        with_logs = brought or {}
        given: list[tuple[str, Callable[[str], Policy]]] = [
            *((text, lambda column: with_logs.get(column) or as_policy(columns(column))) for text in self.policy or ()),
            *((text if "=" in text else f"new={text}", self._predicted) for text in self.predictions or ()),
            *((text, chosen) for text in self.chosen or ()),
            *((text if "=" in text else f"learned={text}", _learned) for text in self.learned or ()),
            *((text if "=" in text else f"new={text}", _drawn) for text in self.policy_wins or ()),
        ]
        for text, make in given:
            name, _, column = text.partition("=") if "=" in text and text not in present else (text, "=", text)
            if not name or not column:
                raise UsageError(f"--policy and --chosen take NAME=COLUMN or COLUMN, not {text!r}.")
            if name in named:
                raise UsageError(f"policy {name!r} is named twice; give each candidate a name of its own, NAME=COLUMN.")
            named[name] = make(column)
        for text in self.blend or ():
            name, _, alpha = text.rpartition("=")
            if name not in named:
                known, such = ", ".join(named) or "none", next(iter(named), "new")
                told = f"--blend takes NAME=ALPHA for a candidate ({known}), such as {such}=0.1"
                raise UsageError(f"{told}; {text!r} names none.")
            if name in blended:
                raise UsageError(
                    f"--blend gives candidate {name!r} two shares; name it twice with --policy to try both."
                )
            share = number(alpha, f"--blend {text}")
            # Under a name that says so: 10% of a policy is not the policy.
            blended[name] = (f"{100 * share:g}% {name}", blend(named[name], share))
        pairs = [blended.get(name, (name, policy)) for name, policy in named.items()]
        if len({name for name, _ in pairs}) != len(pairs):
            raise UsageError(f"--blend would give two candidates one name: {', '.join(name for name, _ in pairs)}.")
        return dict(pairs)

    def _predicted(self, path: str) -> "Policy":
        number: Any = self.first_action
        return importers.predictions(path, first_action=number)


def opened(
    sources: list[str], log: LogFlags, policies: PolicyFlags, *, alone: bool = False
) -> "tuple[Logs, dict[str, Policy]]":
    """The logs, and the candidates (or the one alone): those named, or else those that the format brings along."""
    brought = log.imported(sources) if log.slate is None else log.pages(sources, policies.columns())
    logs = log.logs(sources) if brought is None else brought.logs
    with_logs = {} if brought is None else dict(brought.policies)
    named = policies.policies(with_logs, logs.column_names()) or with_logs
    if not named:
        raise UsageError("no candidate was named; say --policy COLUMN, or --policy NAME=COLUMN.")
    if alone and len(named) > 1:
        raise UsageError(
            f"there are {len(named)} candidates ({', '.join(named)}), but this command takes one: say --policy NAME, or use "
            "'surelift select'."
        )
    return logs, named


def again(log: LogFlags, policies: PolicyFlags) -> str:
    """The flags that ``verify`` needs again, because a certificate does not hold them."""
    named = {
        "--format": log.format, "--slate": log.slate, "--separator": log.separator, "--encoding": log.encoding,
    }  # fmt: skip
    told = [part for name, value in named.items() if value is not None for part in (name, value)]
    for text in policies.predictions or ():
        told += ["--predictions", text]
    if policies.first_action is not None:
        told += ["--first-action", str(policies.first_action)]
    return "".join(f" {shlex.quote(part)}" for part in told)


@Parameter(name="*", group=ANSWER)
@dataclass(frozen=True, kw_only=True)
class MethodFlags:
    delta: Annotated[float, Parameter(help="The probability of error.")] = 0.05
    method: Annotated[str, Parameter(help="The bound to use; see 'surelift explain'.")] = "mixture"
    control: Annotated[
        str,
        Parameter(
            help="What narrows the bound: auto, none, weights (needs whole distributions), model (a reward model refitted "
            "in the order of --time), or model:COL (a list column of expected rewards, from a model fitted elsewhere). "
            "With --score, auto is control by the score."
        ),
    ] = "auto"
    grid: Annotated[str, Parameter(help="Smoothings to try: anytime, or planned for a single look.")] = "anytime"
    smoothing: Annotated[
        float | None, flag("A single smoothing, for methods that use one; by default 1/sqrt(rounds).")
    ] = None
    draws: Annotated[int | None, WHOLE, flag("Number of resamples, for methods that resample; by default 1000.")] = None

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
    order: Annotated[int | None, WHOLE, flag("Order of the method 'moments'; by default 2.")] = None
    regularizer: Annotated[
        str | None, flag("Regularizer of the method 'moments', as NAME:NUMBER, such as clipping:10 or shrinkage:5.")
    ] = None
    clip: Annotated[float | None, flag("Largest weight, for methods that clip; by default sqrt(rounds).")] = None

    def arguments(self) -> dict[str, Any]:
        return {"order": self.order, "regularizer": self.regularizer, "clip": self.clip}


@Parameter(name="*", group=QUESTION)
@dataclass(frozen=True, kw_only=True)
class OverFlags:
    over: Annotated[str, Parameter(help="The baseline: 'production', or a column of another policy.")] = "production"
    margin: Annotated[
        str,
        Parameter(
            help="How much better it must be, in units of the reward, or for compare, gate and monitor in per cent: 2%.",
            allow_leading_hyphen=True,
        ),
    ] = "0"

    def arguments(self) -> dict[str, Any]:
        name, named, column = self.over.partition("=")
        over = {name: columns(column)} if named and name and column else columns(self.over)
        margin = self.margin if self.margin.rstrip().endswith("%") else _margin(self.margin)
        return {"over": over, "margin": margin}


def _margin(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--margin takes a number, or per cent such as 2%, not {printed(text)}.") from error


@Parameter(name="*", group=QUESTION)
@dataclass(frozen=True, kw_only=True)
class SegmentFlags:
    by: Annotated[
        list[str] | None,
        flag(
            "COL, or COL:EDGE,EDGE,... for bins of numbers (age:18,30,50): segments known before the action, with an answer "
            "for each at delta divided by their number. Repeatable: the segments are then the combinations."
        ),
    ] = None
    segments: Annotated[
        list[str] | None,
        flag(
            "All segments, separated by commas, listed in advance; without it the answer is valid at one look. With several "
            "--by, one combination, such as FR,phone. Repeatable."
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
class OutputFlags:
    json: Annotated[bool, Parameter(help="Print the answer as JSON on standard output.")] = False
    certificate: Annotated[str | None, flag("Write a certificate to this file, for 'surelift verify'.")] = None
    html: Annotated[str | None, flag("Write the answer as one HTML page to this file.")] = None
    csv: Annotated[str | None, flag("Write the answer as a CSV table to this file.")] = None


FLAGS = {
    field.name
    for kind in (LogFlags, PolicyFlags, MethodFlags, MomentFlags, OverFlags, SegmentFlags, OutputFlags)
    for field in fields(kind)
}
JsonFlag = Annotated[bool, Parameter(help="Print the answer as JSON on standard output.", group=OUTPUT)]
SidesFlag = Annotated[
    Literal["both", "lower", "upper"], Parameter(help="Spend delta on both bounds or on one.", group=ANSWER)
]


def load_learned(path: str) -> "LearnedPolicy":
    from surelift.learning.learned import LearnedPolicy

    return LearnedPolicy.load(path)


def _learned(path: str) -> "Policy":
    from surelift.policies.resolve import as_policy

    return as_policy(load_learned(path))


def _drawn(counts: str) -> "Policy":
    from surelift.policies.resolve import as_policy

    return as_policy(wins_flag(counts, "--policy-wins"))


def control(text: str) -> Any:
    """The name of a control, or the predictions of a reward model."""
    kind, colon, column = text.partition(":")
    if kind != "model" or not colon:
        return text
    if not column:
        raise UsageError("--control model:COL names the column of expected rewards after the colon.")
    from surelift.controls import models

    return models.given(columns(column))
