"""Large action spaces: importance weights of action embeddings instead of actions (MIPS).

With p(e|x, a) known, w(x, e) = sum_a p(e|x, a) pi(a|x) / sum_a p(e|x, a) pi0(a|x). Certificates hold if the reward depends
on the action only through e.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray, as_numpy
from surelift.errors import LogsError, UsageError
from surelift.logs.vectors import Vectors

NO_DIRECT_EFFECT = "given the context, the reward depends on the action only through its embedding (no direct effect)"
KNOWN = "the probability of each embedding given the action is known"
_MOST_WRITTEN = 200_000


@dataclass(frozen=True, slots=True)
class ActionKinds:
    """Each action has one embedding: its kind, numbered from 0."""

    codes: IntArray = field(repr=False, compare=False)
    column: None = None
    assumes: tuple[str, ...] = (NO_DIRECT_EFFECT,)

    @property
    def actions(self) -> int:
        return len(self.codes)

    def of(self, vectors: Vectors, chances: FloatArray | None = None) -> Vectors:
        matrix = _matrix(vectors, self.actions)
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(self.codes.max() + 1))
        summed: FloatArray = np.add.reduceat(matrix[:, order], starts, axis=1)
        return Vectors.from_matrix(summed, tolerance=vectors.tolerance)

    def logged(self, action: IntArray) -> IntArray:
        return self.codes[np.clip(action, 0, self.actions - 1)]

    def describe(self) -> dict[str, Any]:
        return {"kind": "kinds", **_numbers_or_hash("codes", self.codes)}


@dataclass(frozen=True, slots=True)
class Known:
    """p(e|x, a): a matrix (actions, embeddings), or a function of the batch; the embedding drawn is a column of the log."""

    matrix: FloatArray | Callable[[Any], Any] = field(repr=False, compare=False)
    column: str
    assumes: tuple[str, ...] = (NO_DIRECT_EFFECT, KNOWN)

    @property
    def by_context(self) -> bool:
        return callable(self.matrix)

    def chances(self, batch: Any) -> FloatArray:
        """Shape (actions, embeddings), or (rounds, actions, embeddings) if it depends on the context."""
        as_array = "the embedding function must return p(e|x, a) as"
        return _probabilities(self.matrix(batch), 3, as_array) if callable(self.matrix) else self.matrix

    def of(self, vectors: Vectors, chances: FloatArray | None = None) -> Vectors:
        assert chances is not None
        matrix = _matrix(vectors, chances.shape[-2])
        if chances.ndim == 3 and len(chances) != len(matrix):
            raise UsageError(f"the embedding function returned {len(chances):,} matrices for {len(matrix):,} rounds.")
        summed: FloatArray = matrix @ chances if chances.ndim == 2 else np.einsum("nk,nke->ne", matrix, chances)
        return Vectors.from_matrix(summed, tolerance=vectors.tolerance)

    def describe(self) -> dict[str, Any]:
        function = {"mark": getattr(self.matrix, "__name__", "a function")} if callable(self.matrix) else {}
        return {"kind": "known", "column": self.column, **(function or _numbers_or_hash("matrix", self.matrix))}


Embedding = ActionKinds | Known


def kinds(codes: Sequence[int] | IntArray) -> ActionKinds:
    """Weigh kinds of actions instead of single actions, where an action acts only through its kind.

    Args:
        codes: The kind of each action, numbered from 0 without gaps.
    """
    numbers = as_numpy(codes, "kinds")
    whole = numbers.ndim == 1 and len(numbers) > 0 and numbers.dtype.kind in "iu"
    if not whole or not np.array_equal(np.unique(numbers), np.arange(numbers.max() + 1)):
        raise UsageError("kinds must be a list of whole numbers, one per action, numbered from 0 without gaps.")
    return ActionKinds(numbers.astype(np.int64))


def known(matrix: Any, *, column: str) -> Known:
    """Weigh by an embedding that is drawn given the action, where an action acts only through it.

    Args:
        matrix: p(e|a), one row per action; if it depends on the context, a function of the batch that returns (rounds,
            actions, embeddings).
        column: The column with the position of the embedding that was drawn.
    """
    if not isinstance(column, str):
        raise UsageError("column= must name the column with the position of the embedding that was drawn.")
    return Known(matrix if callable(matrix) else _probabilities(matrix, 2, "p(e|a) must be"), column)


def _probabilities(values: Any, dimensions: int, subject: str) -> FloatArray:
    array, problem = as_numpy(values, "p(e|a)"), ""
    if array.dtype.kind not in "fiub":
        problem = f", but its type is {array.dtype}"
    elif array.ndim != dimensions or not array.size:
        problem = f", but its shape is {array.shape}"
    elif (array < 0.0).any() or not np.allclose(array.sum(axis=-1, dtype=np.float64), 1.0, rtol=0.0, atol=1e-9):
        problem = "; some entries are negative or some sums are not 1"
    if problem:
        rule = f"{subject} a {dimensions}-dimensional array of probabilities that sum to 1 over embeddings"
        raise UsageError(f"{rule}{problem}.")
    return array.astype(np.float64)


def embedding_from(description: Mapping[str, Any]) -> Embedding:
    if "mark" in description:
        raise UsageError("a certificate cannot store this embedding; pass the logs with their embedding, in Python.")
    if description["kind"] == "kinds":
        return kinds(description["codes"])
    return known(description["matrix"], column=description["column"])


def _numbers_or_hash(name: str, values: Any) -> dict[str, Any]:
    """The numbers themselves, or their hash if there are too many."""
    few = values.size <= _MOST_WRITTEN
    return {name: values.tolist()} if few else {"mark": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()}


def _matrix(vectors: Vectors, actions: int) -> FloatArray:
    others = vectors.lengths[vectors.lengths != actions]
    if len(others):
        raise LogsError(
            f"the embedding covers {actions:,} actions, but a vector has {others[0]:,}; both must list the same actions."
        )
    return vectors.values.reshape(len(vectors), actions)
