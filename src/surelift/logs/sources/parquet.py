"""Batches of a Parquet file, decoded ahead in several threads, in memory that a slow reader of them does not let grow."""

import os
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, groupby
from queue import SimpleQueue
from threading import Event, Semaphore
from typing import Any

import pyarrow as pa

from surelift.logs.batch import repeated_in
from surelift.logs.sources.places import raw
from surelift.logs.sources.pushdown import Extremes, extremes_of, may_meet
from surelift.logs.sources.stores import StoredFile
from surelift.logs.where import Condition

SMALL_FILE = 1 << 24  # up to this size threads are not worth their start
_TINY_FILE = 1 << 18  # up to this size they cost more than they decode
_WAITING = 4  # batches of one row group that wait for their reader
_READ_AT_ONCE = 1 << 18  # column chunks are read in parts of this size, not whole
_FETCH_AT_ONCE = 1 << 22  # from a store, where each request takes a while


class ParquetFile:
    def __init__(self, path: str, coded: frozenset[str]) -> None:
        self._path, self._remote = path, isinstance(path, StoredFile)
        self._file = self._opened(read_dictionary=None)
        self.repeated = repeated_in(self._file.schema_arrow.names)
        self.schema = pa.schema([field for field in self._file.schema_arrow if field.name not in self.repeated])
        self._coded = [name for name in self.schema.names if name in coded]

    def _opened(self, **options: Any) -> Any:
        from pyarrow.parquet import ParquetFile

        # pre_buffer=False: otherwise Arrow holds whole row groups of all columns, ten times the memory.
        size, source = (_FETCH_AT_ONCE, raw(self._path)) if self._remote else (_READ_AT_ONCE, self._path)
        return ParquetFile(source, pre_buffer=False, buffer_size=size, **options)

    def count(self) -> int:
        return int(self._file.metadata.num_rows)

    def row_groups(self, first: int, last: int) -> tuple[range, int]:
        """Those with the rows from ``first`` to ``last`` (exclusive), and the number of rows before them."""
        metadata = self._file.metadata
        ends = list(accumulate(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)))
        begin = bisect_right(ends, max(first, 0))
        end = min(bisect_left(ends, last) + 1, len(ends))
        return range(begin, max(begin, end)), ends[begin - 1] if begin else 0

    def runs(self, condition: Condition, folders: Mapping[str, str | None]) -> Iterator[tuple[range, int, bool]]:
        """Stretches of row groups, each with its number of rows, and True where some may meet a condition."""
        metadata = self._file.metadata
        paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
        places = {path: place for place, path in enumerate(paths) if "." not in path}  # which a field of a struct may be

        def may(group: int) -> bool:
            row_group = metadata.row_group(group)

            def extremes(name: str) -> Extremes | None:
                return extremes_of(row_group, places[name], self.schema.field(name).type) if name in places else None

            return may_meet(condition, extremes, folders)

        for wanted, groups in groupby(range(metadata.num_row_groups), may):
            first, *others = groups
            run = range(first, first + 1 + len(others))
            yield run, sum(metadata.row_group(group).num_rows for group in run), wanted

    def batches(self, columns: Sequence[str], size: int, groups: range | None = None) -> Iterator[Any]:
        metadata, threads = self._file.metadata, os.cpu_count() or 1
        groups = range(metadata.num_row_groups) if groups is None else groups
        size_here = 0 if self._remote else os.path.getsize(self._path)

        if 0 < size_here <= SMALL_FILE or len(groups) < threads:
            file = self._opened(metadata=metadata, read_dictionary=self._coded) if self._coded else self._file
            yield from file.iter_batches(size, list(groups), list(columns), use_threads=not 0 < size_here <= _TINY_FILE)
            return

        def decode(group: int) -> Iterator[Any]:
            file = self._opened(metadata=metadata, read_dictionary=self._coded)
            yield from file.iter_batches(size, [group], list(columns), use_threads=False)

        with ThreadPoolExecutor(threads) as pool:
            waiting = deque[_RowGroup]()
            try:
                for group in groups:
                    waiting.append(_RowGroup())
                    # A generator: whatever goes wrong, also in opening the file, reaches the reader.
                    pool.submit(waiting[-1].put_all, decode(group))
                    if len(waiting) == threads:
                        yield from waiting[0].take_all()
                        waiting.popleft()
                while waiting:
                    yield from waiting[0].take_all()
                    waiting.popleft()
            finally:
                for row_group in waiting:
                    row_group.stop()


class _RowGroup:
    """Batches on their way from the thread that decodes them, a few at a time."""

    def __init__(self) -> None:
        self._queue, self._room, self._stopped = SimpleQueue[Any](), Semaphore(_WAITING), Event()

    def put_all(self, batches: Iterator[Any]) -> None:
        try:
            for batch in batches:
                self._room.acquire()
                if self._stopped.is_set():
                    return
                self._queue.put(batch)
            self._queue.put(None)
        except Exception as error:
            self._queue.put(error)

    def take_all(self) -> Iterator[Any]:
        while (batch := self._queue.get()) is not None:
            if isinstance(batch, Exception):
                raise batch
            self._room.release()
            yield batch

    def stop(self) -> None:
        self._stopped.set()
        self._room.release()
