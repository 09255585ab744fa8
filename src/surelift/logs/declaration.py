"""``Declaration``: what the columns of a log mean, without the rounds themselves."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, printed, whole
from surelift.logs.densities import DENSITIES, Density, density_from
from surelift.logs.embeddings import ActionKinds, Embedding, Known, embedding_from

NO_PROPENSITY = """\
no propensity: name the column that holds production's probability of the logged action.
Log it at decision time: next to each action, store the probability the logging policy gave it (for epsilon-greedy over
K actions: epsilon/K, plus 1 - epsilon for the greedy action). It cannot be recovered afterwards. If you fitted a model
of it, pass propensity='your_column', propensity_is_estimated=True; every answer is then conditional on that model and
never certified."""
# Roles that name one column each, or None.
_COLUMNS = ("reward", "cost", "log_propensity", "action", "time", "id", "cluster", "keep_probability")


@dataclass(frozen=True, slots=True)
class Scale:
    """A declared range of rewards, or of costs (lower is better).

    >>> Scale(low=0.0, high=5.0, is_cost=False).unit(np.array([0.0, 2.5, 5.0])).tolist()
    [0.0, 0.5, 1.0]
    >>> Scale(low=0.0, high=5.0, is_cost=True).value(0.75)
    1.25
    """

    low: float
    high: float
    is_cost: bool

    def __post_init__(self) -> None:
        if not (self.low < self.high and np.isfinite(self.high - self.low)):
            raise UsageError(
                f"reward_range must be two finite numbers, the smaller first, but is ({self.low}, {self.high}).\n"
                "Declare the range of possible rewards, such as (0, 1) for a click, not the observed extremes."
            )

    @property
    def width(self) -> float:
        return self.high - self.low

    def unit(self, rewards: FloatArray) -> FloatArray:
        if self.low == 0.0 and self.high == 1.0 and not self.is_cost:
            return rewards
        with np.errstate(over="ignore"):  # of rewards outside the range, which are refused
            return ((self.high - rewards) if self.is_cost else (rewards - self.low)) / self.width

    @property
    def affine(self) -> tuple[float, float]:
        """(zero, divisor) such that (reward - zero) / divisor lies in [0, 1]."""
        return (self.high, -self.width) if self.is_cost else (self.low, self.width)

    def value(self, unit: float) -> float:
        """Convert a value on [0, 1] to an expected reward or cost in the column's units."""
        # Map 0 and 1 to the ends of the range exactly.
        share = 1.0 - unit if self.is_cost else unit
        return self.high if share == 1.0 else self.low + self.width * share

    def lower(self, unit: float) -> float:
        """A lower bound in the column's units, rounded down."""
        return self._round_outward(unit, -math.inf)

    def upper(self, unit: float) -> float:
        """An upper bound in the column's units, rounded up."""
        return self._round_outward(unit, math.inf)

    def _round_outward(self, unit: float, towards: float) -> float:
        exact = unit in (0.0, 1.0) or (self.low == 0.0 and self.high == 1.0 and not self.is_cost)
        return self.value(unit) if exact else math.nextafter(self.value(unit), towards)

    def improvement(self, unit: float) -> float:
        """A difference on [-1, 1] in the column's units; positive is better, also for costs."""
        return self.width * unit

    def unit_margin(self, margin: float) -> float:
        return margin / self.width


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """Column roles, the reward range, clusters and sampling: everything known about a log before reading it."""

    reward: str | None = None
    cost: str | None = None
    propensity: str | Density | None = None
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
    keep_probability: str | None = None
    rounds_before_sampling: int | None = None
    action_count: int | str | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    density: bool = False
    propensity_is_estimated: bool = False
    embedding: Embedding | None = None
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_one_of(self, "reward", "cost", "the column that holds what each decision earned")
        if self.propensity is None and self.log_propensity is None:
            raise UsageError(NO_PROPENSITY)
        _require_one_of(self, "propensity", "log_propensity", "the probability of the logged action")
        for role in ("actions", "contexts"):
            if isinstance(given := getattr(self, role), set | frozenset):
                raise UsageError(
                    f"{role} must be a list: a {type(given).__name__} has no order, but vectors and models do."
                )
        normalised = {
            "propensity": _from_description(density_from, self.propensity, "propensity= is not a valid density"),
            "embedding": _embedding(self.embedding),
            "actions": _labels(self.actions),
            "logging": _logging(self.logging),
            "contexts": (self.contexts,) if isinstance(self.contexts, str) else _tuple(self.contexts),
            "action_count": _count(self.action_count, "action_count"),
            "cluster_size": _count(self.cluster_size, "cluster_size"),
            "cluster_max": _whole_number(self.cluster_max, "cluster_max"),
            "rounds_before_sampling": _whole_number(self.rounds_before_sampling, "rounds_before_sampling"),
            "reward_range": _two_numbers(self.reward_range),
            "assumes": _assumptions(self.assumes),
        }
        for name, value in normalised.items():
            object.__setattr__(self, name, value)
        _ = self.scale
        self._check_actions()
        self._check_clusters()
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
    def is_sampled(self) -> bool:
        return self.keep_probability is not None

    @property
    def hidden(self) -> dict[str, str]:
        """The columns that a function must not see, each with its role: they tell of the outcome, or of what was drawn."""
        roles = ("reward", "cost", "propensity", "log_propensity", "keep_probability")
        return {name: role for role in roles if isinstance(name := getattr(self, role), str)}

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every column with a role, as (role, column) pairs."""
        for role in _COLUMNS:
            if getattr(self, role) is not None:
                yield role, getattr(self, role)
        if isinstance(self.propensity, DENSITIES):
            yield from (("the density of production", name) for name in self.propensity.columns())
        elif self.propensity is not None:
            yield "propensity", self.propensity
        for role in ("action_count", "cluster_size"):
            if isinstance(getattr(self, role), str):
                yield role, getattr(self, role)
        for role, names in (("logging", self.logging), ("contexts", self.contexts)):
            yield from ((role, name) for name in ([names] if isinstance(names, str) else names or ()))
        if self.embedding is not None and self.embedding.column is not None:
            yield "the embedding", self.embedding.column

    def with_reward(self, column: str, reward_range: tuple[float, float], *, is_cost: bool) -> "Declaration":
        """The same decisions, judged by another outcome column."""
        reward, cost = (None, column) if is_cost else (column, None)
        return replace(self, reward=reward, cost=cost, reward_range=reward_range)

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

    def _check_clusters(self) -> None:
        if self.rounds_before_sampling is not None and self.keep_probability is None:
            raise UsageError(
                "rounds_before_sampling= means that rounds were dropped, so keep_probability= must name the column with the "
                "probability of keeping each round."
            )
        if self.cluster is None:
            if self.cluster_size is not None or self.cluster_max is not None:
                raise UsageError("cluster_size= and cluster_max= need cluster=, the column of cluster ids.")
        elif (self.cluster_size is None) == (self.cluster_max is None):
            raise UsageError(
                "cluster= needs exactly one of cluster_size= (the number of rounds in each cluster, known before its first "
                "action: a number or a column) and cluster_max= (a declared upper limit on that number). A size that "
                "depends on outcomes, as when users retry until they succeed, would void the guarantee."
            )


def _require_one_of(declared: Declaration, first: str, second: str, meaning: str) -> None:
    is_set = [getattr(declared, name) is not None for name in (first, second)]
    if sum(is_set) != 1:
        problem = "both were given" if all(is_set) else "neither was given"
        raise UsageError(f"give exactly one of {first}= and {second}=, {meaning}; {problem}.")


def _labels(actions: Iterable[Any] | None) -> tuple[Any, ...] | None:
    if actions is None:
        return None
    if isinstance(actions, str):
        raise UsageError(f"actions must list one label per action, but is the string {actions!r}.")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in actions)
    if not labels or not all(isinstance(label, str | int | float) for label in labels):
        raise UsageError("actions must list one label per action, each a string or a number.")
    inexact = [label for label in labels if isinstance(label, float) and not abs(label) < 2.0**53]
    if inexact:
        raise UsageError(
            f"actions= lists {inexact[0]!r}, a float that cannot tell whole numbers apart; use integers or text."
        )
    if len(set(labels)) != len(labels) or len({str(label) for label in labels}) != len(labels):
        raise UsageError("actions= lists a label twice; labels must be unique.")
    return labels


def _count(number: Any, role: str) -> int | str | None:
    return number if isinstance(number, str) else _whole_number(number, role, besides=", or a column")


def _whole_number(number: Any, role: str, besides: str = "") -> int | None:
    return None if number is None else whole(role, number, besides=besides)


def _two_numbers(reward_range: Any) -> tuple[float, float]:
    try:
        low, high = reward_range
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"reward_range must be two numbers, (low, high), but is {printed(reward_range)}.") from error


def _logging(columns: Any) -> str | tuple[str, ...] | None:
    if columns is None or isinstance(columns, str):
        return columns
    if isinstance(columns, Sequence) and columns:
        return tuple(columns)
    raise UsageError(
        f"logging must be a column, or a list with one column per action, but is a {type(columns).__name__}."
    )


def _tuple(values: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _assumptions(assumes: Any) -> tuple[str, ...]:
    if isinstance(assumes, str) or not all(isinstance(text, str) for text in assumes):
        raise UsageError("assumes must be a list of strings, one per assumption.")
    return tuple(assumes)


def _embedding(value: Any) -> Embedding | None:
    embedding: Embedding | None = _from_description(embedding_from, value, "embedding= is not a valid embedding")
    if embedding is not None and not isinstance(embedding, ActionKinds | Known):
        raise UsageError(f"embedding= must come from surelift.embeddings, but is a {type(value).__name__}.")
    return embedding


def _from_description(build: Callable[[Mapping[str, Any]], Any], value: Any, problem: str) -> Any:
    """Build the object a mapping describes; return anything else unchanged."""
    if not isinstance(value, Mapping):
        return value
    try:
        return build(value)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{problem} ({error}).") from error
