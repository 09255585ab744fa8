r"""A softmax over very many items, learned without ever adding over all of them.

The score of item a is f_a = e_a . h, with an embedding e_a that is given and h a linear function of the context. For the
probability of the logged item and its gradient,

.. math:: \pi(a) = e^{f_a}/Z, \qquad \nabla_h \pi(a) = \frac{e^{f_a} e_a}{Z} - \frac{e^{f_a}}{Z^2} \sum_b e^{f_b} e_b,

the sums over all items are replaced by those over the logged item and the items that an index of maximum inner products
finds, which are added exactly, and over uniform draws from all the others. Z is estimated so without bias, and so is the
last sum; 1/Z is not one over such an estimate, but the series that follows from 1/Z = 1/C + (1 - Z/C)/Z again and again,

.. math:: \frac{1}{Z} = \frac{1}{C_0} + \Bigl(1 - \frac{Z_1}{C_0}\Bigr) \frac{1}{C_1} + \Bigl(1 - \frac{Z_1}{C_0}\Bigr)
    \Bigl(1 - \frac{Z_2}{C_1}\Bigr) \frac{1}{C_2} + \dots

with a fresh draw for every Z_j and C_j the mean of all that were drawn before, cut off by chance and weighted accordingly.
Its terms shrink fast where the index finds most of Z, and objectives that are linear in the policy have gradients without
bias. Where index and draws miss most of it, single estimates scatter widely.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from surelift.errors import UsageError, whole
from surelift.learning.index import Index
from surelift.learning.rule import Single, as_single

_GOES_ON = 0.5
"""The chance that the series goes on after a term."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemSoftmax:
    """To be given as ``PolicyLearner(policy=...)``: probabilities proportional to exp(embedding . weights context).

    ``embeddings`` has a row for every item, in the order of the actions; ``start`` are weights to begin with, (columns of
    the embeddings, features), and zero if not given: all items alike. ``retrieved`` items a round come from the index, and
    ``draws`` from all others; where there are not more items than both together, nothing is drawn and sums are exact.
    """

    embeddings: Any
    start: Any = None
    retrieved: int = 64
    draws: int = 256

    def __post_init__(self) -> None:
        for name in ("retrieved", "draws"):
            whole(name, getattr(self, name))
        for name, wanted in (("embeddings", "(items, columns)"), ("start", "(columns, features)")):
            given = getattr(self, name)
            if given is None and name == "start":
                continue
            try:
                numbers = as_single(given)
            except (TypeError, ValueError, RuntimeError) as error:
                raise UsageError(f"{name} cannot be read as numbers: {error}") from error
            if numbers.ndim != 2 or not numbers.size or not np.isfinite(numbers).all():
                raise UsageError(f"{name} must be finite numbers of shape {wanted}, but have shape {numbers.shape}.")
            object.__setattr__(self, name, numbers)

    def first_weights(self, features: int, actions: int) -> Single:
        items, columns = self.embeddings.shape
        if items != actions:
            raise UsageError(f"there are {items:,} embeddings, but {actions:,} actions; give one for each.")
        if self.start is None:
            return np.zeros((columns, features), dtype=np.float32)
        if self.start.shape != (columns, features):
            raise UsageError(
                f"start must be of shape ({columns}, {features}), for the columns of the embeddings and the features "
                f"(an intercept comes last), but is {self.start.shape}."
            )
        weights: Single = self.start
        return weights


class Near(NamedTuple):
    """The items that the index found for each row, and the logged one; shares are e^(score - top)."""

    found: Tensor  # (rows, retrieved + 1), kinds of items, ascending; -1 where there is none
    embeddings: Tensor  # (rows, retrieved + 1, columns)
    shares: Tensor  # (rows, retrieved + 1), of all items of a kind together
    known: Tensor  # (rows,), their sum
    own: Tensor  # (rows, columns), the embedding of the logged item
    own_share: Tensor  # (rows,)
    top: Tensor  # (rows,)


class Drawn(NamedTuple):
    """Of uniform draws: sums over all items that were not retrieved, estimated without bias, up to the factor e^-top."""

    total: Tensor  # (rows,)
    variance: Tensor  # (rows,), of that total
    embeddings: Tensor | None  # (rows, columns), the sum of e^score times embedding


