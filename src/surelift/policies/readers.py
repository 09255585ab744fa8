"""Numbers about actions from outside the log's columns: from an array, a function of the batch, or a model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import as_numpy, unmasked
from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.alignment import index_of, places, require_row_order, require_same_labels
from surelift.logs.batch import Needs
from surelift.logs.columns import TOLERANCE, TOLERANCE_FLOAT32, is_list, list_to_vectors
from surelift.logs.decisions import Decisions
from surelift.logs.functions import ask
from surelift.logs.rows import Rows
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Reader, Singles
from surelift.traits.logs import Logs


@dataclass(frozen=True, slots=True, eq=False)
class Array(Reader):
    """Numbers in the order of the source: (rounds,), (rounds, actions), or vectors of different lengths."""

    array: Any
    index: Any = None  # the labels of a pandas object, by which its rows are matched with those of the logs
    columns: list[Any] = field(default_factory=list)  # the names of a frame's columns
    features = frozenset({"array"})

    def needs(self, logs: Logs) -> Needs:
        source, wrong = _whole(logs), ""
        if not logs.source.ordered:
            wrong = "an array cannot be aligned with a query, whose rows have no order; put the probabilities in a column."
        elif isinstance(self.array, np.ndarray) and self.array.ndim not in (1, 2):
            wrong = (
                "an array, given as a policy or a model, must have shape (rounds,) or (rounds, actions), not "
                f"{self.array.shape}. Of several positions, take the one of each round, array[np.arange(rounds), :, "
                "position]; importers.obp(bandit_feedback, action_dist) does that."
            )
        elif len(self.array) != source.count():
            wrong = f"a policy's array has {len(self.array):,} rows, but the logs have {source.count():,} rounds."
        if wrong:
            raise UsageError(wrong)
        if self.index is not None:
            wanted = getattr(source, "index", None)
            if wanted is None:
                require_row_order(self.index, "a policy")
            else:
                require_same_labels(self.index, wanted, "a policy", "the logs")
        _require_action_order(self.columns, logs)
        return Needs()

    def read(self, decisions: Decisions, subject: str) -> Singles | Vectors:
        rows = decisions.rows
        wanted, numbers = getattr(_whole(rows.logs), "index", None), rows.batch.rows
        if numbers is None or not len(numbers):
            return kept(rows, self.array[places(self.index, wanted, rows.start, rows.start + rows.size)], subject)
        # Some rows in between were left out.
        first = int(numbers[0])
        values = self.array[places(self.index, wanted, first, int(numbers[-1]) + 1)]
        of_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
        return kept(rows, values.take(pa.array(numbers - first)) if of_arrow else values[numbers - first], subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "array"}


def _whole(logs: Logs) -> Any:
    """The whole log: an array covers it also where a slice of it is read."""
    source = logs.source
    while hasattr(source, "source"):
        source = source.source
    return source


@dataclass(frozen=True, slots=True)
class Function(Reader):
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
            _require_action_order(names_of(values), rows.logs)
            return as_numbers(values, subject)

        return kept(rows, ask(numbers, rows, rows.logs.handed_on(), subject), subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "function", "name": getattr(self.function, "__name__", type(self.function).__name__)}


@dataclass(frozen=True, slots=True)
class Model(Reader):
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
            predicted, expected = as_numpy(self.model.predict_proba(inputs), subject), (features.num_rows, len(order))
            if predicted.shape != expected:
                raise UsageError(f"{subject} gave an array of shape {predicted.shape}, not {expected}: rounds and classes.")
            return predicted

        predicted = ask(predict, rows, self._features(rows.logs), subject)
        matrix = np.zeros((rows.size, actions), dtype=predicted.dtype)
        matrix[:, order] = predicted
        return kept(rows, matrix, subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "model", "name": type(self.model).__name__}

    def _features(self, logs: Logs) -> tuple[str, ...]:
        named = getattr(self.model, "feature_names_in_", None)
        features = logs.declaration.contexts if named is None else tuple(map(str, named))
        if features:
            return features
        raise UsageError(
            "a model needs its features: name their columns in contexts=, in the order the model was fitted on."
        )

    def _order(self, logs: Logs) -> tuple[list[int], int]:
        """The position of each class of the model among the actions, and the number of actions."""
        found, wrong = getattr(self.model, "classes_", ()), ""
        classes = [label.item() if isinstance(label, np.generic) else label for label in found]
        # Where no labels were declared, only positions are known.
        declared = logs.declaration.propensity.actions
        labels = list(declared or range(len(classes)))
        if not hasattr(self.model, "classes_"):
            wrong = (
                f"{type(self.model).__name__} has predict_proba but no classes_, so its columns cannot be matched to "
                "actions; fit it first, or pass a function that returns one probability per action, in order."
            )
        elif any(label not in labels for label in classes) or (not declared and classes != labels):
            wrong = (
                f"the model's classes are {classes[:10]}, but the actions are {labels[:10]}; list the actions in order, in "
                "actions=[...]."
            )
        if wrong:
            raise UsageError(wrong)
        return [labels.index(label) for label in classes], len(labels)


def names_of(frame: Any) -> list[Any]:
    """The names of a frame's columns; an array has none."""
    columns = getattr(frame, "columns", None)
    return list(getattr(frame, "column_names", () if columns is None else columns))


def _require_action_order(named: list[Any], logs: Logs) -> None:
    """Raise if the columns of a frame are named by the actions, also as text, in another order than the declared one."""
    actions = list(logs.declaration.propensity.actions or ())
    for of, to in ((named, actions), (list(map(str, named)), list(map(str, actions)))):
        if of != to and len(of) == len(to) and set(of) == set(to):
            raise UsageError(
                f"the columns of a policy's frame are {named[:10]}, but actions= lists {actions[:10]}; give them in that "
                "order."
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
    of_arrow = isinstance(values, pa.Array)
    if of_arrow and is_list(values) and len(values) == rows.size:
        vectors, missing = list_to_vectors(values)
        rows.refuse(subject, faults.LIST_MISSING, missing, [])
        rows.keep_vectors(vectors, subject)
        return vectors
    if of_arrow or values.dtype.kind not in "fiub" or values.ndim not in (1, 2) or len(values) != rows.size:
        shown = f"{len(values):,} values" if of_arrow else f"an array of shape {values.shape}"
        raise UsageError(
            f"{subject} gave {shown}, of type {values.type if of_arrow else values.dtype}, for {rows.size:,} rounds; it "
            "must give numbers of shape (rounds,) or (rounds, actions)."
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
