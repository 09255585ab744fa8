"""Rounds of several problems side by side on the device: all at once where they fit, else a stretch at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from surelift.arrays import FloatArray
from surelift.learning.examples import Examples, place_among
from surelift.learning.rows import Rows
from surelift.logs.batch import ROWS_PER_BATCH

Share = Callable[[int], slice]

_KNOWN = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8 if _KNOWN else 2 << 30
"""Bytes of examples that are kept where there is no other memory than the processor's: an eighth of it."""


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
        tensors = [torch.from_numpy(one).to(device) for one in distinct]
        return cls(
            Examples.joined(rest),
            tensors[0] if len(tensors) == 1 else torch.cat(tensors),
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
        kept = _kept(rows, room(device))
        self.whole = None if kept is None else Block.of(kept, device)

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


def _kept(rows: Sequence[Rows], most: float) -> list[Examples] | None:
    """All rounds, kept; None where they, with contexts that are shared taken once, would need more room than there is."""
    if max(one.bytes_at_most for one in rows) > most:
        return None
    found: list[Examples] = []
    known: list[FloatArray] = []
    at_once = os.cpu_count() or 1
    with ThreadPoolExecutor(at_once) as pool:
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            list(pool.map(Rows.keep, some))
            found += [one.kept(known) for one in some]
            size = sum(one.nbytes for one in known)
            size += sum(part.nbytes for one in found for part in one.parts()[1:] if part is not None)
            if size > most:
                for one in rows:
                    one.let_go()
                return None
    return found


def room(device: str) -> float:
    """Bytes that examples may take."""
    if torch.device(device).type == "cuda":
        return 0.6 * torch.cuda.mem_get_info(device)[0]
    return MEMORY
