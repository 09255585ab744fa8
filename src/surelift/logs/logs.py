"""``Logs``: where the rounds are, and what their columns mean."""

import copy
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from surelift.errors import UsageError
from surelift.logs.batch import Batch, Needs, Source
from surelift.logs.clusters import whole_clusters
from surelift.logs.densities import DENSITIES, density_from
from surelift.logs.embeddings import Clusters, Embedding, Known, embedding_from
from surelift.logs.part import Part
from surelift.logs.scale import Scale
from surelift.logs.sources import open_source

NO_PROPENSITY = """\
no propensity: name the column that holds the probability with which production took the action it took.
It has to be logged when the decision is made: store, beside each action, the probability its policy gave it (for an
epsilon-greedy choice among K: epsilon/K, plus 1 - epsilon for the greedy action). It cannot be recovered afterwards; if
you fitted a model of it, say propensity='your_column', propensity_is_estimated=True, and every answer will be
conditional on that model and never certified."""
_NUMBERS = ("action_count", "cluster_size")


class Logs:
    """Logged decisions: what was shown, with what probability, what it earned.

    ``source`` is a path, a glob, a list of paths, a dict of arrays, a data frame or a DuckDB relation; the other
    arguments name its columns. Without a source they are the arrays themselves. Nothing is read until a question is
    asked, and then in batches.

    >>> Logs(reward=[0, 1, 1], propensity=[0.5, 0.25, 0.5])
    Logs(reward='reward', propensity='propensity')

    ``reward_range`` is the range a reward (or cost) can have, in its own units, known beforehand: never the extremes
    seen. ``logging`` names the whole distribution production drew from, as a list column or one column per action, and
    then ``action`` is the position (or the label, declared in ``actions``) of the action taken.

    With ``density=True`` actions are continuous: ``action`` is the number that was taken, and ``propensity`` a column of its
    density, or one of ``surelift.densities``. ``embedding``, one of ``surelift.embeddings``, makes weights of what actions
    have in common. ``assumes`` are assumptions of your own, which every bound then names.
    """

    def __init__(
        self,
        source: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        log_propensity: Any = None,
        action: Any = None,
        actions: Iterable[Any] | None = None,
        logging: Any = None,
        contexts: Any = None,
        time: Any = None,
        cluster: Any = None,
        cluster_size: Any = None,
        cluster_max: int | None = None,
        keep_probability: Any = None,
        rounds_before_sampling: int | None = None,
        action_count: Any = None,
        reward_range: tuple[float, float] = (0, 1),
        density: bool = False,
        propensity_is_estimated: bool = False,
        embedding: Any = None,
        assumes: Sequence[str] = (),
    ) -> None:
        given = {
            "reward": reward, "cost": cost, "propensity": propensity, "log_propensity": log_propensity,
            "action": action, "logging": logging, "contexts": contexts, "time": time, "cluster": cluster,
            "cluster_size": cluster_size, "keep_probability": keep_probability, "action_count": action_count,
        }  # fmt: skip
        given = {role: column for role, column in given.items() if column is not None}
        _exactly_one(given, "reward", "cost", "the column that holds what each decision earned")
        if not {"propensity", "log_propensity"} & given.keys():
            raise UsageError(NO_PROPENSITY)
        _exactly_one(given, "propensity", "log_propensity", "the probability of the logged action")
        self.scale = Scale(*_two_numbers(reward_range), is_cost="cost" in given)
        if isinstance(given.get("propensity"), Mapping):
            given["propensity"] = _described(density_from, given["propensity"], "propensity= describes no density")
        if source is None:
            source, given = _name_arrays(given)
        self.source: Source = open_source(source)
        self._names = self.source.column_names()

        self.reward, self.cost = given.get("reward"), given.get("cost")
        self.propensity, self.log_propensity = given.get("propensity"), given.get("log_propensity")
        self.action, self.time = given.get("action"), given.get("time")
        self.logging: str | tuple[str, ...] | None = _one_or_many(given.get("logging"), "logging")
        self.contexts: tuple[str, ...] | None = _many(given.get("contexts"))
        self.action_count: int | str | None = _count(given.get("action_count"), "action_count")
        self.cluster, self.keep_probability = given.get("cluster"), given.get("keep_probability")
        self.cluster_size: int | str | None = _count(given.get("cluster_size"), "cluster_size")
        self.cluster_max = _whole(cluster_max, "cluster_max")
        self.rounds_before_sampling = _whole(rounds_before_sampling, "rounds_before_sampling")
        self.actions = _labels(actions)
        self.density, self.propensity_is_estimated = density, propensity_is_estimated
        self.embedding: Embedding | None = _embedding(embedding)
        if isinstance(assumes, str) or not all(isinstance(one, str) for one in assumes):
            raise UsageError("assumes must list assumptions, each a text.")
        self.assumes = tuple(assumes)

        if isinstance(self.propensity, DENSITIES):
            self.require_columns(self.propensity.columns(), role="the density of production")
            given.pop("propensity")
        for role, columns in given.items():
            if role not in _NUMBERS or isinstance(columns, str):
                self.require_columns(columns, role=role, single=role not in ("logging", "contexts"))
        self._check_declarations()

    @property
    def outcome(self) -> str:
        """The column of rewards, or of costs."""
        name = self.reward if self.reward is not None else self.cost
        assert isinstance(name, str)
        return name

    @property
    def counted(self) -> Literal["rounds", "clusters"]:
        """What a bound counts in these logs."""
        return "rounds" if self.cluster is None else "clusters"

    def column_names(self) -> list[str]:
        return list(self._names)

    def with_reward(self, column: str, reward_range: tuple[float, float], *, is_cost: bool) -> "Logs":
        """The same decisions, judged by another column."""
        self.require_columns(column, role="a guardrail", single=True)
        other = copy.copy(self)
        other.reward, other.cost = (None, column) if is_cost else (column, None)
        other.scale = Scale(*_two_numbers(reward_range), is_cost=is_cost)
        return other

    def without_embedding(self) -> "Logs":
        """The same decisions, judged action by action."""
        other = copy.copy(self)
        other.embedding = None
        return other

    def part(self, first: int, last: int) -> "Logs":
        """The rounds from number ``first`` on, up to ``last``, which is not among them: a log in its own right."""
        if not self.source.ordered:
            raise UsageError(
                "the rows of a query have no order, so no part of them can be set aside; save them to a file."
            )
        other = copy.copy(self)
        other.source = Part(self.source, first, last)
        return other

    def count(self) -> int:
        return self.source.count()

    def batches(self, needs: Needs = Needs()) -> Iterator[Batch]:
        """The rounds, with their own columns and the others asked for, a batch at a time."""
        batches = self.source.batches(self.needs() + needs)
        return batches if self.cluster is None else whole_clusters(batches, self.cluster)

    def needs(self) -> Needs:
        counts = [count for count in (self.action_count, self.cluster_size) if isinstance(count, str)]
        density = self.propensity.columns() if isinstance(self.propensity, DENSITIES) else (self.propensity,)
        embedding = None if self.embedding is None else self.embedding.column
        single = [
            self.outcome, *density, self.log_propensity, self.action, self.time, self.cluster,
            self.keep_probability, embedding, *counts,
        ]  # fmt: skip
        logging = [self.logging] if isinstance(self.logging, str) else list(self.logging or ())
        by_context = isinstance(self.embedding, Known) and self.embedding.by_context
        return Needs(
            read=tuple(name for name in [*single, *logging] if name is not None),
            handed_on=self.handed_on() if by_context else (),
        )

    def handed_on(self) -> tuple[str, ...]:
        """The columns that a function of the batch is given: the contexts, or all of them."""
        return self.contexts if self.contexts is not None else tuple(self._names)

    def require_columns(self, names: Any, *, role: str, single: bool = False) -> None:
        """Raise, with the nearest names, for a column that is not there."""
        if single and not isinstance(names, str):
            raise UsageError(
                f"{role} must name a column of the source, but is a {type(names).__name__}; "
                "arrays go without a source: Logs(reward=..., propensity=...)."
            )
        for name in [names] if isinstance(names, str) else names:
            if not isinstance(name, str):
                raise UsageError(f"{role} must name columns of the source, but one is a {type(name).__name__}.")
            if name not in self._names:
                near = difflib.get_close_matches(name, self._names, n=3, cutoff=0.5)
                hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
                if len(self._names) == 1 and any(mark in self._names[0] for mark in ";\t|"):
                    hint = (
                        " The file has one column, so its separator is no comma: save it with commas, or tabs as .tsv."
                    )
                shown = ", ".join(self._names[:30]) + (", ..." if len(self._names) > 30 else "")
                raise UsageError(f"no column {name!r} for {role}.{hint} The columns are: {shown}.")

    def declared(self) -> dict[str, Any]:
        """The arguments that declare the same of other rounds."""
        return {name: tuple(value) if name == "reward_range" else value for name, value in self.describe().items()}

    def describe(self) -> dict[str, Any]:
        """What was declared, as it is written into a certificate."""
        declared = {
            "reward": self.reward, "cost": self.cost, "propensity": self.propensity,
            "log_propensity": self.log_propensity, "action": self.action, "actions": self.actions,
            "logging": self.logging, "contexts": self.contexts, "time": self.time, "action_count": self.action_count,
            "cluster": self.cluster, "cluster_size": self.cluster_size, "cluster_max": self.cluster_max,
            "keep_probability": self.keep_probability, "rounds_before_sampling": self.rounds_before_sampling,
            "reward_range": (self.scale.low, self.scale.high), "density": self.density,
            "propensity_is_estimated": self.propensity_is_estimated,
            "embedding": None if self.embedding is None else self.embedding.describe(), "assumes": self.assumes or None,
        }  # fmt: skip
        if isinstance(self.propensity, DENSITIES):
            declared["propensity"] = self.propensity.describe()
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in declared.items()}
        return {name: value for name, value in plain.items() if value is not None and value is not False}

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.describe().items() if name != "reward_range" or value != [0, 1]}
        return f"Logs({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _check_declarations(self) -> None:
        if self.logging is not None and self.action is None:
            raise UsageError(
                "logging= gives a vector over actions, so action= must name the column that says which one was taken: "
                "its position in the vector, counted from 0, or a label declared in actions=[...]."
            )
        if isinstance(self.propensity, DENSITIES) and not (self.density and self.action is not None):
            raise UsageError(
                "a density in propensity= is evaluated at the action that was taken: say density=True, and name its column "
                "in action=."
            )
        if self.embedding is not None:
            if self.logging is None or self.density:
                raise UsageError(
                    "an embedding needs the whole distribution of production over the actions, in logging=."
                )
            if self.embedding.column is not None:
                self.require_columns(self.embedding.column, role="the embedding", single=True)
        if self.density and self.logging is not None:
            raise UsageError("density=True is for single densities; a vector over actions holds probabilities.")
        if self.actions is not None and self.action_count not in (None, len(self.actions)):
            raise UsageError("give actions= or action_count=, not both: the labels say how many there are.")
        self._check_clusters()
        if self.rounds_before_sampling is not None and self.keep_probability is None:
            raise UsageError(
                "rounds_before_sampling= says that rounds were dropped, so keep_probability= must name the column of the "
                "probability with which each one was kept."
            )
        if self.actions is not None and isinstance(self.logging, tuple) and len(self.logging) != len(self.actions):
            raise UsageError(
                f"logging= names {len(self.logging)} columns, but actions= lists {len(self.actions)} labels."
            )

    def _check_clusters(self) -> None:
        if self.cluster is None:
            if self.cluster_size is not None or self.cluster_max is not None:
                raise UsageError("cluster_size= and cluster_max= speak of clusters; name their column in cluster=.")
            return
        if (self.cluster_size is None) == (self.cluster_max is None):
            raise UsageError(
                "cluster= needs exactly one of cluster_size= (how many rounds each cluster has, known before its first "
                "action: a number or a column) and cluster_max= (the most that any can have, declared). A size that came "
                "about along the way, as when users retry until they succeed, would void the guarantee."
            )


