"""A softmax over very many items, learned: exact probabilities, of one item a round where no more is asked. NumPy alone."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.learning.rule import Single

_SCORES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class ItemRule:
    """Probabilities proportional to exp(embedding . weights features)."""

    weights: Single  # (columns, features)
    embeddings: Single  # (items, columns)

    def probabilities(self, features: Single) -> FloatArray:
        """Of every item, (rows, items)."""
        scores = self._below_best(self._wanted(features), self.embeddings.astype(np.float64))
        shares = np.exp(scores, out=scores)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def logged(self, features: Single, action: IntArray) -> FloatArray:
        """Of one item a row, (rows,): all items are added up, a few rows at a time, and none is kept."""
        found, wanted, items = np.empty(len(features)), self._wanted(features), self.embeddings.astype(np.float64)
        size = max(1, _SCORES_AT_ONCE // len(items))

        def fill(start: int) -> None:
            rows = slice(start, start + size)
            scores = self._below_best(wanted[rows], items)
            own = np.exp(scores[np.arange(len(scores)), action[rows]])
            found[rows] = own / np.exp(scores, out=scores).sum(axis=1)

        with ThreadPoolExecutor(cpu_count()) as pool:
            list(pool.map(fill, range(0, len(features), size)))
        return found

    def _wanted(self, features: Single) -> FloatArray:
        wanted: FloatArray = features.astype(np.float64) @ self.weights.astype(np.float64).T
        return wanted

    @staticmethod
    def _below_best(wanted: FloatArray, items: FloatArray) -> FloatArray:
        """How far the score of every item is below the best of its row."""
        scores = wanted @ items.T
        scores -= scores.max(axis=1, keepdims=True)
        return scores
