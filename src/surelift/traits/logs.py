"""``Logs``: a source of rounds, and a ``Declaration`` of what its columns mean."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import as_numpy
from surelift.errors import UsageError, whole
from surelift.logs.batch import Needs, Slice, Source, TableBatch, kind_as_read, of_one_kind
from surelift.logs.rewards import Scale
from surelift.logs.sources.recognise import open_source
from surelift.logs.sources.tables import REMOTE
from surelift.logs.wins import Wins
from surelift.traits.declaration import FLAT, Declaration
from surelift.traits.reward import UNIT_RANGE


class Logs:
    """Logged decisions of a contextual bandit: the action shown, its propensity, and the reward.

    Nothing is read until a question is asked, and then in batches.

    >>> Logs(reward=[0, 1, 1], propensity=[0.5, 0.25, 0.5])
    Logs(reward='reward', propensity='propensity')

    Args:
        source: A path, a glob, a list of paths (also of an object store, ``s3://...``), a dict of arrays, a list of
            dicts, a data frame, a DuckDB relation, an Ibis table, a Spark data frame, or a Delta or Iceberg table; the
            other arguments name its columns. Without a source they are the arrays themselves.
        reward: The column of rewards.
        cost: The column of costs, instead of rewards: an improvement is positive when the cost falls.
        propensity: The column of production's probability of the logged action, recorded at decision time; ``wins("k",
            "m")`` for a production policy that can only be drawn from.
        log_propensity: Its natural logarithm, instead.
        action: The column of the action taken: its position in the vectors of probabilities, or its label in ``actions``.
        actions: The labels of all actions, in the order of the vectors.
        logging: Production's whole distribution over the actions: a list column, or one column per action. The
            propensity may then be left out.
        contexts: The columns that a policy may see: what was known before the action.
        time: The column of decision times.
        id: A column that tells rounds apart: no id may come twice.
        cluster: The column of what rounds belong to, such as a user: each cluster counts once.
        cluster_size: How many rounds each cluster has, known in advance: a number or a column.
        cluster_max: The most rounds that a cluster can have, where its size is not known in advance.
        position: The column of the order within a cluster: the steps of a session, or the positions of a ranking. All
            probabilities are then those given the positions before, and a round is weighted by the product up to it.
        keep_probability: The column of the probability with which a round was kept, in a sampled log.
        rounds_before_sampling: How many rounds there were before.
        score: The column of a cheap judgement that every round has, in the units of the reward.
        label_probability: The probability with which a round was drawn to get its true reward (null for the others).
        action_count: How many actions there were to choose from: a number or a column.
        reward_range: What a reward (or cost) can be, in its own units, known in advance; never the observed extremes.
        density: Actions are continuous: ``action`` is the number that was chosen, and ``propensity`` a column of its
            density, or one of ``surelift.densities``.
        propensity_is_estimated: The propensities were estimated afterwards: then no answer is ever certified.
        embedding: One of ``surelift.embeddings``: weights kinds of actions instead of single ones.
        assumes: Assumptions of your own, which every answer then states.
        logger: The column of which of several policies took the round.
        loggers: By its name, the column of each one's probability of the logged action, instead of ``propensity``.
        logger_rounds: The rounds of each in the whole log; left out, they are counted.
        logger_shares: The chances with which the logger of each round was drawn, where it was.
        settled_after: How old a round must be for its reward to be final: "7d", or a number in the units of ``time``;
            younger ones are left out, and counted.
        as_of: The moment at which age is measured; by default the newest time of the log, where times are moments.
        where: A condition on columns known before the action, such as "country = 'FR' and day >= 2026-01-01": only
            rounds that meet it are judged, and the others are counted.
        separator: Of CSV files, where their first lines leave a doubt.
        encoding: Of text files that are neither UTF-8 nor UTF-16 with its mark.
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
        id: Any = None,
        cluster: Any = None,
        cluster_size: Any = None,
        cluster_max: int | None = None,
        position: Any = None,
        keep_probability: Any = None,
        rounds_before_sampling: int | None = None,
        score: Any = None,
        label_probability: Any = None,
        action_count: Any = None,
        reward_range: tuple[float, float] = UNIT_RANGE,
        density: bool = False,
        propensity_is_estimated: bool = False,
        embedding: Any = None,
        assumes: Sequence[str] = (),
        logger: Any = None,
        loggers: Mapping[Any, Any] | None = None,
        logger_rounds: Mapping[Any, int] | None = None,
        logger_shares: Mapping[Any, float] | None = None,
        settled_after: Any = None,
        as_of: Any = None,
        where: str | None = None,
        separator: str | None = None,
        encoding: str | None = None,
    ) -> None:
        beside = ("self", "source", "separator", "encoding")
        given = {name: value for name, value in locals().items() if name not in (*beside, "beside") and value is not None}
        drawn = {"propensity", "log_propensity", "loggers"} & given.keys() or {"logging", "action"} <= given.keys()
        if source is None and {"reward", "cost"} & given.keys() and drawn:
            source, names = _name_arrays({role: value for role, value in given.items() if FLAT[role].array})
            given |= names
        self._open(open_source(source, separator, encoding), Declaration.of(**given))

    @classmethod
    def of(cls, source: Any, declaration: Declaration) -> "Logs":
        """The rounds of a source under an existing declaration."""
        logs = cls.__new__(cls)
        logs._open(open_source(source), declaration)
        return logs

    def _open(self, source: Source, declaration: Declaration) -> None:
        version = getattr(source, "version", None)  # of a table that has several
        if isinstance(version, str) and version not in declaration.assumes:
            declaration = replace(declaration, assumes=(*declaration.assumes, version))
        self.source, self.declaration = source, declaration
        self._names = dict.fromkeys(source.column_names())  # in order, and quick to look up
        if "".join(self._names).encode(errors="replace").decode() != "".join(self._names):
            raise UsageError("a column's name is not valid Unicode: it holds half of a surrogate pair; rename it.")
        for role, column in declaration.columns:
            if column not in self._names:
                self.require_columns(column, role=role)

    @property
    def scale(self) -> Scale:
        return self.declaration.scale

    @property
    def contexts(self) -> tuple[str, ...]:
        """The columns that are declared as known before the action."""
        return self.declaration.contexts or ()

    def column_names(self) -> list[str]:
        """The columns of the source."""
        return list(self._names)

    def declared_as(self, declaration: Declaration) -> "Logs":
        return Logs.of(self.source, declaration)

    def without_embedding(self) -> "Logs":
        """The same decisions, with importance weights of actions."""
        return self.declared_as(self.declaration.declared(embedding=None))

    def part(self, first: int, last: int) -> "Logs":
        """The rounds ``first`` to ``last`` (exclusive), as a log of their own."""
        if not self.source.ordered:
            raise UsageError("rows of a query or a Spark data frame have no order; save them to a file first.")
        first, last, source = whole("first", first, least=0), whole("last", last, least=0), self.source
        if isinstance(source, Slice):
            first, last, source = source.first + first, min(source.first + last, source.last), source.source
        return Logs.of(Slice(source, first, last), self.declaration)

    def count(self) -> int:
        """How many rows the source has."""
        return self.source.count()

    def here(self) -> "Logs":
        """The same logs with their rows fetched into this process, which is said on standard error."""
        if not isinstance(self.source, REMOTE):
            return self
        print(f"surelift: fetching {self.count():,} rows into this process", file=sys.stderr)
        tables = [batch.table for batch in self.source.batches(Needs(read=tuple(self._names)))]
        empty = pa.table({name: pa.nulls(0) for name in self._names})
        return Logs.of(pa.concat_tables(tables, promote_options="permissive") if tables else empty, self.declaration)

    def batches(self, needs: Needs = Needs()) -> Iterator[TableBatch]:
        """The rounds, with their own columns and the others asked for, a batch at a time."""
        if isinstance(self.source, REMOTE):
            raise UsageError("this needs the rows themselves, which lie in another engine; bring them here: logs.here().")
        declared, needs = self.declaration, Needs.all_of([self.needs(), needs])
        batches = self.source.batches(needs)
        if same := dict.fromkeys((*declared.identifying, *needs.handed_on, *needs.coded)):
            batches = of_one_kind(batches, same)
        batches, both = declared.batches(batches), frozenset(needs.handed_on) & frozenset(needs.read)
        return of_one_kind(batches, both, kind_as_read) if both else batches

    def needs(self) -> Needs:
        read = tuple([column for role, column in self.declaration.columns if role != "contexts"])
        propensity = self.declaration.propensity
        handed_on = self.handed_on() if propensity.asks_contexts else ()
        return Needs(read=(*read, *propensity.tested_contexts), handed_on=handed_on, where=self.declaration.pushed)

    def handed_on(self) -> tuple[str, ...]:
        """The columns passed to a function of the batch: the contexts, or all but those that it must not see."""
        contexts, hidden = self.declaration.contexts, self.declaration.hidden
        return contexts if contexts is not None else tuple(name for name in self._names if name not in hidden)

    def require_columns(self, names: Any, *, role: str, single: bool = False) -> None:
        """Raise, suggesting similar names, if a column does not exist."""
        for name in [names] if single or isinstance(names, str) else names:
            if not isinstance(name, str):
                wanted = "a column" if single else "columns"
                raise UsageError(f"{role} must name {wanted} of the source, not a {type(name).__name__}.")
            if name not in self._names and hasattr(self.source, "find_late_columns"):
                self.source.find_late_columns()
                self._names = dict.fromkeys(self.source.column_names())
            if name not in self._names:
                raise UsageError(self._missing_column_message(name, role))

    def _missing_column_message(self, name: str, role: str) -> str:
        from difflib import get_close_matches

        if name in getattr(self.source, "repeated", ()):
            return f"the source has several columns {name!r}, so {role} cannot name one of them; rename all but one."
        if name in (unread := getattr(self.source, "unread", {})):
            return str(unread[name])
        names = list(self._names)
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            hint = " The file has one column: if its separator is another character, say separator=';'."
        shown = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
        return f"no column {name!r} for {role}.{hint} The columns are: {shown}."

    def __repr__(self) -> str:
        described = self.declaration.describe()
        shown = {name: value for name, value in described.items() if name != "reward_range" or value != [0, 1]}
        return f"Logs({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _name_arrays(arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Turn arrays passed without a source into a source whose columns are named after the arguments."""
    columns: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for role, array in arrays.items():
        if isinstance(array, str | Wins):
            named = array if isinstance(array, str) else array.k
            raise UsageError(f"{role}= names the column {named!r}, but there is no source; use Logs(source, ...).")
        if FLAT[role].shape.startswith(("N|", "P|")) and np.ndim(array) == 0:
            names[role] = array
            continue
        names[role], parts = role, {role: array}
        if role == "contexts":
            matrix = array.to_frame() if hasattr(array, "to_frame") else array
            if not hasattr(matrix, "iloc"):
                matrix = as_numpy(matrix, "contexts")
                matrix = matrix[:, None] if matrix.ndim == 1 else matrix
            cut = matrix.iloc if hasattr(matrix, "iloc") else matrix
            parts = {f"x{i}": cut[:, i] for i in range(matrix.shape[1])}
            names[role] = list(parts)
        elif role == "loggers" and isinstance(array, Mapping):
            parts = {f"loggers.{logger}": each for logger, each in array.items()}
            names[role] = dict(zip(array, parts, strict=True))
        columns |= parts
    return columns, names
