"""Training examples as arrays: features, logged action, reward, propensity."""

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
    """Some rounds, either all as NumPy arrays or all as tensors."""

    features: Any  # (rounds, features), float32
    action: Any  # (rounds,)
    reward: Any  # (rounds,), in [0, 1]
    propensity: Any  # (rounds,)
    logging: Any = None  # (rounds, actions), summing to 1
    predicted: Any = None  # (rounds, actions), the reward model's predictions
    overstated: Any = None  # (rounds,), relative excess of the propensity over its entry in the logging vector

    def __len__(self) -> int:
        return len(self.action)

    def at(self, rows: Any) -> "Examples":
        return Examples(*(None if array is None else array[rows] for array in self.arrays()))

    def pieces(self, size: int) -> Iterator["Examples"]:
        for start in range(0, len(self), size):
            yield self.at(slice(start, start + size))

    def tensors(self, device: Any, *, double: bool = False) -> "Examples":
        """As tensors in single precision, or in double."""
        import torch

        def tensor(array: Any) -> Any:
            kept = array if array.dtype.kind == "i" else array.astype(np.float64 if double else np.float32, copy=False)
            return torch.from_numpy(np.require(kept, requirements=["C", "W"])).to(device)

        return Examples(*(None if array is None else tensor(array) for array in self.arrays()))

    @classmethod
    def concatenate(cls, several: Sequence["Examples"]) -> "Examples":
        columns = zip(*(examples.arrays() for examples in several), strict=True)
        return cls(*(None if column[0] is None else _concatenate(column) for column in columns))

    def arrays(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def _concatenate(column: Sequence[Any]) -> Any:
    if len(column) == 1:
        return column[0]
    if isinstance(column[0], np.ndarray):
        return np.concatenate(column)
    import torch

    return torch.cat(tuple(column))


def index_among(features: FloatArray, distinct: list[FloatArray]) -> int:
    """The index of an equal feature matrix in ``distinct``, where it is appended if there is none."""
    for index, known in enumerate(distinct):
        if known is features or (np.array_equal(known[:1], features[:1]) and np.array_equal(known, features)):
            return index
    distinct.append(features)
    return len(distinct) - 1


def examples_of(rounds: Rounds, features: Any, actions: int, predictor: Predictor | None) -> Examples:
    assert rounds.action is not None
    logging, predicted = rounds.logging_shares, None
    if predictor is not None:
        predicted = _matrix(predictor.predictions(rounds), actions)
    return Examples(
        features,
        rounds.action,
        rounds.reward,
        rounds.propensity,
        None if logging is None else _matrix(logging, actions),
        predicted,
        None if logging is None else overstated(rounds),
    )


def _matrix(vectors: Vectors, actions: int) -> FloatArray:
    return vectors.values.reshape(len(vectors), actions)
