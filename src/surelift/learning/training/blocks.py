"""The rounds of several problems side by side on the device: all of them if they fit, else a range at a time."""

import hashlib
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from surelift.arrays import FloatArray
from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.objectives.logarithmic_smoothing import Estimate
from surelift.learning.objectives.objective import Coefficients, Objective, sums_of
from surelift.learning.training.processes import in_threads
from surelift.logs.batch import ROWS_PER_BATCH

_AT_ONCE = 1 << 28  # bytes of coefficients
_KNOWN = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8 if _KNOWN else 2 << 30
"""Bytes of examples to keep on the CPU: an eighth of its memory."""


@dataclass(frozen=True, slots=True)
class ObjectiveGroup:
    """Problems of one stack that have the same objective: their sums, from the probabilities of the stack."""

    objective: Objective | Estimate
    delta: float
    problems: slice  # their places in the stack

    def __len__(self) -> int:
        return int(self.problems.stop - self.problems.start)

    def rows(self, each: int) -> slice:
        """Its rows where every problem of the stack has ``each``, one problem after the other."""
        return slice(self.problems.start * each, self.problems.stop * each)

    def sums(self, batch: Examples, probabilities: Any, known: Coefficients | None) -> Tensor:
        """(problems, sums), from its own rows; ``known`` are their coefficients, where they were computed before."""
        if isinstance(self.objective, Estimate):
            terms = self.objective.terms(batch, probabilities)
            sums: Tensor = terms.reshape(len(self), -1, terms.shape[-1]).sum(1)
        else:
            sums = sums_of(known or self.objective.coefficients(batch), probabilities, problems=len(self))
        return sums.double()


@dataclass(frozen=True, slots=True)
class Block:
    """Round i of problem k is row k * rounds + i; problems with the same contexts share one copy of them."""

    rest: Examples  # everything but the features
    pool: Tensor  # (rounds of all problems with different contexts, features)
    origin: Tensor  # (problems, 1), the first row of a problem in the pool
    start: Tensor  # (problems, 1), its first row in the rest
    rounds: int

    tables: tuple[tuple[ObjectiveGroup, Coefficients], ...] = ()  # the coefficients of all rounds of each group

    def at(self, index: Tensor) -> Examples:
        """These rounds of each problem, (problems, rows), one problem after the other."""
        rest = self.rest.at((self.start + index).reshape(-1))
        known = tuple(table[(self.start[: len(group)] + index[group.problems]).reshape(-1)] for group, table in self.tables)
        return replace(rest, features=self.pool[(self.origin + index).reshape(-1)], coefficients=known or None)

    def pieces(self, rows: int) -> Iterator[Examples]:
        width = max(1, rows // len(self.start))
        for begin in range(0, max(self.rounds, 1), width):
            index = torch.arange(begin, min(begin + width, self.rounds), device=self.start.device)
            yield self.at(index.expand(len(self.start), -1))

    def with_coefficients(self, groups: Sequence[ObjectiveGroup], room: float) -> "Block":
        """The same with the coefficients of every round, which do not change with the policy, if they fit in ``room``."""
        objectives = [group.objective for group in groups if not isinstance(group.objective, Estimate)]
        if not objectives or not self.rounds:
            return self  # an estimate is not linear in the policy, so it has no coefficients
        one = [objective.coefficients(self.rest.at(slice(0, 1))) for objective in objectives]
        if sum(len(group) * self.rounds * first.bytes_per_round() for group, first in zip(groups, one, strict=True)) > room:
            return self
        tables = []
        for group, objective, first in zip(groups, objectives, one, strict=True):
            rows, width = group.rows(self.rounds), max(1, _AT_ONCE // first.bytes_per_round())
            starts = range(rows.start, rows.stop, width)
            parts = (objective.coefficients(self.rest.at(slice(start, min(start + width, rows.stop)))) for start in starts)
            tables.append((group, first.table(rows.stop - rows.start, parts)))
        return replace(self, rest=Examples(None, self.rest.action, None, None), tables=tuple(tables))

    @classmethod
    def of(cls, several: Sequence[Examples], device: str) -> "Block":
        """Examples of several problems, with the same number of rounds each."""
        distinct, rounds = {id(examples.features): examples.features for examples in several}, len(several[0])
        places = list(distinct)
        origin = [places.index(id(examples.features)) * rounds for examples in several]
        rest = [replace(examples, features=None).tensors(device) for examples in several]
        pool = [torch.from_numpy(features).to(device) for features in distinct.values()]
        pooled = pool[0] if len(pool) == 1 else torch.cat(pool)
        start = torch.arange(len(rest), device=device)[:, None] * rounds
        return cls(Examples.concatenate(rest), pooled, torch.tensor(origin, device=device)[:, None], start, rounds)


class Blocks:
    def __init__(self, datasets: Sequence[Dataset], device: str, groups: Sequence[ObjectiveGroup] = ()) -> None:
        self._datasets, self._device = datasets, device

        def room() -> float:
            on_gpu = torch.device(device).type == "cuda"
            return 0.6 * torch.cuda.mem_get_info(device)[0] if on_gpu else MEMORY

        kept = _keep(datasets, room())
        self.whole = None if kept is None else Block.of(kept, device).with_coefficients(groups, 0.5 * room())

    def __iter__(self) -> Iterator[tuple[Block, range, range]]:
        """Consecutive rounds of each problem, from which batches are drawn; and those that the block holds, its share."""
        rounds, share = self._datasets[0].rounds, self._datasets[0].share
        chunks = None if self.whole is not None else zip(*self._datasets, strict=True)
        for first in range(0, rounds, ROWS_PER_BATCH):
            drawn = range(first, min(first + ROWS_PER_BATCH, rounds))
            if self.whole is not None:
                yield self.whole, drawn, share
            elif chunks is not None:
                begin = min(max(share.start, drawn.start), drawn.stop)
                block = Block.of(next(chunks), self._device)
                yield block, drawn, range(begin, begin + block.rounds)
        deque(chunks or (), maxlen=0)  # to its end, which tells of invalid rounds

    def pieces(self, rows: int) -> Iterator[Examples]:
        for block in [self.whole] if self.whole is not None else (block for block, _, _ in self):
            yield from block.pieces(rows)


def _keep(datasets: Sequence[Dataset], room: float) -> list[Examples] | None:
    """All rounds in memory, contexts shared; None if they need more than ``room`` bytes."""
    if max(dataset.max_bytes for dataset in datasets) > room:
        return None
    kept, distinct, at_once = list[Examples](), dict[bytes, FloatArray](), os.cpu_count() or 1
    for group in (datasets[start : start + at_once] for start in range(0, len(datasets), at_once)):
        in_threads(partial(Dataset.keep, room=room / len(datasets)), dict.fromkeys(group))
        # One copy of equal contexts, which problems often share.
        digests = in_threads(lambda each: hashlib.blake2b(each.keep().features, digest_size=16).digest(), group)
        for dataset, digest in zip(group, digests, strict=True):
            features = distinct.setdefault(digest, dataset.keep().features)
            dataset.kept = replace(dataset.keep(), features=features)
            kept.append(dataset.kept)
        size = sum(features.nbytes for features in distinct.values())
        size += sum(array.nbytes for examples in kept for array in examples.arrays()[1:] if array is not None)
        if size > room:
            for dataset in datasets:
                dataset.kept = None
            return None
    return kept
