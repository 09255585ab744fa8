"""The flags that name the log and the candidates, and how they become logs and policies."""

import shlex
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import POLICIES, columns, flag, flags, number, refuse_first, wins
from surelift.cli.log_flags import LogFlags

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
        """The columns of the candidates of pages, which can be nothing else."""
        roles = ("chosen", "learned", "predictions", "policy_wins")
        message = "--slate takes candidates by --policy COLUMN, and no --{}."
        refusals = {message.format(role.replace("_", "-")): getattr(self, role) for role in roles}
        refuse_first({**refusals, NO_CANDIDATE: not self.policy})
        return list(dict.fromkeys(text.partition("=")[2] or text for text in self.policy or ()))

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
            for text in [given if "=" in given else unnamed + given for given in texts or ()]:
                name, _, column = text.partition("=") if "=" in text and text not in present else (text, "=", text)
                refusals = {
                    f"--policy and --chosen take NAME=COLUMN or COLUMN, not {text!r}.": not name or not column,
                    f"policy {name!r} is named twice; give each candidate a name of its own, NAME=COLUMN.": name in named,
                }
                refuse_first(refusals)
                named[name] = make(column)
        shares: dict[str, float] = {}
        for text in self.blend or ():
            name, _, alpha = text.rpartition("=")
            known, such = ", ".join(named) or "none", next(iter(named), "new")
            refusals = {
                f"--blend takes NAME=ALPHA for a candidate ({known}), such as {such}=0.1; {text!r} names none.": (
                    name not in named
                ),
                f"--blend gives candidate {name!r} two shares; name it twice with --policy to try both.": name in shares,
            }
            refuse_first(refusals)
            shares[name] = number(alpha, f"--blend {text}")
        # Under a name that says so: 10% of a policy is not the policy.
        names = [f"{100 * shares[name]:g}% of {name}" if name in shares else name for name in named]
        refuse_first({f"--blend would give two candidates one name: {', '.join(names)}.": len({*names}) < len(names)})
        made = [blend(policy, shares[name]) if name in shares else policy for name, policy in named.items()]
        return dict(zip(names, made, strict=True))


@flags()
class InputFlags:
    log: LogFlags = LogFlags()
    policies: PolicyFlags = PolicyFlags()

    def opened(self, sources: list[str], *, alone: bool = False, needed: bool = True) -> "tuple[Logs, dict[str, Policy]]":
        """The logs, and the candidates (or the one alone): those named, or else, if needed, those of the format."""
        log = self.log
        brought = log.imported(sources) if log.slate is None else log.pages(sources, self.policies.columns())
        logs = log.logs(sources) if brought is None else brought.logs
        with_logs = {} if brought is None else dict(brought.policies)
        named = self.policies.policies(with_logs, logs.column_names()) or (with_logs if needed else {})
        several = (
            f"there are {len(named)} candidates ({', '.join(named)}), but this command takes one: say --policy NAME, or use "
            "'surelift select'."
        )
        refuse_first({NO_CANDIDATE: needed and not named, several: alone and len(named) > 1})
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
