"""An approximate index of maximum inner products over items (faiss)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from surelift.errors import UsageError
from surelift.learning.policies.gaussian import Single

_LINKS, _BREADTH = 32, 64


class ItemIndex:
    """A graph of neighbouring items (HNSW): a query takes time logarithmic in their number."""

    def __init__(self, embeddings: Single) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise UsageError(
                "a softmax over many items needs faiss, which is not installed. Run: pip install 'surelift[learn]'"
            ) from error
        self._index: Any = faiss.IndexHNSWFlat(embeddings.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efSearch = _BREADTH
        self._index.add(embeddings)

    def nearest(self, queries: Tensor, count: int) -> Tensor:
        """The items found for each query, (queries, count), in ascending order; -1 where there are fewer."""
        self._index.hnsw.efSearch = max(_BREADTH, count)
        _, items = self._index.search(np.ascontiguousarray(queries.cpu().numpy(), dtype=np.float32), count)
        return torch.from_numpy(np.sort(items, axis=1)).to(queries.device)