def _labels(actions: Iterable[Any] | None) -> tuple[Any, ...] | None:
    if actions is None:
        return None
    if isinstance(actions, str):
        raise UsageError(f"actions must list one label per action, but is the text {actions!r}.")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in actions)
    if not labels or not all(isinstance(label, str | int | float) for label in labels):
        raise UsageError("actions must list one label per action, each a text or a number.")
    if len({str(label) for label in labels}) != len(labels):
        raise UsageError("actions= lists a label twice; every action has one position.")
    return labels


def _count(number: Any, role: str) -> int | str | None:
    return number if isinstance(number, str) else _whole(number, role, besides=", or a column")


def _whole(number: Any, role: str, besides: str = "") -> int | None:
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise UsageError(f"{role} must be a whole number of at least 1{besides}, but is {number!r}.")
    return int(number)


def _exactly_one(given: dict[str, Any], first: str, second: str, meaning: str) -> None:
    if len({first, second} & given.keys()) != 1:
        found = "both were given" if {first, second} <= given.keys() else "neither was given"
        raise UsageError(f"give exactly one of {first}= and {second}=, {meaning}; {found}.")


def _two_numbers(reward_range: Any) -> tuple[float, float]:
    try:
        low, high = reward_range
        return float(low), float(high)
    except (TypeError, ValueError) as error:
        raise UsageError(f"reward_range must be two numbers, (low, high), but is {reward_range!r}.") from error


