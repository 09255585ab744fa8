"""Very many actions: what they have in common, so that weights are those of embeddings instead of actions (MIPS).

With p(e|x, a) known, w(x, e) = sum_a p(e|x, a) pi(a|x) / sum_a p(e|x, a) pi0(a|x). Every certificate holds for these
weights where the reward depends on the action through e alone.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import LogsError, UsageError
from surelift.logs.vectors import Vectors

NO_DIRECT_EFFECT = "given the context, the reward depends on the action only through its embedding (no direct effect)"
KNOWN = "the probability of each embedding given the action is known"
_MOST_WRITTEN = 200_000


@dataclass(frozen=True, slots=True)
class ActionKinds:
    """Each action has one embedding: the kind it belongs to, by position, counted from 0."""

    codes: IntArray = field(repr=False, compare=False)
    column: None = None
    assumes: tuple[str, ...] = (NO_DIRECT_EFFECT,)

    @property
    def actions(self) -> int:
        return len(self.codes)

    def of(self, vectors: Vectors, chances: FloatArray | None = None) -> Vectors:
        """From probabilities of actions to those of kinds."""
        matrix = _matrix(vectors, self.actions)
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(self.codes.max() + 1))
        summed: FloatArray = np.add.reduceat(matrix[:, order], starts, axis=1)
        return Vectors.from_matrix(summed, tolerance=vectors.tolerance)

    def logged(self, action: IntArray) -> IntArray:
        return self.codes[np.clip(action, 0, self.actions - 1)]

    def describe(self) -> dict[str, Any]:
        return {"kind": "kinds", **_written("codes", self.codes)}


@dataclass(frozen=True, slots=True)
class Known:
    """p(e|x, a), whatever the context as a matrix (actions, embeddings), or as a function of the batch.

    Which embedding came is in a column of the log.
    """

    matrix: FloatArray | Callable[[Any], Any] = field(repr=False, compare=False)
    column: str
    assumes: tuple[str, ...] = (NO_DIRECT_EFFECT, KNOWN)

    @property
    def by_context(self) -> bool:
        return callable(self.matrix)

    def chances(self, batch: Any) -> FloatArray:
        """(actions, embeddings), or with the rounds of a batch before them."""
        if not callable(self.matrix):
            return self.matrix
        return _probabilities(self.matrix(batch), (3,), "the function of an embedding gives p(e|x, a)")

    def of(self, vectors: Vectors, chances: FloatArray | None = None) -> Vectors:
        """From probabilities of actions to those of embeddings."""
        assert chances is not None
        matrix = _matrix(vectors, chances.shape[-2])
        if chances.ndim == 3 and len(chances) != len(matrix):
            raise UsageError(f"the function of an embedding gave {len(chances):,} matrices for {len(matrix):,} rounds.")
        summed: FloatArray = matrix @ chances if chances.ndim == 2 else np.einsum("nk,nke->ne", matrix, chances)
        return Vectors.from_matrix(summed, tolerance=vectors.tolerance)

    def describe(self) -> dict[str, Any]:
        if callable(self.matrix):
            return {"kind": "known", "column": self.column, "mark": getattr(self.matrix, "__name__", "a function")}
        return {"kind": "known", "column": self.column, **_written("matrix", self.matrix)}


Embedding = ActionKinds | Known


def kinds(codes: Sequence[int] | IntArray) -> ActionKinds:
    """A kind for each action, as numbers from 0 on without a gap."""
    try:
        found = np.asarray(codes)
    except ValueError as error:
        raise UsageError("kinds are a list of whole numbers, one for each action.") from error
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu":
        raise UsageError("kinds are a list of whole numbers, one for each action.")
    if not np.array_equal(np.unique(found), np.arange(found.max() + 1)):
        raise UsageError("kinds are numbered from 0 on, without a gap.")
    return ActionKinds(found.astype(np.int64))


def known(matrix: Any, *, column: str) -> Known:
    """p(e|a), a row for each action, and the column that holds the position of the embedding that came.

    Where it depends on the context, ``matrix`` is a function of the batch that returns (rounds, actions, embeddings).
    """
    if not isinstance(column, str):
        raise UsageError("column= names the column that holds the position of the embedding that came.")
    return Known(matrix if callable(matrix) else _probabilities(matrix, (2,), "p(e|a) is"), column)


def _probabilities(given: Any, dimensions: tuple[int, ...], what: str) -> FloatArray:
    told = f"{what} an array of probabilities that sum to 1 over embeddings, with {dimensions[0]} dimensions"
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{told}: {error}") from error
    if found.ndim not in dimensions or not found.size:
        raise UsageError(f"{told}, not of shape {found.shape}.")
    if (found < 0.0).any() or not np.allclose(found.sum(axis=-1), 1.0, rtol=0.0, atol=1e-9):
        raise UsageError(f"{told}; these do not.")
    return found


def embedding_from(description: Mapping[str, Any]) -> Embedding:
    """What ``describe`` wrote into a certificate."""
    if "mark" in description:
        raise UsageError("this embedding cannot be kept in a certificate; give the logs with it, in Python.")
    if description["kind"] == "kinds":
        return kinds(description["codes"])
    return known(description["matrix"], column=description["column"])


def _written(name: str, values: Any) -> dict[str, Any]:
    """The numbers themselves, or a mark of them where they are very many."""
    if values.size <= _MOST_WRITTEN:
        return {name: values.tolist()}
    return {"mark": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()}


def _matrix(vectors: Vectors, actions: int) -> FloatArray:
    lengths = vectors.lengths
    if (lengths != actions).any():
        first = int(lengths[lengths != actions][0])
        raise LogsError(
            f"the embedding is of {actions:,} actions, but a vector has {first:,}; they must list the same."
        )
    return vectors.values.reshape(len(lengths), actions)
