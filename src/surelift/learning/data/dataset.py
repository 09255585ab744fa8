"""The rounds of a log, or of a part of it, as examples to learn from: features, logged action, reward, propensity."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surelift.controls.model import RewardModel
from surelift.errors import LogsError
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.data.rounds import SUBJECT, checked_rounds, split_batches
from surelift.learning.tensors import namespace
from surelift.logs.batch import ROWS_PER_BATCH, Needs, TableBatch
from surelift.traits.logs import Logs

if TYPE_CHECKING:
    from surelift.learning.training.processes import ProcessGroup


@dataclass(frozen=True, slots=True)
class Examples:
    """All arrays are NumPy's, or all are tensors."""

    features: Any  # (rounds, features), float32
    action: Any  # (rounds,)
    reward: Any  # (rounds,), in [0, 1]
    propensity: Any  # (rounds,)
    logging: Any = None  # (rounds, actions), summing to 1
    predicted: Any = None  # (rounds, actions), the reward model's predictions
    overstated: Any = None  # (rounds,), relative excess of the propensity over its entry in the logging vector
    coefficients: Any = None  # of these rounds in the sums of an objective, where they were computed before

    def __len__(self) -> int:
        return len(self.action)

    def at(self, rows: Any) -> "Examples":
        return Examples(*(None if array is None else array[rows] for array in self.arrays()))

    def pieces(self, size: int) -> Iterator["Examples"]:
        return (self.at(slice(start, start + size)) for start in range(0, len(self), size))

    def tensors(self, device: Any, *, double: bool = False) -> "Examples":
        import torch

        def tensor(array: Any) -> Any:
            whole = array.dtype.kind == "i"
            kept = array if whole or double else array.astype(np.float32, copy=False)
            moved = torch.from_numpy(np.require(kept, requirements=["C", "W"])).to(device)
            return moved if whole or not double else moved.double()

        return Examples(*(None if array is None else tensor(array) for array in self.arrays()))

    @classmethod
    def concatenate(cls, several: Sequence["Examples"]) -> "Examples":
        if len(several) == 1:
            return several[0]
        columns = zip(*(examples.arrays() for examples in several), strict=True)
        return cls(*(None if column[0] is None else namespace(column[0]).concatenate(column) for column in columns))

    def arrays(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


class Dataset:
    """Processes that learn together each read and keep their ``share`` of the rounds."""

    def __init__(self, logs: Logs, layout: FeatureLayout, actions: int, model: RewardModel | None = None) -> None:
        self.logs, self.layout, self.actions, self.model = logs, layout, actions, model
        self.rounds = logs.count()
        self.share = range(self.rounds)
        self.processes: ProcessGroup | None = None
        self.kept: Examples | None = None  # all rounds of its share
        self._read_together: tuple[Logs, Sequence[Dataset]] = logs, (self,)
        self._within: tuple[Dataset, int] | None = None

    def part(self, first: int, last: int) -> "Dataset":
        """Some of its rounds, from its memory where it is kept."""
        part = Dataset(self.logs.part(first, last), self.layout, self.actions, self.model)
        part._within = self, first
        return part

    @classmethod
    def of_parts(
        cls, logs: Logs, cuts: Sequence[int], layout: FeatureLayout, actions: int, model: RewardModel | None = None
    ) -> "list[Dataset]":
        """One data set up to each round in ``cuts``, the first from round 0; one pass reads them all into memory."""
        from surelift.learning.training.processes import process_group  # imports torch, which reading alone does not need

        processes = process_group()
        # All rounds need not have an order.
        parts = [logs] if cuts[0] == logs.count() else [logs.part(*ends) for ends in pairwise((0, *cuts))]
        datasets = [cls(part, layout, actions, model) for part in parts]
        for dataset in datasets:
            dataset._read_together = logs, datasets
            if processes.count > 1:
                dataset.share, dataset.processes = processes.share(dataset.rounds), processes
        return datasets

    def __iter__(self) -> Iterator[Examples]:
        """Chunks of ``ROWS_PER_BATCH`` however rounds arrive: learning must not depend on the row groups of a file.

        A chunk holds those of its rounds that are in the share, which may be none.
        """
        parts = iter([self.kept]) if self.kept is not None else (part for _, part in _read(self.logs, [self]))
        waiting = self._nothing()
        for begin in range(0, self.rounds, ROWS_PER_BATCH):
            end = min(begin + ROWS_PER_BATCH, self.rounds)
            wanted = max(0, min(end, self.share.stop) - max(begin, self.share.start))
            several, count = [waiting], len(waiting)
            while count < wanted and (part := next(parts, None)) is not None:
                several.append(part)
                count += len(part)
            joined = Examples.concatenate([each for each in several if len(each)] or several)
            yield joined.at(slice(0, wanted))
            waiting = joined.at(slice(wanted, None))
        deque(parts, maxlen=0)  # to their end, which tells of invalid rounds

    def _nothing(self) -> Examples:
        vectors, logging = np.zeros((0, self.actions)), "distributions" in self.logs.declaration.features
        return Examples(
            np.zeros((0, self.layout.size), dtype=np.float32), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0),
            vectors if logging else None, vectors if self.model is not None else None, np.zeros(0) if logging else None,
        )  # fmt: skip

    def keep(self, *, room: float = 0.0) -> Examples:
        """Read all rounds into memory, along with the other parts of the log if all fit in ``room`` bytes."""
        if self.kept is None and self._within is not None:
            whole, first = self._within
            if whole.kept is not None or whole.max_bytes <= room:
                self.kept = whole.keep().at(slice(first, first + self.rounds))
        if self.kept is None:
            logs, datasets = self._read_together
            if sum(dataset.max_bytes for dataset in datasets) > room:
                logs, datasets = self.logs, [self]
            examples: list[list[Examples]] = [[] for _ in datasets]
            features = [np.zeros((len(dataset.share), dataset.layout.size), dtype=np.float32) for dataset in datasets]
            for number, part in _read(logs, datasets, features):
                examples[number].append(replace(part, features=None))
            for dataset, parts, whole_features in zip(datasets, examples, features, strict=True):
                joined = replace(Examples.concatenate(parts), features=whole_features) if parts else dataset._nothing()
                dataset.kept = joined
        assert self.kept is not None
        return self.kept

    @property
    def max_bytes(self) -> int:
        """The size of all rounds of its share as tensors."""
        vectors = ("distributions" in self.logs.declaration.features) + (self.model is not None)
        return len(self.share) * (4 * (self.layout.size + vectors * self.actions + 3) + 8)