def _one_or_many(columns: Any, role: str) -> str | tuple[str, ...] | None:
    if columns is None or isinstance(columns, str):
        return columns
    if isinstance(columns, Sequence) and columns:
        return tuple(columns)
    raise UsageError(
        f"{role} must be a column, or a list with one column per action, but is a {type(columns).__name__}."
    )


def _embedding(given: Any) -> Embedding | None:
    if isinstance(given, Mapping):
        given = _described(embedding_from, given, "embedding= describes no embedding")
    if given is not None and not isinstance(given, Clusters | Known):
        raise UsageError(f"embedding= is one of surelift.embeddings, not a {type(given).__name__}.")
    return given


def _described(make: Callable[[Mapping[str, Any]], Any], given: Mapping[str, Any], what: str) -> Any:
    try:
        return make(given)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{what} ({error}).") from error


def _many(columns: Any) -> tuple[str, ...] | None:
    if columns is None:
        return None
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _name_arrays(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays given without a source become a source whose columns are named for their arguments."""
    columns: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for role, array in given.items():
        if isinstance(array, str):
            raise UsageError(f"{role}={array!r} names a column, but no source was given; start with Logs(source, ...).")
        if role in _NUMBERS and np.ndim(array) == 0:
            names[role] = array
        elif role == "contexts":
            matrix = np.asarray(array)
            matrix = matrix[:, None] if matrix.ndim == 1 else matrix
            names[role] = [f"x{i}" for i in range(matrix.shape[1])]
            columns.update({f"x{i}": matrix[:, i] for i in range(matrix.shape[1])})
        else:
            names[role] = role
            columns[role] = array
    return columns, names
