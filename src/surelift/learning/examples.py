"""Rounds to learn from, as arrays: what was known, what was done, with what probability, what it earned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls.model import Predictor
from surelift.controls.weights import overstated
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Examples:
    """Some rounds; all arrays are NumPy's, or all are tensors."""

    features: Any  # (rounds, features), float32
    action: Any  # (rounds,)
    reward: Any  # (rounds,), on [0, 1]
    propensity: Any  # (rounds,)
    logging: Any = None  # (rounds, actions), summing to 1
    predicted: Any = None  # (rounds, actions), what a reward model expects
    overstated: Any = None  # (rounds,), by how much, relatively, the propensity exceeds its entry in the vector

    def __len__(self) -> int:
        return len(self.action)

    def at(self, rows: Any) -> "Examples":
        return Examples(*(None if part is None else part[rows] for part in self.parts()))

    def pieces(self, size: int) -> Iterator["Examples"]:
        for start in range(0, len(self), size):
            yield self.at(slice(start, start + size))

    def tensors(self, device: Any, *, wide: bool = False) -> "Examples":
        """In single precision, or all of it in double."""
        import torch

        def tensor(part: Any) -> Any:
            kept = part if part.dtype.kind == "i" else part.astype(np.float64 if wide else np.float32, copy=False)
            return torch.from_numpy(np.require(kept, requirements=["C", "W"])).to(device)

        return Examples(*(None if part is None else tensor(part) for part in self.parts()))

    @classmethod
    def joined(cls, several: list["Examples"]) -> "Examples":
        columns = zip(*(one.parts() for one in several), strict=True)
        return cls(*(None if column[0] is None else _joined(column) for column in columns))

    def parts(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def _joined(column: Sequence[Any]) -> Any:
    if len(column) == 1:
        return column[0]
    if isinstance(column[0], np.ndarray):
        return np.concatenate(column)
    import torch

    return torch.cat(tuple(column))


def place_among(features: FloatArray, distinct: list[FloatArray]) -> int:
    """Where equal features lie among those that differ; they are added where they are new."""
    for place, known in enumerate(distinct):
        if known is features or (np.array_equal(known[:1], features[:1]) and np.array_equal(known, features)):
            return place
    distinct.append(features)
    return len(distinct) - 1


def examples_of(rounds: Rounds, features: Any, actions: int, predictor: Predictor | None) -> Examples:
    assert rounds.action is not None
    shares, predicted = rounds.logging_shares, None
    if predictor is not None:
        predicted = _matrix(predictor.predictions(rounds), actions)
    return Examples(
        features,
        rounds.action,
        rounds.reward,
        rounds.propensity,
        None if shares is None else _matrix(shares, actions),
        predicted,
        None if shares is None else overstated(rounds),
    )


def _matrix(vectors: Vectors, actions: int) -> FloatArray:
    return vectors.values.reshape(len(vectors), actions)


def positions(values: Any) -> Any:
    """0, 1, ... along the first axis, beside ``values``."""
    if isinstance(values, np.ndarray):
        return np.arange(len(values))
    import torch

    return torch.arange(len(values), device=values.device)


def logged(matrix: Any, action: Any) -> Any:
    """The entry of the logged action of every row."""
    return matrix[positions(action), action]
