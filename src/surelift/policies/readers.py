"""Read numbers about actions from a column, several columns, an array, a function or a model.

A reader yields one number or one vector per round; the policy decides whether they are probabilities or scores.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from surelift.arrays import FloatArray, as_numpy, unmasked
from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.alignment import index_of, places, require_row_order, require_same_labels
from surelift.logs.batch import Needs, Slice
from surelift.logs.columns import TOLERANCE, TOLERANCE_FLOAT32, is_list, is_vector, list_to_vectors
from surelift.logs.decisions import Decisions
from surelift.logs.functions import ask
from surelift.logs.rows import Rows
from surelift.logs.vectors import Vectors
from surelift.traits.logs import Logs


@dataclass(frozen=True, slots=True)
class Singles:
    """One number per round."""

    values: FloatArray
    tolerance: float


class Reader(Protocol):
    def needs(self, logs: Logs) -> Needs: ...

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors: ...

    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers, or a list column."""

    name: str

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.name, role="a policy")
        return Needs(read=(self.name,))

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rows = decisions.rows
        if is_vector(rows.table[self.name]):
            return rows.vectors(self.name, subject)
        return Singles(*rows.numbers(self.name, subject))

    def describe(self) -> dict[str, Any]:
        return {"kind": "column", "column": self.name}


@dataclass(frozen=True, slots=True)
class Columns:
    """One column per action, read as a vector."""

    names: tuple[str, ...]

    def needs(self, logs: Logs) -> Needs:
        logs.require_columns(self.names, role="a policy")
        return Needs(read=self.names)

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        return decisions.rows.vectors(self.names, subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "columns", "columns": list(self.names)}


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """Numbers in the order of the source: (rounds,), (rounds, actions), or vectors of different lengths."""

    array: Any
    index: Any = None
    """Of a pandas object: its rows are matched with those of the logs by their labels."""
    columns: list[Any] = field(default_factory=list)
    """Of a frame, the names of its columns."""
    features = frozenset({"array"})

    def needs(self, logs: Logs) -> Needs:
        if not logs.source.ordered:
            raise UsageError(
                "an array cannot be aligned with a query, whose rows have no order; put the probabilities in a column."
            )
        if isinstance(self.array, np.ndarray) and self.array.ndim not in (1, 2):
            raise UsageError(_shape_message(self.array.shape))
        # For a slice of a log, the array covers the whole log.
        rounds = _whole(logs).count()
        if len(self.array) != rounds:
            raise UsageError(f"a policy's array has {len(self.array):,} rows, but the logs have {rounds:,} rounds.")
        wanted = getattr(_whole(logs), "index", None)
        if self.index is not None and wanted is None:
            require_row_order(self.index, "a policy")
        elif self.index is not None:
            require_same_labels(self.index, wanted, "a policy", "the logs")
        require_action_order(self.columns, logs)
        return Needs()

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        batch = decisions.rows
        wanted, numbers = getattr(_whole(batch.logs), "index", None), batch.batch.rows
        if numbers is not None and len(numbers):  # some rows in between were left out
            first = int(numbers[0])
            rows = self.array[places(self.index, wanted, first, int(numbers[-1]) + 1)]
            of_arrow = isinstance(rows, pa.Array | pa.ChunkedArray)
            return kept(batch, rows.take(pa.array(numbers - first)) if of_arrow else rows[numbers - first], subject)
        return kept(batch, self.array[places(self.index, wanted, batch.start, batch.start + batch.size)], subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "array"}


