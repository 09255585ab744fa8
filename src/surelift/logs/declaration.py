"""``Declaration``: what the columns of a log mean, without the rounds themselves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from surelift.errors import UsageError
from surelift.logs import declared, loggers
from surelift.logs.densities import DENSITIES, Density
from surelift.logs.embeddings import Embedding
from surelift.logs.scale import Scale
from surelift.logs.settled import check_settled, duration, moment
from surelift.logs.where import check_where, columns_of, condition_text, parsed
from surelift.logs.wins import Wins, propensity_from

NO_PROPENSITY = """\
no propensity: name the column that holds production's probability of the logged action, in propensity=.
Log it at decision time: next to each action, store the probability the logging policy gave it (for epsilon-greedy over \
K actions: epsilon/K, plus 1 - epsilon for the greedy action). It cannot be recovered afterwards. It may be left out where \
logging= holds production's whole distribution and action= the logged action; a policy that can only draw, as Thompson \
sampling, logs draws, propensity=wins("k", "m"). If you fitted a model of it, pass propensity='your_column' \
and propensity_is_estimated=True; every answer is then conditional on that model and never certified."""
# Roles that name one column each, or None.
_COLUMNS = (
    "reward",
    "cost",
    "log_propensity",
    "action",
    "time",
    "id",
    "cluster",
    "position",
    "keep_probability",
    "score",
    "logger",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """Column roles, the reward range, clusters and sampling: everything known about a log before reading it."""

    reward: str | None = None
    cost: str | None = None
    propensity: str | Density | Wins | None = None
    log_propensity: str | None = None
    action: str | None = None
    actions: tuple[Any, ...] | None = None
    logging: str | tuple[str, ...] | None = None
    contexts: tuple[str, ...] | None = None
    time: str | None = None
    id: str | None = None
    cluster: str | None = None
    cluster_size: int | str | None = None
    cluster_max: int | None = None
    position: str | None = None
    keep_probability: str | None = None
    rounds_before_sampling: int | None = None
    score: str | None = None
    label_probability: str | float | None = None
    action_count: int | str | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    density: bool = False
    propensity_is_estimated: bool = False
    embedding: Embedding | None = None
    assumes: tuple[str, ...] = ()
    logger: str | None = None
    loggers: Mapping[str, str] | None = None
    logger_rounds: Mapping[str, int] | None = None
    logger_shares: Mapping[str, float] | None = None
    settled_after: str | float | None = None
    as_of: str | float | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        _require_one_of(self, "reward", "cost", "the column that holds what each decision earned")
        if self.propensity is not None or self.log_propensity is not None:
            _require_one_of(self, "propensity", "log_propensity", "the probability of the logged action")
        elif (self.logging is None or self.action is None) and self.logger is None and self.loggers is None:
            raise UsageError(NO_PROPENSITY)
        for role in ("actions", "contexts"):
            if isinstance(given := getattr(self, role), set | frozenset):
                raise UsageError(
                    f"{role} must be a list: a {type(given).__name__} has no order, but vectors and models do."
                )
        normalised = {
            "propensity": declared.from_description(
                propensity_from, self.propensity, "propensity= is not a valid density, nor wins"
            ),
            "embedding": declared.embedding(self.embedding),
            "actions": declared.labels(self.actions),
            "logging": declared.logging(self.logging),
            "contexts": (self.contexts,) if isinstance(self.contexts, str) else declared.as_tuple(self.contexts),
            "action_count": declared.count(self.action_count, "action_count"),
            "cluster_size": declared.count(self.cluster_size, "cluster_size"),
            "cluster_max": declared.whole_number(self.cluster_max, "cluster_max"),
            "rounds_before_sampling": declared.whole_number(self.rounds_before_sampling, "rounds_before_sampling"),
            "label_probability": declared.probability(self.label_probability, "label_probability"),
            "reward_range": declared.two_numbers(self.reward_range),
            "assumes": declared.assumptions(self.assumes),
            "loggers": (columns := loggers.probability_columns(self.loggers)),
            "logger_rounds": loggers.counts(self.logger_rounds, columns),
            "logger_shares": loggers.shares(self.logger_shares, columns),
            "settled_after": (after := duration(self.settled_after)),
            "as_of": moment(self.as_of, after),
            "where": condition_text(self.where),
        }
        for name, value in normalised.items():
            object.__setattr__(self, name, value)
        _ = self.scale
        self._check_actions()
        self._check_clusters()
        self._check_labels()
        loggers.check_loggers(self)
        check_settled(self)
        check_where(self)
        self.require_visible(self.contexts or (), "contexts=")

    def require_visible(self, names: Iterable[str], subject: str) -> None:
        for name in names:
            if name in self.hidden:
                raise UsageError(
                    f"{subject} names {name!r}, the {self.hidden[name]}; a policy decides without it, and must not see it."
                )

    @property
    def scale(self) -> Scale:
        return Scale(*self.reward_range, is_cost=self.cost is not None)

    @property
    def outcome(self) -> str:
        """The reward column, or the cost column."""
        name = self.reward if self.reward is not None else self.cost
        assert isinstance(name, str)
        return name

    @property
    def counted(self) -> Literal["rounds", "clusters"]:
        """The unit a bound counts in these logs."""
        return "rounds" if self.cluster is None else "clusters"

    @property
    def most_positions(self) -> int | None:
        """The most rounds of a cluster, where that is one number declared in advance."""
        return self.cluster_size if isinstance(self.cluster_size, int) else self.cluster_max

    @property
    def is_sampled(self) -> bool:
        return self.keep_probability is not None

    @property
    def balances_counts(self) -> bool:
        """Whether weights are balanced by the rounds of each logger: they hold at these counts, and at no earlier look."""
        return self.loggers is not None and self.logger_shares is None

    @property
    def hidden(self) -> dict[str, str]:
        """The columns that a function must not see, each with its role: they tell of the outcome, or of what was drawn."""
        roles = (
            "reward",
            "cost",
            "propensity",
            "log_propensity",
            "keep_probability",
            "score",
            "label_probability",
            "logger",
        )
        hidden = {name: role for role in roles if isinstance(name := getattr(self, role), str)}
        if isinstance(self.propensity, Wins):
            hidden[self.propensity.k] = "count of draws that took the logged action"
        return hidden | {name: f"propensity of logger {logger!r}" for logger, name in (self.loggers or {}).items()}

    @property
    def chosen_by(self) -> tuple[str, ...]:
        """The columns of the condition that rounds must meet."""
        return () if self.where is None else tuple(dict.fromkeys(columns_of(parsed(self.where))))

    @property
    def by_draws(self) -> bool:
        """Whether the propensity is estimated by draws from production."""
        return isinstance(self.propensity, Wins)

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every column with a role, as (role, column) pairs."""
        for role in _COLUMNS:
            if getattr(self, role) is not None:
                yield role, getattr(self, role)
        if isinstance(self.propensity, DENSITIES):
            yield from (("the density of production", name) for name in self.propensity.columns())
        elif isinstance(self.propensity, Wins):
            yield from (("wins", name) for name in self.propensity.columns())
        elif self.propensity is not None:
            yield "propensity", self.propensity
        for role in ("action_count", "cluster_size", "label_probability"):
            if isinstance(getattr(self, role), str):
                yield role, getattr(self, role)
        for role, names in (("logging", self.logging), ("contexts", self.contexts)):
            yield from ((role, name) for name in ([names] if isinstance(names, str) else names or ()))
        if self.embedding is not None and self.embedding.column is not None:
            yield "the embedding", self.embedding.column
        yield from ((f"loggers, {logger!r}", name) for logger, name in (self.loggers or {}).items())
        yield from (("where", name) for name in self.chosen_by)

    def with_reward(self, column: str, reward_range: tuple[float, float], *, is_cost: bool) -> "Declaration":
        """The same decisions, judged by another outcome column, which every round has."""
        reward, cost = (None, column) if is_cost else (column, None)
        return replace(self, reward=reward, cost=cost, reward_range=reward_range, score=None, label_probability=None)

    def describe(self) -> dict[str, Any]:
        """The declaration as JSON-ready values; ``from_description`` reads them back."""
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or value is False or value == ():
                continue
            described = value.describe() if hasattr(value, "describe") else value
            plain[field.name] = list(described) if isinstance(described, tuple) else described
        return plain

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> "Declaration":
        unknown = description.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown fields in a description of logs: {', '.join(sorted(unknown))}")
        tuples: dict[str, Any] = {name: tuple(value) for name, value in description.items() if isinstance(value, list)}
        return cls(**{**description, **tuples})

    def _check_actions(self) -> None:
        if self.logging is not None and self.action is None:
            raise UsageError(
                "logging= gives a vector over actions, so action= must name the column of the logged action: its "
                "position in the vector, counted from 0, or a label declared in actions=[...]."
            )
        if isinstance(self.propensity, DENSITIES) and not (self.density and self.action is not None):
            raise UsageError(
                "a density in propensity= is evaluated at the logged action: set density=True, and name the action "
                "column in action=."
            )
        if isinstance(self.propensity, Wins) and (self.logging is not None or self.density):
            raise UsageError(
                "wins estimates the propensity of a discrete action by draws, where production's probabilities are not "
                "known; logging= and density=True say that they are. Give one or the other. A vector counted from draws is "
                "no logging=: a control made with it would not be valid."
            )
        if self.embedding is not None and (self.logging is None or self.density):
            raise UsageError("an embedding needs production's full distribution over the actions, in logging=.")
        if self.density and self.logging is not None:
            raise UsageError("density=True is for continuous actions; a vector over actions holds probabilities.")
        if self.actions is not None and self.action_count not in (None, len(self.actions)):
            raise UsageError("give actions= or action_count=, not both: the labels already determine the count.")
        if self.actions is not None and isinstance(self.logging, tuple) and len(self.logging) != len(self.actions):
            raise UsageError(
                f"logging= names {len(self.logging)} columns, but actions= lists {len(self.actions)} labels."
            )

    def _check_labels(self) -> None:
        if (self.score is None) != (self.label_probability is None):
            raise UsageError(
                "score= and label_probability= go together: all rounds carry a score, and those drawn with that "
                "probability carry the reward. State the probability of the draw, not the share of rounds with a label."
            )
        if self.score is not None and self.position is not None:
            raise UsageError("score= is for single rounds and clusters; it does not go together with position= yet.")
        if self.score is not None and self.score == self.outcome:
            raise UsageError(
                f"score={self.score!r} is also the column of the reward; a reward filled in by its score is none. Leave the "
                "reward null where the round was not labelled."
            )

    def _check_clusters(self) -> None:
        if self.rounds_before_sampling is not None and self.keep_probability is None:
            raise UsageError(
                "rounds_before_sampling= means that rounds were dropped, so keep_probability= must name the column with the "
                "probability of keeping each round."
            )
        if self.position is not None and (self.cluster is None or self.embedding is not None):
            raise UsageError(
                "position= is the order of the rounds in a cluster, each decided after those before: it needs cluster=, and "
                "does not go with an embedding."
            )
        if self.cluster is None:
            if self.cluster_size is not None or self.cluster_max is not None:
                raise UsageError("cluster_size= and cluster_max= need cluster=, the column of cluster ids.")
        elif (self.cluster_size is None) == (self.cluster_max is None):
            raise UsageError(
                "cluster= needs exactly one of cluster_size= (the number of rounds in each cluster, known before its first "
                "action: a number or a column) and cluster_max= (a declared upper limit on that number), and rows sorted "
                "by cluster. A size that depends on outcomes, as when users retry until they succeed, would void the "
                "guarantee."
            )


def _require_one_of(declared: Declaration, first: str, second: str, meaning: str) -> None:
    is_set = [getattr(declared, name) is not None for name in (first, second)]
    if sum(is_set) != 1:
        problem = "both were given" if all(is_set) else "neither was given"
        raise UsageError(f"give exactly one of {first}= and {second}=, {meaning}; {problem}.")
