"""Rounds of several problems side by side on the device: all at once where they fit, else a stretch at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from surelift.arrays import FloatArray
from surelift.learning.examples import Examples, place_among
from surelift.learning.rows import Rows
from surelift.logs.batch import ROWS_PER_BATCH

Share = Callable[[int], slice]

MEMORY = 2 << 30
"""Bytes of examples that are kept where there is no other memory than the processor's."""


@dataclass(frozen=True, slots=True)
class Block:
    """Round i of problem k lies at k * rounds + i; contexts that problems have in common are there once."""

    rest: Examples
    """All but the features."""
    pool: Tensor  # (rounds of all logs that differ in their contexts, features)
    origin: Tensor  # (problems, 1), where in the pool the features of a problem begin
    start: Tensor  # (problems, 1), where its other numbers begin
    rounds: int

    def at(self, index: Tensor) -> Examples:
        """These rounds of each problem, (problems, rows), one problem after the other."""
        return replace(
            self.rest.at((self.start + index).reshape(-1)), features=self.pool[(self.origin + index).reshape(-1)]
        )

    def pieces(self, rows: int, share: Share) -> Iterator[Examples]:
        width = max(1, rows // len(self.start))
        for begin in range(0, self.rounds, width):
            index = torch.arange(begin, min(begin + width, self.rounds), device=self.start.device)
            yield self.at(index[share(len(index))].expand(len(self.start), -1))

    @classmethod
    def of(cls, several: Sequence[Examples], device: str) -> "Block":
        """Of as many rounds of each problem."""
        distinct: list[FloatArray] = []
        rounds = len(several[0])
        origin = [place_among(one.features, distinct) * rounds for one in several]
        rest = [replace(one, features=None).tensors(device) for one in several]
        return cls(
            Examples.joined(rest),
            torch.from_numpy(distinct[0] if len(distinct) == 1 else np.concatenate(distinct)).to(device),
            torch.tensor(origin, device=device)[:, None],
            torch.arange(len(rest), device=device)[:, None] * rounds,
            rounds,
        )


class Stretch(NamedTuple):
    """Some rounds in a row, of each problem, of which batches are drawn."""

    block: Block
    first: int
    rounds: int


class Blocks:
    """The rounds of several problems, pass after pass."""

    def __init__(self, rows: Sequence[Rows], device: str) -> None:
        self._rows, self._device = rows, device
        self.whole: Block | None = None
        # Problems may share their contexts, which then take their place but once: this is the most they may need.
        if sum(one.bytes_at_most for one in rows) <= room(device):
            known: list[FloatArray] = []
            self.whole = Block.of([one.keep(known) for one in rows], device)

    def __iter__(self) -> Iterator[Stretch]:
        if self.whole is not None:
            for first in range(0, self.whole.rounds, ROWS_PER_BATCH):
                yield Stretch(self.whole, first, min(ROWS_PER_BATCH, self.whole.rounds - first))
            return
        for chunks in zip(*self._rows, strict=True):
            block = Block.of(chunks, self._device)
            yield Stretch(block, 0, block.rounds)

    def pieces(self, rows: int, share: Share) -> Iterator[Examples]:
        """All rounds, so many at a time and in their order; of those the share of this process."""
        if self.whole is not None:
            yield from self.whole.pieces(rows, share)
            return
        for stretch in self:
            yield from stretch.block.pieces(rows, share)


def room(device: str) -> float:
    """Bytes that examples may take."""
    return MEMORY if torch.device(device).type == "cpu" else 0.6 * torch.cuda.mem_get_info(device)[0]
