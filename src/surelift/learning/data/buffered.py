"""Logs that are read once, however often a question goes over them."""

from collections.abc import Iterator

from surelift.logs.batch import Batch, Needs, Source
from surelift.logs.logs import Logs


class BufferedSource:
    """Keeps the batches it has read in memory, for the next pass over the same columns."""

    def __init__(self, source: Source) -> None:
        self.ordered, self._source = source.ordered, source
        self._needs: Needs | None = None
        self._read: list[Batch] = []
        self._rest: Iterator[Batch] = iter(())

    def column_names(self) -> list[str]:
        return self._source.column_names()

    def count(self) -> int:
        return self._source.count()

    def batches(self, needs: Needs) -> Iterator[Batch]:
        if needs != self._needs:
            self._needs, self._read, self._rest = needs, [], iter(self._source.batches(needs))
        yield from list(self._read)
        for batch in self._rest:
            self._read.append(batch)
            yield batch


def buffered(logs: Logs) -> Logs:
    return Logs.of(BufferedSource(logs.source), logs.declaration)
