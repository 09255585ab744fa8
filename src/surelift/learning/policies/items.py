r"""A softmax over many items, trained without summing over all of them.

The score of item a is f_a = e_a . h, with a given embedding e_a and h a linear function of the context. In the probability
of the logged item and its gradient,

.. math:: \pi(a) = e^{f_a}/Z, \qquad \nabla_h \pi(a) = \frac{e^{f_a} e_a}{Z} - \frac{e^{f_a}}{Z^2} \sum_b e^{f_b} e_b,

the sums over all items are estimated without bias: exactly over the logged item and the items retrieved from an index of
maximum inner products, and by uniform draws over the others. One over an estimate of Z would be biased; expanding
1/Z = 1/C + (1 - Z/C)/Z repeatedly gives the unbiased series

.. math:: \frac{1}{Z} = \frac{1}{C_0} + \Bigl(1 - \frac{Z_1}{C_0}\Bigr) \frac{1}{C_1} + \Bigl(1 - \frac{Z_1}{C_0}\Bigr)
    \Bigl(1 - \frac{Z_2}{C_1}\Bigr) \frac{1}{C_2} + \dots

with a fresh draw for every Z_j, C_j the mean of all earlier draws, and a random truncation (Russian roulette). So objectives
that are linear in the policy have unbiased gradients. The terms shrink fast where the index finds most of Z; where index and
draws miss most of it, the variance is large.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from surelift.errors import UsageError, install_extra, whole
from surelift.learning.policies.rules import Single, as_single

_LINKS, _BREADTH = 32, 64
_CONTINUE = 0.5  # the probability of adding another term to the series


class ItemIndex:
    """A graph of neighbouring items (HNSW): a query takes time logarithmic in their number."""

    def __init__(self, embeddings: Single) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            needed = "a softmax over many items needs faiss, which is not installed."
            raise UsageError(f"{needed} {install_extra('items')}") from error
        self._index: Any = faiss.IndexHNSWFlat(embeddings.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.add(embeddings)

    def nearest(self, queries: Tensor, count: int) -> Tensor:
        """The items found for each query, (queries, count), in ascending order; -1 where there are fewer."""
        self._index.hnsw.efSearch = max(_BREADTH, count)
        _, items = self._index.search(np.ascontiguousarray(queries.cpu().numpy(), dtype=np.float32), count)
        return torch.from_numpy(np.sort(items, axis=1)).to(queries.device)


@dataclass(frozen=True, slots=True, eq=False)
class ItemSoftmax:
    """A policy for ``PolicyLearner(policy=...)`` with probabilities proportional to exp(embedding . weights context).

    With no more items than ``retrieved`` and ``draws`` together, the sums are exact.

    Args:
        embeddings: One row per item, in the order of the actions.
        start: The initial weights, (columns of the embeddings, features); by default zero.
        retrieved: How many items each round takes from the index.
        draws: How many random items it takes besides.
    """

    embeddings: Any
    start: Any = None
    retrieved: int = 64
    draws: int = 256

    def __post_init__(self) -> None:
        for name in ("retrieved", "draws"):
            whole(name, getattr(self, name))
        shapes = {"embeddings": "(items, columns)"} | ({} if self.start is None else {"start": "(columns, features)"})
        for name, shape in shapes.items():
            numbers = as_single(name, getattr(self, name))
            if numbers.ndim != 2 or not numbers.size or not np.isfinite(numbers).all():
                raise UsageError(f"{name} must be finite numbers of shape {shape}, but have shape {numbers.shape}.")
            object.__setattr__(self, name, numbers)

    def first_weights(self, features: int, actions: int) -> Single:
        items, columns = self.embeddings.shape
        start, problem = np.zeros((columns, features), dtype=np.float32) if self.start is None else self.start, ""
        if items != actions:
            problem = f"there are {items:,} embeddings, but {actions:,} actions; give one row per action."
        elif start.shape != (columns, features):
            problem = (
                f"start must have shape ({columns}, {features}), for the columns of the embeddings and the features "
                f"(intercept last), but has shape {start.shape}."
            )
        if problem:
            raise UsageError(problem)
        return np.asarray(start)


class RetrievedItems(NamedTuple):
    """The items retrieved for each row, and the logged one; shares are e^(score - top)."""

    kinds: Tensor  # (rows, retrieved + 1), distinct embeddings, ascending; -1 where there is none
    embeddings: Tensor  # (rows, retrieved + 1, columns)
    shares: Tensor  # (rows, retrieved + 1), summed over the items with that embedding
    known: Tensor  # (rows,), their sum
    own: Tensor  # (rows, columns), the embedding of the logged item
    own_share: Tensor  # (rows,)
    top: Tensor  # (rows,)


class DrawnItems(NamedTuple):
    """Unbiased estimates, from uniform draws, of sums over the items not retrieved, up to the factor e^-top."""

    total: Tensor  # (rows,)
    variance: Tensor  # (rows,), of that total
    embeddings: Tensor | None  # (rows, columns), the sum of e^score times embedding


class SampledSoftmax(nn.Module):
    """The softmax during training: unbiased probabilities of the logged items, with unbiased gradients."""

    items: Tensor  # (items, columns)
    kinds: Tensor  # (kinds, columns), the distinct embeddings
    kind: Tensor  # (items,), the index of an item's embedding among them
    multiplicity: Tensor  # (kinds,), the number of items with each

    def __init__(self, form: ItemSoftmax, weights: Single) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.from_numpy(weights.copy()))  # (columns, features)
        self.register_buffer("items", torch.from_numpy(form.embeddings), persistent=False)
        self._draws, self._exact = form.draws, len(form.embeddings) <= form.retrieved + form.draws
        if self._exact:
            return
        # Only distinct embeddings are indexed: a graph search gets stuck among many equal ones.
        kinds, kind, multiplicity = np.unique(form.embeddings, axis=0, return_inverse=True, return_counts=True)
        self.register_buffer("kinds", torch.from_numpy(kinds), persistent=False)
        self.register_buffer("kind", torch.from_numpy(kind.reshape(-1).astype(np.int64)), persistent=False)
        self.register_buffer("multiplicity", torch.from_numpy(multiplicity.astype(np.float64)), persistent=False)
        self._retrieved = min(form.retrieved, len(kinds))
        self._index = ItemIndex(kinds)

    def parameters_of(self, problem: int) -> dict[str, Tensor]:
        return {"weights": self.weights.detach().cpu().clone()}

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        query = features @ self.weights.T  # (rows, columns)
        if self._exact:
            return torch.softmax(query @ self.items.T, dim=1).gather(1, action[:, None])[:, 0]
        with torch.no_grad():
            if not self.training:
                # For early stopping: slightly biased, but between 0 and 1.
                near = self._retrieve(query.double(), action)
                drawn = self._drawn(query.double(), near, 16 * self._draws)
                return (near.own_share / (near.known + drawn.total)).to(query.dtype)
            probability, slope = self._estimated(query.double(), action)
        along = (query * slope.to(query.dtype)).sum(1)
        return probability.to(query.dtype) + (along - along.detach())

    def _estimated(self, query: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Unbiased estimates of the probability of the logged items and of its gradient in ``query``."""
        near = self._retrieve(query, action)
        first = self._drawn(query, near, self._draws, embeddings=True)
        assert first.embeddings is not None
        once, again = (self._inverse(query, near, first) for _ in range(2))
        sums = torch.einsum("rk,rkc->rc", near.shares, near.embeddings) + first.embeddings
        likely = near.own_share * once
        return likely, likely[:, None] * (near.own - again[:, None] * sums)

    def _retrieve(self, query: Tensor, action: Tensor) -> RetrievedItems:
        own_kind = self.kind[action]
        kinds = self._index.nearest(query, self._retrieved)
        kinds = torch.cat([kinds.masked_fill(kinds == own_kind[:, None], -1), own_kind[:, None]], 1).sort(1).values
        embeddings = self.kinds[kinds.clamp_min(0)].double()
        scores = torch.einsum("rkc,rc->rk", embeddings, query).masked_fill_(kinds < 0, -math.inf)
        own, top = self.kinds[own_kind].double(), scores.amax(1)
        own_share = torch.exp((own * query).sum(1) - top)
        shares = self.multiplicity[kinds.clamp_min(0)] * torch.exp(scores - top[:, None])
        return RetrievedItems(kinds, embeddings, shares, shares.sum(1), own, own_share, top)

    def _inverse(self, query: Tensor, near: RetrievedItems, first: DrawnItems) -> Tensor:
        """An unbiased estimate of 1/Z, from draws of its own."""
        drawn, variance, times = first.total, first.variance, 1
        about = near.known + drawn
        # The constant near that estimate for which the terms shrink fastest.
        about = about + variance / about
        product = torch.ones_like(about)
        total = product / about
        while float(torch.rand(())) < _CONTINUE:
            new = self._drawn(query, near, self._draws)
            product = product * (1.0 - (near.known + new.total) / about) / _CONTINUE
            drawn, variance, times = drawn + new.total, variance + new.variance, times + 1
            about = near.known + drawn / times
            about = about + variance / times / about
            total = total + product / about
        return total

    def _drawn(self, query: Tensor, near: RetrievedItems, draws: int, *, embeddings: bool = False) -> DrawnItems:
        """One set of draws for all rows: a single matrix product, and unbiased for each row."""
        draw = torch.randint(0, len(self.items), (draws,)).to(query.device)
        embedding, kind = self.items[draw].double(), self.kind[draw]
        shares = torch.exp(query @ embedding.T - near.top[:, None])  # (rows, draws)
        position = torch.searchsorted(near.kinds, kind.expand(len(shares), -1).contiguous())
        retrieved = near.kinds.gather(1, position.clamp_max(near.kinds.shape[1] - 1))
        shares.masked_fill_(retrieved == kind, 0.0)
        scale = len(self.items) / draws
        variance = scale * scale * draws * shares.var(1, correction=0)
        return DrawnItems(scale * shares.sum(1), variance, scale * (shares @ embedding) if embeddings else None)
