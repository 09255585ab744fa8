"""The flags that name the log and the candidates, and how they become logs and policies."""

import shlex
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import POLICIES, columns, flag, flags, number, wins
from surelift.cli.log_flags import LogFlags
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy
    from surelift.policies.policy import Policy
    from surelift.traits.logs import Logs

NO_CANDIDATE = "no candidate was named; say --policy COLUMN, or --policy NAME=COLUMN."

Sources = Annotated[
    list[str],
    Parameter(
        name="SOURCE",
        help="Parquet, CSV, JSON lines or Arrow files, or VW's dsjson: paths, globs in quotes, folders, s3://, gs://, "
        "abfs:// or https://, or - for standard input.",
        show_default=False,
    ),
]


@flags(POLICIES)
class PolicyFlags:
    policy: list[str] | None = flag(
        "[NAME=]COL", "Column of the candidate's probability of the logged action, or a list column. Repeatable."
    )
    chosen: list[str] | None = flag("[NAME=]COL", "Column of the action a deterministic candidate would take. Repeatable.")
    learned: list[str] | None = flag("[NAME=]FILE", "A policy written by 'surelift learn'. Repeatable.")
    predictions: list[str] | None = flag(
        "[NAME=]FILE", "Probabilities of all actions, or one action, a line per round, as 'vw -p' writes. Repeatable."
    )
    first_action: int | None = flag("0|1", "Number of the first action in --predictions of one action, if it is not told.")
    blend: list[str] | None = flag(
        "NAME=ALPHA", "Candidate NAME in a share ALPHA of decisions, production in the rest. Repeatable."
    )
    policy_wins: list[str] | None = flag(
        "[NAME=]K,M", "Columns of how many of M draws of a candidate took the logged action. Repeatable."
    )

    def columns(self) -> list[str]:
        """Those of the candidates of pages, which are nothing but columns."""
        for role in ("chosen", "learned", "predictions", "policy_wins"):
            if getattr(self, role):
                raise UsageError(f"--slate takes candidates by --policy COLUMN, and no --{role.replace('_', '-')}.")
        if not self.policy:
            raise UsageError(NO_CANDIDATE)
        return list(dict.fromkeys(text.partition("=")[2] or text for text in self.policy))

    def policies(self, brought: "Mapping[str, Policy] | None" = None, present: Collection[str] = ()) -> "dict[str, Policy]":
        """The candidates that were named; ``brought`` come with a format, ``present`` are the columns of the log."""
        from surelift.policies.resolve import as_policy, blend, chosen

        with_logs = brought or {}
        first_action: Any = self.first_action
        makers: list[tuple[list[str] | None, str, Callable[[str], Policy]]] = [
            (self.policy, "", lambda column: with_logs.get(column) or as_policy(columns(column))),
            (self.predictions, "new=", lambda path: importers.predictions(path, first_action=first_action)),
            (self.chosen, "", chosen),
            (self.learned, "learned=", lambda path: as_policy(load_learned(path))),
            (self.policy_wins, "new=", lambda counts: as_policy(wins(counts, "--policy-wins"))),
        ]
        named: dict[str, Policy] = {}
        for texts, unnamed, make in makers:
            for given in texts or ():
                text = given if "=" in given else unnamed + given
                name, _, column = text.partition("=") if "=" in text and text not in present else (text, "=", text)
                if not name or not column:
                    raise UsageError(f"--policy and --chosen take NAME=COLUMN or COLUMN, not {text!r}.")
                if name in named:
                    raise UsageError(f"policy {name!r} is named twice; give each candidate a name of its own, NAME=COLUMN.")
                named[name] = make(column)
        blended: dict[str, tuple[str, Policy]] = {}
        for text in self.blend or ():
            name, _, alpha = text.rpartition("=")
            if name not in named:
                known, such = ", ".join(named) or "none", next(iter(named), "new")
                raise UsageError(
                    f"--blend takes NAME=ALPHA for a candidate ({known}), such as {such}=0.1; {text!r} names none."
                )
            if name in blended:
                raise UsageError(f"--blend gives candidate {name!r} two shares; name it twice with --policy to try both.")
            share = number(alpha, f"--blend {text}")
            # Under a name that says so: 10% of a policy is not the policy.
            blended[name] = (f"{100 * share:g}% of {name}", blend(named[name], share))
        pairs = [blended.get(name, (name, policy)) for name, policy in named.items()]
        if len(dict(pairs)) != len(pairs):
            raise UsageError(f"--blend would give two candidates one name: {', '.join(name for name, _ in pairs)}.")
        return dict(pairs)


@flags()
class InputFlags:
    """What every question is asked of: a log, and candidates."""

    log: LogFlags = LogFlags()
    policies: PolicyFlags = PolicyFlags()

    def opened(self, sources: list[str], *, alone: bool = False, needed: bool = True) -> "tuple[Logs, dict[str, Policy]]":
        """The logs, and the candidates (or the one alone): those named, or else, if needed, those of the format."""
        log = self.log
        brought = log.imported(sources) if log.slate is None else log.pages(sources, self.policies.columns())
        logs = log.logs(sources) if brought is None else brought.logs
        with_logs = {} if brought is None else dict(brought.policies)
        named = self.policies.policies(with_logs, logs.column_names()) or (with_logs if needed else {})
        if needed and not named:
            raise UsageError(NO_CANDIDATE)
        if alone and len(named) > 1:
            raise UsageError(
                f"there are {len(named)} candidates ({', '.join(named)}), but this command takes one: say --policy NAME, or "
                "use 'surelift select'."
            )
        return logs, named

    def again(self) -> str:
        """The flags that ``verify`` needs again, because a certificate does not hold them."""
        names = ("format", "slate", "separator", "encoding")
        given = [(f"--{name}", self.log.value(name)) for name in names]
        given += [("--predictions", text) for text in self.policies.predictions or ()]
        given += [("--first-action", self.policies.first_action)]
        return "".join(f" {name} {shlex.quote(str(value))}" for name, value in given if value is not None)


def load_learned(path: str) -> "LearnedPolicy":
    from surelift.learning.learned import LearnedPolicy

    return LearnedPolicy.load(path)
