"""What a monitor remembers of the batches it counted, so that none is lost and none counts twice."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, UsageError, whole
from surelift.logs.seen import SeenRounds
from surelift.statistics.memories import RoundMemory
from surelift.statistics.plan import Plan, Request
from surelift.statistics.sums import Sums
from surelift.statistics.time_span import Span, Time, TimeSpan, is_later
from surelift.traits.logs import Logs

MOST_FILES, MOST_DIGESTS = 256, 1024
TWICE = "they would count twice. Give only rounds that are new; nothing was counted."
ALIKE = "If they are new and only look the same, declare time= or id=, which tells them apart."
MEMORY = RoundMemory()


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file that was counted: enough to recognise it, and its rounds under another name."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class NewBatch:
    """What a ledger asks of a batch."""

    rows: int
    seen: SeenRounds
    times: Span | None
    clusters: tuple[str, str] | None
    """The first and the last of them."""
    file: Path | None

    @property
    def digest(self) -> str:
        return f"{self.seen.rounds}:{self.seen.digest:016x}"


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
    """Which cluster came last, where there are clusters."""
    last_time: Time | None = None
    """Of the latest decision, where times are declared."""
    digests: tuple[str, ...] = ()
    """Of the latest batches that have one."""
    stretches: tuple[SeenRounds, ...] = ()
    """What is remembered of the rounds, the longest stretch first: each is at least twice as long as the next."""

    def describe(self) -> dict[str, Any]:
        """As JSON keeps it."""
        plain = asdict(replace(self, stretches=()))
        return {**plain, "stretches": [stretch.encode() for stretch in self.stretches]}

    @classmethod
    def restored(cls, content: Mapping[str, Any]) -> "Ledger":
        files = tuple(CountedFile(**file) for file in content["files"])
        stretches = tuple(map(SeenRounds.decode, content["stretches"]))
        return cls(**{**content, "files": files, "stretches": stretches, "digests": tuple(content["digests"])})

    def is_next(self, sequence: int | None) -> bool:
        """Whether a batch is the next one; False where it was counted before."""
        if sequence is None:
            return True
        if whole("sequence", sequence) > self.sequence + 1:
            raise UsageError(f"batch {sequence} came, but {self.sequence + 1} is next: a batch in between is missing.")
        return sequence == self.sequence + 1

    def after(self, batch: NewBatch) -> "Ledger":
        """The ledger with one more batch, which may hold nothing that was counted before."""
        if batch.clusters is not None and batch.clusters[0] == self.last_cluster:
            raise LogsError(
                f"cluster {batch.clusters[0]!r} continues from the batch before; the rounds of a cluster must lie whole in "
                "one batch."
            )
        self._refuse_earlier(batch)
        self._refuse_known(batch)
        files = self.files
        if batch.file is not None:
            files = (*files, CountedFile(str(batch.file), batch.file.stat().st_size, batch.digest))
        return Ledger(
            self.sequence + 1, self.rows + batch.rows, files[-MOST_FILES:], self.count + (batch.file is not None),
            self.last_cluster if batch.clusters is None else batch.clusters[1],
            self.last_time if batch.times is None else batch.times.latest,
            (*self.digests, *([batch.digest] if batch.seen.is_telling else []))[-MOST_DIGESTS:],
            longer(self.stretches, batch.seen),
        )  # fmt: skip

    def _refuse_earlier(self, batch: NewBatch) -> None:
        if batch.times is not None and self.last_time is not None and is_later(self.last_time, batch.times.earliest):
            raise LogsError(
                f"this batch begins at {batch.times.earliest}, but rounds up to {self.last_time} were counted before: some "
                "would count twice, or came late. Give only rounds that are later; nothing was counted."
            )

    def _refuse_known(self, batch: NewBatch) -> None:
        if batch.file is not None:
            self._refuse_changed([str(batch.file)])
            named = {file.path for file in self.files}
            if str(batch.file) in named:
                raise LogsError(f"{batch.file} was counted before; nothing was counted twice.")
        if batch.seen.is_telling and batch.digest in self.digests:
            twin = next((file.path for file in self.files if file.digest == batch.digest), "a batch before")
            raise LogsError(f"{batch.file or 'this batch'} holds the same rounds as {twin}, which was counted; {TWICE}")
        if self.knows(batch.seen):
            raise LogsError(f"some rounds of {batch.file or 'this batch'} were counted before; {TWICE} {ALIKE}")

    def knows(self, seen: SeenRounds) -> bool:
        """Whether some of these rounds were counted, as far as can be told."""
        return any(stretch.overlaps(seen) for stretch in self.stretches)

    def new_files(self, paths: Sequence[str | Path]) -> list[str]:
        """The files that were not counted yet, in the order of their paths."""
        ordered = sorted({str(Path(path).resolve()) for path in paths})
        if not self.files:
            return ordered
        known = {file.path for file in self.files}
        first, last = self.files[0].path, self.files[-1].path
        self._refuse_changed(ordered)
        late = [path for path in ordered if first <= path <= last and path not in known]
        older = [path for path in ordered if path < first]
        if late or len(older) > self.count - len(self.files):
            raise LogsError(
                f"{(late or older)[0]} was not counted, but {last}, which sorts after it, was: it came late, and rounds "
                "must enter in order.\nRename it so that it sorts after the last one; nothing was counted."
            )
        return [path for path in ordered if path > last]

    def _refuse_changed(self, paths: Sequence[str]) -> None:
        sizes = {file.path: file.size for file in self.files}
        for path in paths:
            if path in sizes and Path(path).stat().st_size != sizes[path]:
                raise LogsError(
                    f"{path} has changed since it was counted: it had {sizes[path]:,} bytes. Put rounds that come later "
                    "into a file of their own; nothing was counted."
                )


def longer(stretches: tuple[SeenRounds, ...], seen: SeenRounds) -> tuple[SeenRounds, ...]:
    """The stretches with the rounds of one more batch; those of about one length are joined, so that they stay few."""
    while stretches and stretches[-1].rounds < 2 * seen.rounds:
        *before, last = stretches
        stretches, seen = tuple(before), last + seen
    return (*stretches, seen) if seen.rounds else stretches


def remembering(plan: Plan, logs: Logs) -> Plan:
    """The plan, and what a ledger asks of a batch."""
    spans = (Request(TimeSpan(time)) for time in logs.declaration.times)
    return replace(plan, requests=(*plan.requests, Request(MEMORY), *spans))


def batch_of(sums: Sums, logs: Logs, file: Path | None) -> NewBatch:
    """What a plan that remembers has found."""
    declared = logs.declaration
    times = next((sums.get(TimeSpan(time)) for time in declared.times), None)
    clusters = next((unit_ends(logs, name) for name, _ in declared.unit.ids() if sums.rows), None)
    return NewBatch(sums.rows + sums.excluded, sums.get(MEMORY) or SeenRounds(), times, clusters, file)


def unit_ends(logs: Logs, name: str) -> tuple[str, str]:
    """The ids of the first and the last unit of a batch."""
    first = last = None
    for batch in logs.batches():
        column = batch.table[name]
        first = str(column[0].as_py()) if first is None else first
        last = str(column[len(column) - 1].as_py())
    return first or "", last or ""
