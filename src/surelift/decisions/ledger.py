"""What a monitor remembers of the batches it counted, so that none is lost and none counts twice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, UsageError, whole
from surelift.logs.seen import SeenRounds
from surelift.statistics.memories import RoundMemory
from surelift.statistics.plan import Plan, Request
from surelift.statistics.recorded_values import Span, Time, TimeSpan, is_later
from surelift.statistics.sums import Sums
from surelift.traits.logs import Logs

MOST_FILES, MOST_DIGESTS = 256, 1024
TWICE = "they would count twice. Give only rounds that are new; nothing was counted."
MEMORY = RoundMemory()


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file that was counted: enough to recognise it, and its rounds under another name."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was counted of one stream of batches."""

    sequence: int = 0
    """The number of its last batch."""
    rows: int = 0
    files: tuple[CountedFile, ...] = ()
    """The latest files, in the order of their paths, where batches are files."""
    count: int = 0
    """How many files there were in all."""
    last_cluster: str | None = None
    last_time: Time | None = None
    """The time of the latest decision, where times are declared."""
    digests: tuple[str, ...] = ()
    """The digests of the latest batches that have one."""
    stretches: tuple[SeenRounds, ...] = ()
    """What is remembered of the rounds, the longest stretch first: each is at least twice as long as the next."""

    def describe(self) -> dict[str, Any]:
        """The ledger as JSON keeps it."""
        plain = asdict(replace(self, stretches=()))
        return {**plain, "stretches": [stretch.encode() for stretch in self.stretches]}

    @classmethod
    def restored(cls, content: Mapping[str, Any]) -> "Ledger":
        files = tuple(CountedFile(**file) for file in content["files"])
        stretches = tuple(map(SeenRounds.decode, content["stretches"]))
        return cls(**{**content, "files": files, "stretches": stretches, "digests": tuple(content["digests"])})

    def is_next(self, sequence: int | None) -> bool:
        """A batch is the next one; False where it was counted before."""
        if sequence is None:
            return True
        if whole("sequence", sequence) > self.sequence + 1:
            raise UsageError(f"batch {sequence} came, but {self.sequence + 1} is next: a batch in between is missing.")
        return sequence == self.sequence + 1

    def after(self, sums: Sums, logs: Logs, file: Path | None) -> "Ledger":
        """The ledger with one more batch, which may hold nothing that was counted before; ``sums`` remember it."""
        seen, clusters = sums.get(MEMORY) or SeenRounds(), _ends(logs) if sums.rows else ()
        digest = f"{seen.rounds}:{seen.digest:016x}"
        times: Span | None = next((sums.get(TimeSpan(time)) for time in logs.declaration.times), None)
        for fault in self._faults(seen, digest, times, clusters, file):
            raise LogsError(fault)
        files = self.files if file is None else (*self.files, CountedFile(str(file), file.stat().st_size, digest))
        digests = (*self.digests, digest) if seen.is_telling else self.digests
        # Stretches of about one length are joined, so that they stay few.
        stretches = self.stretches
        while stretches and stretches[-1].rounds < 2 * seen.rounds:
            *before, last = stretches
            stretches, seen = tuple(before), last + seen
        return Ledger(
            self.sequence + 1, self.rows + sums.rows + sums.excluded, files[-MOST_FILES:], self.count + (file is not None),
            clusters[-1] if clusters else self.last_cluster, self.last_time if times is None else times.latest,
            digests[-MOST_DIGESTS:], (*stretches, seen) if seen.rounds else stretches,
        )  # fmt: skip

    def _faults(
        self, seen: SeenRounds, digest: str, times: Span | None, clusters: Sequence[str], file: Path | None
    ) -> Iterator[str]:
        """Why a batch cannot be counted, the first reason first."""
        name = file or "this batch"
        if clusters and clusters[0] == self.last_cluster:
            yield (
                f"cluster {clusters[0]!r} continues from the batch before; the rounds of a cluster must lie whole in one "
                "batch."
            )
        if times is not None and self.last_time is not None and is_later(self.last_time, times.earliest):
            yield (
                f"this batch begins at {times.earliest}, but rounds up to {self.last_time} were counted before: some "
                "would count twice, or came late. Give only rounds that are later; nothing was counted."
            )
        if file is not None:
            yield from self._changed([str(file)])
            if any(counted.path == str(file) for counted in self.files):
                yield f"{name} was counted before; nothing was counted twice."
        if seen.is_telling and digest in self.digests:
            twin = next((counted.path for counted in self.files if counted.digest == digest), "a batch before")
            yield f"{name} holds the same rounds as {twin}, which was counted; {TWICE}"
        if self.knows(seen):
            yield (
                f"some rounds of {name} were counted before; {TWICE} If they are new and only look the same, declare time= "
                "or id=, which tells them apart."
            )

    def knows(self, seen: SeenRounds) -> bool:
        """Some of these rounds were counted, as far as can be told."""
        return any(stretch.overlaps(seen) for stretch in self.stretches)

    def new_files(self, paths: Sequence[str | Path]) -> list[str]:
        """The files that were not counted yet, in the order of their paths."""
        ordered = sorted({str(Path(path).resolve()) for path in paths})
        if not self.files:
            return ordered
        for fault in self._changed(ordered):
            raise LogsError(fault)
        known, first, last = {file.path for file in self.files}, self.files[0].path, self.files[-1].path
        late = [path for path in ordered if first <= path <= last and path not in known]
        older = [path for path in ordered if path < first]
        if late or len(older) > self.count - len(self.files):
            raise LogsError(
                f"{(late or older)[0]} was not counted, but {last}, which sorts after it, was: it came late, and rounds "
                "must enter in order.\nRename it so that it sorts after the last one; nothing was counted."
            )
        return [path for path in ordered if path > last]

    def _changed(self, paths: Sequence[str]) -> Iterator[str]:
        sizes = {file.path: file.size for file in self.files}
        for path in paths:
            if path in sizes and Path(path).stat().st_size != sizes[path]:
                yield (
                    f"{path} has changed since it was counted: it had {sizes[path]:,} bytes. Put rounds that come later "
                    "into a file of their own; nothing was counted."
                )


def remembering(plan: Plan, logs: Logs) -> Plan:
    """The plan, and what a ledger asks of a batch."""
    spans = (Request(TimeSpan(time)) for time in logs.declaration.times)
    return replace(plan, requests=(*plan.requests, Request(MEMORY), *spans))


def _ends(logs: Logs) -> Sequence[str]:
    """The first and the last cluster of a batch, where there are clusters."""
    ends: list[str] = []
    if (cluster := logs.declaration.unit.column) is not None:
        for batch in logs.batches():
            column = batch.table[cluster]
            ends = [*ends[:1], str(column[0].as_py()), str(column[-1].as_py())]
    return ends