class SampledSoftmax(nn.Module):
    """The softmax while it learns: probabilities of logged items, and their gradients, right in the mean."""

    items: Tensor  # (items, columns)
    kinds: Tensor  # (kinds, columns), the embeddings that differ
    kind: Tensor  # (items,), which of them an item has
    many: Tensor  # (kinds,), how many items have it

    def __init__(self, form: ItemSoftmax, weights: Single) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.from_numpy(weights.copy()))  # (columns, features)
        self.register_buffer("items", torch.from_numpy(form.embeddings), persistent=False)
        count = len(form.embeddings)
        self._draws = form.draws
        self._exact = count <= form.retrieved + form.draws
        if self._exact:
            return
        # Items with the same embedding are of one kind: an index that walks among equals does not get away from them.
        kinds, kind, many = np.unique(form.embeddings, axis=0, return_inverse=True, return_counts=True)
        self.register_buffer("kinds", torch.from_numpy(kinds), persistent=False)
        self.register_buffer("kind", torch.from_numpy(kind.reshape(-1).astype(np.int64)), persistent=False)
        self.register_buffer("many", torch.from_numpy(many.astype(np.float64)), persistent=False)
        self._retrieved = min(form.retrieved, len(kinds))
        self._index = Index(kinds)

    def part(self, problem: int) -> dict[str, Tensor]:
        return {"weights": self.weights.detach().cpu().clone()}

    def divergence(self) -> Tensor:
        return torch.zeros(1)

    def logged(self, features: Tensor, action: Tensor) -> Tensor:
        wanted = features @ self.weights.T  # (rows, columns)
        if self._exact:
            return torch.softmax(wanted @ self.items.T, dim=1).gather(1, action[:, None])[:, 0]
        with torch.no_grad():
            if not self.training:
                return self._about(wanted.double(), action).to(wanted.dtype)
            probability, slope = self._estimated(wanted.double(), action)
        along = (wanted * slope.to(wanted.dtype)).sum(1)
        return probability.to(wanted.dtype) + (along - along.detach())

    def _estimated(self, wanted: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """The probability of the logged items, and its gradient in ``wanted``: both unbiased."""
        near = self._retrieve(wanted, action)
        first = self._drawn(wanted, near, self._draws, embeddings=True)
        assert first.embeddings is not None
        once, again = (self._inverse(wanted, near, first) for _ in range(2))
        sums = torch.einsum("rk,rkc->rc", near.shares, near.embeddings) + first.embeddings
        likely = near.own_share * once
        return likely, likely[:, None] * (near.own - again[:, None] * sums)

    def _about(self, wanted: Tensor, action: Tensor) -> Tensor:
        """The probability of the logged items, to tell one pass from another: nearly right, and between 0 and 1."""
        near = self._retrieve(wanted, action)
        drawn = self._drawn(wanted, near, 16 * self._draws)
        return near.own_share / (near.known + drawn.total)

    def _retrieve(self, wanted: Tensor, action: Tensor) -> Near:
        own_kind = self.kind[action]
        found = self._index.nearest(wanted, self._retrieved)
        found = torch.cat([found.masked_fill(found == own_kind[:, None], -1), own_kind[:, None]], 1).sort(1).values
        embeddings = self.kinds[found.clamp_min(0)].double()
        scores = torch.einsum("rkc,rc->rk", embeddings, wanted).masked_fill_(found < 0, -math.inf)
        own = self.kinds[own_kind].double()
        own_score = (own * wanted).sum(1)
        top = scores.amax(1)
        shares = self.many[found.clamp_min(0)] * torch.exp(scores - top[:, None])
        return Near(found, embeddings, shares, shares.sum(1), own, torch.exp(own_score - top), top)

    def _inverse(self, wanted: Tensor, near: Near, first: Drawn) -> Tensor:
        """1/Z, right in the mean, from draws of its own."""
        drawn, variance, times = first.total, first.variance, 1
        about = near.known + drawn
        # Of all constants near that, the one for which the terms shrink fastest.
        about = about + variance / about
        product = torch.ones_like(about)
        total = product / about
        while float(torch.rand(())) < _GOES_ON:
            new = self._drawn(wanted, near, self._draws)
            product = product * (1.0 - (near.known + new.total) / about) / _GOES_ON
            drawn, variance, times = drawn + new.total, variance + new.variance, times + 1
            about = near.known + drawn / times
            about = about + variance / times / about
            total = total + product / about
        return total

    def _drawn(self, wanted: Tensor, near: Near, draws: int, *, embeddings: bool = False) -> Drawn:
        """The same draws for all rows, which costs one product of matrices, and leaves each row right in the mean."""
        draw = torch.randint(0, len(self.items), (draws,)).to(wanted.device)
        some, kind = self.items[draw].double(), self.kind[draw]
        shares = torch.exp(wanted @ some.T - near.top[:, None])  # (rows, draws)
        place = torch.searchsorted(near.found, kind.expand(len(shares), -1).contiguous())
        found = near.found.gather(1, place.clamp_max(near.found.shape[1] - 1))
        shares.masked_fill_(found == kind, 0.0)
        scale = len(self.items) / draws
        return Drawn(
            scale * shares.sum(1),
            scale * scale * draws * shares.var(1, correction=0),
            scale * (shares @ some) if embeddings else None,
        )
