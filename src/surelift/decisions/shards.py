"""What a monitor remembers of the batches it counted, so that none is lost and none counts twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surelift.errors import LogsError
from surelift.logs.logs import Logs
from surelift.statistics import Sums

MOST_FILES = 256


@dataclass(frozen=True, slots=True)
class Counted:
    """A file that was counted: enough to know it again, and its rounds under another name."""

    path: str
    size: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Shard:
    """What was counted of one stream of batches."""

    sequence: int = 0
    """The number of its last batch."""
    rows: int = 0
    files: tuple[Counted, ...] = ()
    """The latest files, in the order of their paths, where batches are files."""
    count: int = 0
    """How many files there were in all."""
    last_cluster: str | None = None
    """Which cluster came last, where there are clusters."""

    def files_with(self, file: Path, sums: Sums) -> tuple[Counted, ...]:
        """The files with one more, whose rounds must not be those of another."""
        twin = next((one for one in self.files if sums.rows and one.fingerprint == str(sums.fingerprint)), None)
        if twin is not None:
            raise LogsError(
                f"{file} holds the same rounds as {twin.path}, which was counted; nothing was counted twice."
            )
        return (*self.files, Counted(str(file), file.stat().st_size, str(sums.fingerprint)))[-MOST_FILES:]

    def new_files(self, paths: Sequence[str | Path]) -> list[str]:
        """Those of the files that were not counted yet, in the order of their paths."""
        ordered = sorted({str(Path(path).resolve()) for path in paths})
        if not self.files:
            return ordered
        known = {one.path: one for one in self.files}
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


def ends_of(logs: Logs) -> tuple[str, str]:
    """The first and the last cluster of a batch."""
    assert logs.declaration.cluster is not None
    first = last = None
    for batch in logs.batches():
        column = batch.table[logs.declaration.cluster]
        first = str(column[0].as_py()) if first is None else first
        last = str(column[len(column) - 1].as_py())
    return first or "", last or ""