def _read(
    logs: Logs, datasets: Sequence[Dataset], into: Sequence[npt.NDArray[np.float32]] | None = None
) -> Iterator[tuple[int, Examples]]:
    """Data sets that follow each other in the logs, in one pass: examples with the number of their data set.

    The features are written ``into`` an array for each data set where they are given.
    """
    layout, actions, model = datasets[0].layout, datasets[0].actions, datasets[0].model
    needs, cuts = Needs(handed_on=layout.names), list(accumulate(dataset.rounds for dataset in datasets))
    if model is not None:
        needs = Needs.all_of([needs, *(model.needs(dataset.logs) for dataset in datasets)])
    # Those before a share are read too, where a reward model learns from them.
    starts = [0 if model is not None and model.in_order else dataset.share.start for dataset in datasets]
    parts: Iterable[tuple[int, Iterable[tuple[int, TableBatch]]]]
    if datasets[0].processes is None:
        parts = groupby(split_batches(logs.batches(needs), cuts), itemgetter(0))
    else:
        ends = enumerate(zip(datasets, starts, strict=True))
        shares = ((number, each.logs.part(start, each.share.stop).batches(needs)) for number, (each, start) in ends)
        parts = ((number, ((number, batch) for batch in share)) for number, share in shares)
    for number, batches in parts:
        if number == len(datasets):
            break
        dataset = datasets[number]
        seen, predictor = starts[number], None if model is None else model.start(dataset.logs)
        for rounds in checked_rounds(dataset.logs, (batch for _, batch in batches)):
            if (rounds.decisions.available(SUBJECT) != actions).any():
                raise LogsError(f"{SUBJECT} needs the same {actions} actions in every round, but their number varies.")
            skip = min(max(dataset.share.start - seen, 0), rounds.size)
            first = seen + skip - dataset.share.start
            out = None if into is None else into[number][first : first + rounds.size - skip]
            logging = rounds.shares
            examples = Examples(
                None, rounds.decisions.action, rounds.reward, rounds.propensity,
                None if logging is None else logging.values.reshape(-1, actions),
                None if predictor is None else predictor.predictions(rounds).values.reshape(-1, actions),
                None if logging is None else rounds.overstated,
            )  # fmt: skip
            features = layout.encode(rounds.rows.handed_on(layout.names).slice(skip), out)
            yield number, replace(examples.at(slice(skip, None)), features=features)
            seen += rounds.size
