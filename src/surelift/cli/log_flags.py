"""The flags that declare a log."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from surelift import importers
from surelift.cli.flag import (
    LOG,
    MORE_OF_THE_LOG,
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


def rare(shape: str, text: str, **options: Any) -> Parameter:
    return flag(shape, text, group=MORE_OF_THE_LOG, **options)


@Parameter(name="*", group=LOG)
@dataclass(frozen=True, kw_only=True)
class LogFlags:
    reward: Annotated[str | None, flag("COL", "Column of the reward.")] = None
    cost: Annotated[str | None, flag("COL", "Column of the cost, instead of a reward.")] = None
    reward_range: Annotated[
        str,
        Parameter(
            help="The smallest and the largest possible reward (or cost), known in advance.",
            metavar="LOW,HIGH",
            allow_leading_hyphen=True,
        ),
    ] = "0,1"
    propensity: Annotated[str | None, flag("COL", "Column of production's probability of the logged action.")] = None
    action: Annotated[str | None, flag("COL", "Column of the logged action: a position, from 0, or a label.")] = None
    actions: Annotated[str | None, flag("A,B,...", "Labels of the actions in vector order.")] = None
    logging: Annotated[
        str | None, flag("COL[,COL...]", "Production's whole distribution: a list column, or one column per action.")
    ] = None
    contexts: Annotated[str | None, flag("COL,COL,...", "Columns known before the action.")] = None
    time: Annotated[str | None, flag("COL", "Column of the time of the decision.")] = None
    id: Annotated[str | None, flag("COL", "Column that tells rounds apart: no id may come twice.")] = None
    cluster: Annotated[
        str | None,
        flag(
            "COL",
            "Column of the user, session or slate; its rounds count as one, and must follow each other. Needs one of the "
            "two flags below.",
        ),
    ] = None
    cluster_size: Annotated[
        str | None, flag("N|COL", "Number of rounds in a cluster, known before its first action.")
    ] = None
    cluster_max: Annotated[
        int | None, WHOLE, flag("N", "The most rounds a cluster can have, if sizes are not known in advance.")
    ] = None
    where: Annotated[
        str | None,
        flag(
            "CONDITION",
            "Which rounds are judged, by what was known before the action: \"country = 'FR' and day >= 2026-01-01\". The "
            "others are left out, and counted.",
        ),
    ] = None

    log_propensity: Annotated[
        str | None, rare("COL", "Column of the natural logarithm of the propensity, instead of --propensity.")
    ] = None
    propensity_wins: Annotated[
        str | None,
        rare(
            "K,M[,played]",
            "Columns of how many of M draws (a column or a number) took the logged action, instead of a propensity; "
            "',played' where the logged action is one of the M.",
        ),
    ] = None
    propensity_is_estimated: Annotated[
        bool, rare("", "The propensity was estimated, not logged; then nothing is certified.")
    ] = False
    density: Annotated[bool, rare("", "Propensities and probabilities are densities and may exceed 1.")] = False
    action_count: Annotated[str | None, rare("N|COL", "Number of actions to choose from.")] = None
    position: Annotated[
        str | None,
        rare(
            "COL",
            "Column of the position in a cluster, from 0 or 1: each round is decided after those before, and probabilities "
            "are given them.",
        ),
    ] = None
    slate: Annotated[
        str | None,
        rare(
            "COL",
            "Column of the page or ranking: its rows, one for each position, count as one round (see --slate-weight).",
        ),
    ] = None
    slate_weight: Annotated[
        Literal["product", "additive"] | None,
        rare(
            "product|additive",
            "The weight of a page: the product of its positions' weights, each given those before (the default), or their "
            "sum, for positions drawn independently whose parts of the reward add up.",
            show_choices=False,
        ),
    ] = None
    slate_max: Annotated[int | None, WHOLE, rare("N", "The most positions of a page, for --slate-weight additive.")] = (
        None
    )
    keep_probability: Annotated[
        str | None, rare("COL", "Column of the probability with which a round was kept, if the log was sampled.")
    ] = None
    rounds_before_sampling: Annotated[int | None, WHOLE, rare("N", "Number of rounds before sampling.")] = None
    score: Annotated[
        str | None,
        rare("COL", "Column of a score that every round has, in units of the reward, where few rounds are labelled."),
    ] = None
    label_probability: Annotated[
        str | None, rare("P|COL", "Probability with which a round was drawn to be labelled.")
    ] = None
    logger: Annotated[str | None, rare("COL", "Column of the logger that took the row, where there are several.")] = (
        None
    )
    loggers: Annotated[
        str | None,
        rare("A=COL,B=COL", "Each logger's column of its probability of the logged action, whoever took the row."),
    ] = None
    logger_rounds: Annotated[
        str | None, rare("A=N,B=N", "The rounds of each logger in the whole log; counted, if left out.")
    ] = None
    logger_shares: Annotated[
        str | None, rare("A=P,B=P", "The chances with which the logger of each round was drawn, if it was.")
    ] = None
    settled_after: Annotated[
        str | None,
        rare("AGE", "How old a round must be for its reward to be final: 7d, 12h, or a number in units of --time."),
    ] = None
    as_of: Annotated[
        str | None,
        rare("TIME", "The moment at which rewards were joined; by default the newest time, if times are moments."),
    ] = None
    format: Annotated[
        str | None,
        rare("FORMAT", "Format, if the file name does not tell it: dsjson, cb, cb_adf, open-bandit, ccb, cats, rllib."),
    ] = None
    separator: Annotated[
        str | None, rare("CHAR", "Separator of a CSV file, such as ';' or tab, if its first lines do not tell it.")
    ] = None
    encoding: Annotated[
        str | None,
        rare(
            "NAME",
            "Encoding of a CSV file or of JSON lines, such as latin-1; by default UTF-8, or UTF-16 with its mark.",
        ),
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

    def pages(self, sources: list[str], columns: list[str]) -> "Imported":
        """The pages of --slate, with the candidates of these columns."""
        given = replace(self, slate=None, slate_weight=None, slate_max=None).declared()
        for role, value in given.items():
            if role not in ("reward", "propensity", "reward_range", "separator", "encoding") and value:
                raise UsageError(f"--slate makes each page a round, and takes no --{role.replace('_', '-')}.")
        if self.slate is None or self.reward is None or self.propensity is None:
            raise UsageError("--slate needs --reward and --propensity, columns of the rows.")
        if (self.slate_weight == "additive") != (self.slate_max is not None):
            raise UsageError("--slate-weight additive and --slate-max, the most positions of a page, need each other.")
        from surelift.logs.sources.layout import TextStyle
        from surelift.logs.sources.recognise import open_source

        rows = open_source(sources, TextStyle.of(self.separator, self.encoding))
        return importers.slates(
            rows, columns, slate=self.slate, reward=self.reward, propensity=self.propensity,
            weight=self.slate_weight or "product", most=self.slate_max, reward_range=given["reward_range"],
            probabilities="independent" if self.slate_weight == "additive" else "conditional",
        )  # fmt: skip

    def declared(self) -> dict[str, Any]:
        """The arguments of ``Logs`` that were given."""
        if self.slate is not None:
            raise UsageError("this command takes rounds, not the positions of pages: leave --slate out.")
        if self.slate_weight is not None or self.slate_max is not None:
            raise UsageError("--slate-weight and --slate-max need --slate, the column of the page.")
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
