"""The flags that name the log and the candidates, and how they become logs and policies."""

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import POLICIES, WHOLE, columns, flag, number, wins
from surelift.cli.log_flags import LogFlags
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy
    from surelift.policies.policy import Policy
    from surelift.traits.logs import Logs

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
        flag("[NAME=]COL", "Column of the candidate's probability of the logged action, or a list column. Repeatable."),
    ] = None
    chosen: Annotated[
        list[str] | None, flag("[NAME=]COL", "Column of the action a deterministic candidate would take. Repeatable.")
    ] = None
    learned: Annotated[list[str] | None, flag("[NAME=]FILE", "A policy written by 'surelift learn'. Repeatable.")] = None
    predictions: Annotated[
        list[str] | None,
        flag(
            "[NAME=]FILE",
            "Probabilities of all actions, or one action, a line per round, as 'vw -p' writes. Repeatable.",
        ),
    ] = None
    first_action: Annotated[
        int | None,
        WHOLE,
        flag("0|1", "Number of the first action in --predictions of one action, if it is not told."),
    ] = None
    blend: Annotated[
        list[str] | None,
        flag("NAME=ALPHA", "Candidate NAME in a share ALPHA of decisions, production in the rest. Repeatable."),
    ] = None
    policy_wins: Annotated[
        list[str] | None,
        flag("[NAME=]K,M", "Columns of how many of M draws of a candidate took the logged action. Repeatable."),
    ] = None

    def columns(self) -> list[str]:
        """Those of the candidates of pages, which are nothing but columns."""
        for role in ("chosen", "learned", "predictions", "policy_wins"):
            if getattr(self, role):
                raise UsageError(f"--slate takes candidates by --policy COLUMN, and no --{role.replace('_', '-')}.")
        if not self.policy:
            raise UsageError("no candidate was named; say --policy COLUMN, or --policy NAME=COLUMN.")
        return list(dict.fromkeys(text.partition("=")[2] or text for text in self.policy))

    def policies(self, brought: "Mapping[str, Policy] | None" = None, present: Collection[str] = ()) -> "dict[str, Policy]":
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
                raise UsageError(f"--blend gives candidate {name!r} two shares; name it twice with --policy to try both.")
            share = number(alpha, f"--blend {text}")
            # Under a name that says so: 10% of a policy is not the policy.
            blended[name] = (f"{100 * share:g}% of {name}", blend(named[name], share))
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


def load_learned(path: str) -> "LearnedPolicy":
    from surelift.learning.learned import LearnedPolicy

    return LearnedPolicy.load(path)


def _learned(path: str) -> "Policy":
    from surelift.policies.resolve import as_policy

    return as_policy(load_learned(path))


def _drawn(counts: str) -> "Policy":
    from surelift.policies.resolve import as_policy

    return as_policy(wins(counts, "--policy-wins"))
