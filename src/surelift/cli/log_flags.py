"""The flags that declare a log."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import (
    LOG,
    WHOLE,
    columns,
    flag,
    number_or_column,
    numbers_by_name,
    pairs,
    probability_or_column,
    split,
    two_numbers,
    wins_flag,
)
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.importers import Imported
    from surelift.logs.logs import Logs

# What an option of a format is called among the flags.
_IMPORTED = {("open-bandit", "action_count"): "items"}


@Parameter(name="*", group=LOG)
@dataclass(frozen=True, kw_only=True)
class LogFlags:
    format: Annotated[
        str | None, flag("Format, if the file name does not tell it: dsjson, cb, cb_adf, open-bandit, ccb, rllib.")
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
    position: Annotated[
        str | None,
        flag(
            "Column of the position in a cluster, from 0 or 1: each round is decided after those before, and probabilities "
            "are given them."
        ),
    ] = None
    keep_probability: Annotated[
        str | None, flag("Column of the probability with which a round was kept, if the log was sampled.")
    ] = None
    rounds_before_sampling: Annotated[int | None, WHOLE, flag("Number of rounds before sampling.")] = None
    score: Annotated[
        str | None,
        flag("Column of a score that every round has, in units of the reward, where few rounds are labelled."),
    ] = None
    label_probability: Annotated[
        str | None, flag("Probability with which a round was drawn to be labelled: a number or a column.")
    ] = None
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
    propensity_wins: Annotated[
        str | None,
        flag(
            "K,M: columns of how many of M draws (a column or a number) took the logged action, instead of a propensity; "
            "K,M,played where the logged action is one of the M."
        ),
    ] = None

    logger: Annotated[str | None, flag("Column of the logger that took the row, where there are several.")] = None
    loggers: Annotated[
        str | None,
        flag("A=COL,B=COL: each logger's column of its probability of the logged action, whoever took the row."),
    ] = None
    logger_rounds: Annotated[
        str | None, flag("A=COUNT,B=COUNT: the rounds of each logger in the whole log; counted, if left out.")
    ] = None
    logger_shares: Annotated[
        str | None, flag("A=SHARE,B=SHARE: the chances with which the logger of each round was drawn, if it was.")
    ] = None

    settled_after: Annotated[
        str | None, flag("How old a round must be for its reward to be final: 7d, 12h, or a number in units of --time.")
    ] = None
    as_of: Annotated[
        str | None, flag("The moment at which rewards were joined; by default the newest time, if times are moments.")
    ] = None

    separator: Annotated[
        str | None, flag("Separator of a CSV file, such as ';' or tab, if its first lines do not tell it.")
    ] = None
    encoding: Annotated[
        str | None,
        flag("Encoding of a CSV file or of JSON lines, such as latin-1; by default UTF-8, or UTF-16 with its mark."),
    ] = None

    def logs(self, sources: list[str]) -> "Logs":
        from surelift.logs.logs import Logs

        if not sources:
            raise UsageError(
                "no log was given; name the path of a Parquet, CSV, JSON lines or Arrow file, or - for standard input."
            )
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
            "action_count": number_or_column, "reward_range": two_numbers, "label_probability": probability_or_column,
            "loggers": pairs,
            "logger_rounds": numbers_by_name, "logger_shares": numbers_by_name,
        }  # fmt: skip
        declared = {role: read[role](value) if role in read else value for role, value in given.items()}
        if "propensity_wins" in declared:
            if "propensity" in declared:
                raise UsageError("give --propensity or --propensity-wins, not both.")
            declared["propensity"] = wins_flag(declared.pop("propensity_wins"), "--propensity-wins")
        return declared
