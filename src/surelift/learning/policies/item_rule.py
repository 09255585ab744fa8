"""A learned softmax over many items, in NumPy: exact probabilities of all items, or of the logged item alone."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.learning.policies.gaussian import Single

_SCORES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class ItemRule:
    """Probabilities proportional to exp(embedding . weights features)."""

    weights: Single  # (columns, features)
    embeddings: Single  # (items, columns)

    def probabilities(self, features: Single) -> FloatArray:
        """The probability of every item, (rows, items)."""
        scores = self._below_best(self._query(features), self.embeddings.astype(np.float64))
        shares = np.exp(scores, out=scores)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def logged(self, features: Single, action: IntArray) -> FloatArray:
        """The probability of one item per row, (rows,), a few rows at a time to bound the memory."""
        probability, query, items = np.empty(len(features)), self._query(features), self.embeddings.astype(np.float64)
        size = max(1, _SCORES_AT_ONCE // len(items))

        def fill(start: int) -> None:
            rows = slice(start, start + size)
            scores = self._below_best(query[rows], items)
            own = np.exp(scores[np.arange(len(scores)), action[rows]])
            probability[rows] = own / np.exp(scores, out=scores).sum(axis=1)

        with ThreadPoolExecutor(cpu_count()) as pool:
            list(pool.map(fill, range(0, len(features), size)))
        return probability

    def _query(self, features: Single) -> FloatArray:
        query: FloatArray = features.astype(np.float64) @ self.weights.astype(np.float64).T
        return query

    @staticmethod
    def _below_best(query: FloatArray, items: FloatArray) -> FloatArray:
        """The score of every item minus the best score of its row."""
        scores = query @ items.T
        scores -= scores.max(axis=1, keepdims=True)
        return scores
