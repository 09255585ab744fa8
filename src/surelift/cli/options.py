"""The flags that commands share, and how they become logs and policies."""

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from surelift import importers
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.importers import Imported
    from surelift.learning.learned import LearnedPolicy
    from surelift.logs.logs import Logs
    from surelift.policies.policy import Policy

# Shown in this order by --help.
LOG = Group.create_ordered("The log")
POLICIES = Group.create_ordered("The policies")
QUESTION = Group.create_ordered("The question")
ANSWER = Group.create_ordered("The answer")
OUTPUT = Group.create_ordered("Output")

# What an option of a format is called among the flags.
_IMPORTED = {("open-bandit", "action_count"): "items"}

Sources = Annotated[
    list[str],
    Parameter(
        name="SOURCE",
        help="Parquet, CSV or Arrow files, or VW's dsjson: paths, globs in quotes, or folders.",
        show_default=False,
    ),
]


# Not cyclopts' own conversion, which rounds 2.5.
WHOLE = Parameter(converter=lambda _, tokens: int(tokens[0].value))


def flag(text: str, **options: Any) -> Parameter:
    return Parameter(help=text, show_default=False, **options)


@Parameter(name="*", group=LOG)
@dataclass(frozen=True, kw_only=True)
class LogFlags:
    format: Annotated[
        str | None, flag("Format, if the file name does not tell it: dsjson, cb, cb_adf, open-bandit.")
    ] = None
    reward: Annotated[str | None, flag("Column of the reward.")] = None
    cost: Annotated[str | None, flag("Column of the cost, instead of a reward.")] = None
    propensity: Annotated[str | None, flag("Column of production's probability of the logged action.")] = None
    log_propensity: Annotated[str | None, flag("Column of the natural logarithm of the propensity, instead.")] = None
    action: Annotated[str | None, flag("Column of the logged action: a position, from 0, or a label.")] = None
    actions: Annotated[str | None, flag("Labels of the actions in vector order, separated by commas.")] = None
    logging: Annotated[
        str | None,
        flag("Production's whole distribution: a list column, or one column per action, separated by commas."),
    ] = None
    contexts: Annotated[str | None, flag("Columns known before the action, separated by commas.")] = None
    time: Annotated[str | None, flag("Column of the time of the decision.")] = None
    id: Annotated[str | None, flag("Column that tells rounds apart: no id may come twice.")] = None
    cluster: Annotated[
        str | None, flag("Column of the user, session or slate; its rounds count as one, and must follow each other.")
    ] = None
    cluster_size: Annotated[
        str | None, flag("Number of rounds in a cluster, known before its first action: a number or a column.")
    ] = None
    cluster_max: Annotated[
        int | None, WHOLE, flag("The most rounds a cluster can have, if sizes are not known in advance.")
    ] = None
    keep_probability: Annotated[
        str | None, flag("Column of the probability with which a round was kept, if the log was sampled.")
    ] = None
    rounds_before_sampling: Annotated[int | None, WHOLE, flag("Number of rounds before sampling.")] = None
    action_count: Annotated[str | None, flag("Number of actions to choose from: a number or a column.")] = None
    reward_range: Annotated[
        str,
        Parameter(
            help="LOW,HIGH: the smallest and the largest possible reward (or cost), known in advance.",
            allow_leading_hyphen=True,
        ),
    ] = "0,1"
    density: Annotated[bool, Parameter(help="Propensities and probabilities are densities and may exceed 1.")] = False
    propensity_is_estimated: Annotated[
        bool, Parameter(help="The propensity was estimated, not logged; then nothing is certified.")
    ] = False

    def logs(self, sources: list[str]) -> "Logs":
        from surelift.logs.logs import Logs

        if not sources:
            raise UsageError("no log was given; name the path of a Parquet, CSV or Arrow file.")
        brought = self.imported(sources)
        return Logs(sources, **self.declared()) if brought is None else brought.logs

    def imported(self, sources: list[str]) -> "Imported | None":
        """Logs in another tool's format, which determines their columns."""
        kind = self.format or (importers.format_of(sources[0]) if sources else None)
        if kind is None:
            return None
        default = LogFlags().declared()
        given = {role: value for role, value in self.declared().items() if value != default.get(role)}
        named = {_IMPORTED.get((kind, role), role): value for role, value in given.items()}
        return importers.read(kind, sources, **named)

    def declared(self) -> dict[str, Any]:
        """The arguments of ``Logs`` that were given."""
        given = {role: value for role, value in vars(self).items() if role != "format" and value is not None}
        read: dict[str, Callable[[Any], Any]] = {
            "actions": split, "contexts": split, "logging": columns, "cluster_size": number_or_column,
            "action_count": number_or_column, "reward_range": two_numbers,
        }  # fmt: skip
        return {role: read[role](value) if role in read else value for role, value in given.items()}


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
        flag("[NAME=]FILE: probabilities of all actions, one line per round, as written by 'vw -p'. Repeatable."),
    ] = None
    blend: Annotated[
        list[str] | None,
        flag("NAME=ALPHA: candidate NAME in a share ALPHA of decisions, production in the rest. Repeatable."),
    ] = None

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
            *((text if "=" in text else f"new={text}", importers.predictions) for text in self.predictions or ()),
            *((text, chosen) for text in self.chosen or ()),
            *((text if "=" in text else f"learned={text}", _learned) for text in self.learned or ()),
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


def opened(
    sources: list[str], log: LogFlags, policies: PolicyFlags, *, alone: bool = False
) -> "tuple[Logs, dict[str, Policy]]":
    """The logs, and the candidates (or the one alone): those named, or else those that the format brings along."""
    brought = log.imported(sources)
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
    told = [] if log.format is None else ["--format", log.format]
    for text in policies.predictions or ():
        told += ["--predictions", text]
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
            "in the order of --time), or model:COL (a list column of expected rewards, from a model fitted elsewhere)."
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
    margin: Annotated[float, Parameter(help="How much better it must be, in units of the reward.")] = 0.0

    def arguments(self) -> dict[str, Any]:
        name, named, column = self.over.partition("=")
        over = {name: columns(column)} if named and name and column else columns(self.over)
        return {"over": over, "margin": self.margin}


@Parameter(name="*", group=QUESTION)
@dataclass(frozen=True, kw_only=True)
class SegmentFlags:
    by: Annotated[
        str | None,
        flag("Column of segments known before the action: an answer for each, at delta divided by their number."),
    ] = None
    segments: Annotated[
        str | None,
        flag("All segments, separated by commas, listed in advance; without it the answer is valid at one look."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        return {"by": self.by, "segments": split(self.segments)}


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


def control(text: str) -> Any:
    """The name of a control, or the predictions of a reward model."""
    kind, colon, column = text.partition(":")
    if kind != "model" or not colon:
        return text
    if not column:
        raise UsageError("--control model:COL names the column of expected rewards after the colon.")
    from surelift.controls import models

    return models.given(columns(column))


def split(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")


def columns(text: str | None) -> Any:
    """A column, or several separated by commas, for a vector over actions."""
    return text.split(",") if text is not None and "," in text else text


def number_or_column(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 100 else text


def two_numbers(text: str) -> tuple[float, float]:
    """A range, as LOW,HIGH."""
    parts = text.split(",")
    if len(parts) != 2:
        raise UsageError(f"--reward-range takes two numbers separated by a comma, such as 0,80, not {text!r}.")
    return number(parts[0], "--reward-range"), number(parts[1], "--reward-range")


def number(text: str, subject: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{subject}: {text!r} is not a number.") from error