def _shape_message(shape: tuple[int, ...]) -> str:
    message = f"an array, given as a policy or a model, must have shape (rounds,) or (rounds, actions), not {shape}"
    if len(shape) != 3:
        return f"{message}."
    return (
        f"{message}, with {shape[2]} positions. Take the one of each round, array[np.arange(rounds), :, position]; "
        "importers.obp(bandit_feedback, action_dist) does that for Open Bandit Pipeline's policies."
    )


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the batch: a pyarrow Table of the contexts, or of all columns but reward, propensity and
    keep_probability. It is also called on parts of a batch, and must return the same for them.
    """

    function: Callable[[Any], Any]

    def needs(self, logs: Logs) -> Needs:
        return Needs(handed_on=logs.handed_on())

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rows = decisions.rows

        def numbers(table: Any) -> Any:
            values = self.function(table)
            if index_of(values) is not None:
                require_row_order(index_of(values), f"what {subject} returned")
            require_action_order(names_of(values), rows.logs)
            return as_numbers(values, subject)

        return kept(rows, ask(numbers, rows, rows.logs.handed_on(), subject), subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "function", "name": getattr(self.function, "__name__", type(self.function).__name__)}


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted classifier: ``predict_proba`` over ``classes_``, reordered to the declared actions."""

    model: Any

    def needs(self, logs: Logs) -> Needs:
        features = self._features(logs)
        logs.require_columns(features, role="a feature of the model")
        logs.declaration.require_visible(features, "the model")
        self._order(logs)
        return Needs(handed_on=features)

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rows = decisions.rows
        order, actions = self._order(rows.logs)

        def predict(features: Any) -> Any:
            if hasattr(self.model, "feature_names_in_"):
                # A model fitted on a data frame expects its column names.
                inputs = features.to_pandas()
            else:
                inputs = np.column_stack([column.to_numpy() for column in features.columns])
            predicted, size = as_numpy(self.model.predict_proba(inputs), subject), features.num_rows
            if predicted.shape != (size, len(order)):
                raise UsageError(
                    f"{subject} gave an array of shape {predicted.shape} for {size:,} rounds and {len(order)} classes."
                )
            return predicted

        predicted = ask(predict, rows, self._features(rows.logs), subject)
        matrix = np.zeros((rows.size, actions), dtype=predicted.dtype)
        matrix[:, order] = predicted
        return kept(rows, matrix, subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "model", "name": type(self.model).__name__}

    def _features(self, logs: Logs) -> tuple[str, ...]:
        if hasattr(self.model, "feature_names_in_"):
            return tuple(str(name) for name in self.model.feature_names_in_)
        contexts = logs.declaration.contexts
        if not contexts:
            raise UsageError(
                "a model needs its features: name their columns in contexts=, in the order the model was fitted on."
            )
        return contexts

    def _order(self, logs: Logs) -> tuple[list[int], int]:
        """The position of each class of the model among the actions, and the number of actions."""
        if not hasattr(self.model, "classes_"):
            raise UsageError(
                f"{type(self.model).__name__} has predict_proba but no classes_, so its columns cannot be matched to "
                "actions; fit it first, or pass a function that returns one probability per action, in order."
            )
        classes = [label.item() if isinstance(label, np.generic) else label for label in self.model.classes_]
        labels = logs.declaration.propensity.actions
        if not labels:
            if classes != list(range(len(classes))):
                raise UsageError(
                    f"the model's classes are {classes[:5]}...; declare the order of the actions in actions=[...]."
                )
            return list(range(len(classes))), len(classes)
        unknown = [label for label in classes if label not in labels]
        if unknown:
            raise UsageError(f"the model's class {unknown[0]!r} is not among the declared actions {list(labels)[:10]}.")
        return [labels.index(label) for label in classes], len(labels)


def _whole(logs: Logs) -> Any:
    return logs.source.source if isinstance(logs.source, Slice) else logs.source


def names_of(frame: Any) -> list[Any]:
    """Of the columns of a frame; none of an array."""
    columns = getattr(frame, "columns", None)
    return list(getattr(frame, "column_names", () if columns is None else columns))


def require_action_order(named: list[Any], logs: Logs) -> None:
    """Raise if the columns of a frame are named by the actions, also as text, in another order than the declared one."""
    actions = list(logs.declaration.propensity.actions or ())
    forms = ((named, actions), ([*map(str, named)], [*map(str, actions)]))
    if any(of != to and len(of) == len(to) and set(of) == set(to) for of, to in forms):
        raise UsageError(
            f"the columns of a policy's frame are {named[:10]}, but actions= lists {actions[:10]}; give them in that order."
        )


def as_numbers(values: Any, subject: str = "a policy's array") -> Any:
    """An array of numbers, or an Arrow list array if vectors differ in length; masked entries become NaN."""
    try:
        return as_numpy(values, subject)
    except UsageError as refusal:
        if not isinstance(refusal.__cause__, ValueError):
            raise
        try:
            return pa.array(unmasked(values))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UsageError(f"{subject} holds no numbers, or vectors of numbers, one per round: {error}") from error


def kept(rows: Rows, values: Any, subject: str) -> Singles | Vectors:
    """Numbers from outside the table, checked and hashed like its columns."""
    if isinstance(values, pa.Array) and is_list(values) and len(values) == rows.size:
        ragged, missing = list_to_vectors(values)
        rows.refuse(subject, faults.LIST_MISSING, missing, [])
        rows.keep_vectors(ragged, subject)
        return ragged
    numeric = not isinstance(values, pa.Array) and values.dtype.kind in "fiub" and values.ndim in (1, 2)
    if not numeric or len(values) != rows.size:
        if isinstance(values, pa.Array):
            shown = f"{len(values):,} values of type {values.type}"
        else:
            shown = f"an array of shape {values.shape} and type {values.dtype}"
        raise UsageError(
            f"{subject} gave {shown} for {rows.size:,} rounds; it must give numbers of shape (rounds,) or (rounds, actions)."
        )
    tolerance = TOLERANCE_FLOAT32 if values.dtype in (np.float32, np.float16) else TOLERANCE
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if numbers.ndim == 1:
        rows.check_finite(numbers, subject)
        rows.hashes.mix(numbers)
        return Singles(numbers, tolerance)
    vectors = Vectors.from_matrix(numbers, tolerance=tolerance)
    if numbers.shape[1] == 0:
        rows.refuse(subject, faults.LIST_MISSING, np.ones(rows.size, dtype=np.bool_), [])
    rows.keep_vectors(vectors, subject)
    return vectors
