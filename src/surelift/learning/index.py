"""Which items have the largest inner products with a query: an approximate index, by faiss."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.rule import Single

_LINKS, _BREADTH = 32, 64


class Index:
    """A graph of near items that is walked from link to link (HNSW): a query costs about the logarithm of their number."""

    def __init__(self, embeddings: Single) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise UsageError(
                "a softmax over so many items needs faiss, which is not installed; say: pip install 'surelift[learn]'."
            ) from error
        self._index: Any = faiss.IndexHNSWFlat(embeddings.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efSearch = _BREADTH
        self._index.add(embeddings)

    def nearest(self, queries: Tensor, count: int) -> Tensor:
        """The items found for each query, (queries, count), ascending; -1 where there were fewer."""
        self._index.hnsw.efSearch = max(_BREADTH, count)
        _, found = self._index.search(np.ascontiguousarray(queries.cpu().numpy(), dtype=np.float32), count)
        return torch.from_numpy(np.sort(found, axis=1)).to(queries.device)
