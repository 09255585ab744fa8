"""What a monitor remembers of the batches it counted, so that none is lost and none counts twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, UsageError, whole
from surelift.logs.logs import Logs
from surelift.statistics.sums import Sums

MOST_FILES = 256


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file that was counted: enough to recognise it, and its rounds under another name."""

    path: str
    size: int
    fingerprint: str


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

    @classmethod
    def restored(cls, content: Mapping[str, Any]) -> "Ledger":
        files = tuple(CountedFile(**file) for file in content["files"])
        return cls(**{**content, "files": files})

    def is_next(self, sequence: int | None) -> bool:
        """Whether a batch is the next one; False where it was counted before."""
        if sequence is None:
            return True
        if whole("sequence", sequence) > self.sequence + 1:
            raise UsageError(f"batch {sequence} came, but {self.sequence + 1} is next: a batch in between is missing.")
        return sequence == self.sequence + 1

    def after(self, sums: Sums, file: Path | None, ends: tuple[str, str] | None) -> "Ledger":
        """The ledger with one more batch, which may begin no cluster that ended the last one."""
        if ends is not None and ends[0] == self.last_cluster:
            raise LogsError(
                f"cluster {ends[0]!r} continues from the batch before; the rounds of a cluster must lie whole in one batch."
            )
        return Ledger(
            self.sequence + 1,
            self.rows + sums.rows,
            self.files if file is None else self._with(file, sums),
            self.count + (file is not None),
            self.last_cluster if ends is None else ends[1],
        )

    def _with(self, file: Path, sums: Sums) -> tuple[CountedFile, ...]:
        """The files with one more, whose rounds must not be those of another."""
        fingerprint = str(sums.fingerprint)
        twin = next((known for known in self.files if sums.rows and known.fingerprint == fingerprint), None)
        if twin is not None:
            raise LogsError(
                f"{file} holds the same rounds as {twin.path}, which was counted; nothing was counted twice."
            )
        return (*self.files, CountedFile(str(file), file.stat().st_size, fingerprint))[-MOST_FILES:]

    def new_files(self, paths: Sequence[str | Path]) -> list[str]:
        """The files that were not counted yet, in the order of their paths."""
        ordered = sorted({str(Path(path).resolve()) for path in paths})
        if not self.files:
            return ordered
        known = {file.path: file for file in self.files}
        first, last = self.files[0].path, self.files[-1].path
        for path in ordered:
            if path in known and Path(path).stat().st_size != known[path].size:
                raise LogsError(
                    f"{path} has changed since it was counted: it had {known[path].size:,} bytes. Put rounds that come "
                    "later into a file of their own; nothing was counted."
                )
        late = [path for path in ordered if first <= path <= last and path not in known]
        older = [path for path in ordered if path < first]
        if late or len(older) > self.count - len(self.files):
            raise LogsError(
                f"{(late or older)[0]} was not counted, but {last}, which sorts after it, was: it came late, and rounds "
                "must enter in order.\nRename it so that it sorts after the last one; nothing was counted."
            )
        return [path for path in ordered if path > last]


def cluster_ends(logs: Logs) -> tuple[str, str]:
    """The first and the last cluster of a batch."""
    assert logs.declaration.cluster is not None
    first = last = None
    for batch in logs.batches():
        column = batch.table[logs.declaration.cluster]
        first = str(column[0].as_py()) if first is None else first
        last = str(column[len(column) - 1].as_py())
    return first or "", last or ""
