"""A results folder: pieces that survive an interrupted run, tables as Markdown and CSV, and a summary page."""

import csv
import io
import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from os import cpu_count
from pathlib import Path
from threading import Thread
from typing import Any

from surelift.errors import UsageError
from surelift.saving import write_beside
from surelift.version import __version__
from surelift.views.plots import require_matplotlib

Tell = Callable[[int, int, str], None]
"""Called after each piece: how many are done, how many there are, and which one it was."""


@dataclass(frozen=True, slots=True)
class ReproducedTable:
    name: str  # the stem of its file names
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    page: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None
    """Columns and rows for the summary page, if the file's would be too wide."""

    def markdown(self) -> str:
        columns, rows = self.page or (self.columns, self.rows)
        lines = [f"### {self.title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(_format_cell(cell) for cell in row) + " |" for row in rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with this one, however it ends."""
    others = set(active_children())
    # Spawned, not forked: a fork may inherit locks held by threads it does not have.
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def _end_with_parent() -> None:
    """An interrupt is the parent's to handle; once it is gone, nobody waits for the results."""

    def wait() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=wait, daemon=True).start()


def _load(path: Path) -> Any:
    """The content of a JSON file, or None if it is missing or damaged and must be recomputed."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _format_cell(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else "" if cell is None else str(cell)


class Folder:
    def __init__(self, path: str | Path, settings: dict[str, Any]) -> None:
        require_matplotlib()
        self.path = Path(path)
        self._pieces = self.path / "pieces"
        try:
            self._pieces.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"the folder {self.path} cannot be created: {error.strerror}.") from error
        stored, expected = self.path / "settings.json", json.dumps({**settings, "surelift": __version__})
        started = stored.exists() or any(self._pieces.iterdir())
        if started and _load(stored) != json.loads(expected):
            raise UsageError(f"{self.path} holds a run with other methods, data or options; name another in --output.")
        write_beside(stored, expected, what="the settings")

    def pieces(self, work: Callable[..., Any], asked: Iterable[tuple[Any, ...]], tell: Tell | None) -> list[Any]:
        """The results of ``work`` for each tuple of arguments, in order; stored results are not computed again."""
        tasks = list(asked)
        files = [self._pieces / f"{'-'.join(map(str, (work.__name__, *arguments)))}.json" for arguments in tasks]
        results = [_load(file) for file in files]
        remaining = [index for index, result in enumerate(results) if result is None]
        if not remaining:
            return results
        with _workers(min(cpu_count() or 1, len(remaining))) as pool:
            running = {pool.submit(work, *tasks[index]): index for index in remaining}
            for count, done in enumerate(as_completed(running), len(tasks) - len(remaining) + 1):
                index = running[done]
                results[index] = done.result()
                write_beside(files[index], json.dumps(results[index]), what="a piece")
                if tell is not None:
                    tell(count, len(tasks), " ".join(map(str, tasks[index])))
        return results

    def kept(self, name: str, work: Callable[[], Any]) -> Any:
        """The result stored under this name, or else of ``work``, computed in this process."""
        path = self._pieces / f"{name}.json"
        if _load(path) is None:
            write_beside(path, json.dumps(work()), what="a piece")
        return _load(path)

    def write(
        self, title: str, intro: Sequence[str], tables: Sequence[ReproducedTable], figures: Sequence[tuple[str, str]]
    ) -> Path:
        """Write every table as Markdown and CSV, and one page with all of them; figures are (file, caption)."""
        for table in tables:
            write_beside(self.path / f"{table.name}.csv", table.csv(), what="a table")
            write_beside(self.path / f"{table.name}.md", table.markdown(), what="a table")
        shown = [f"![{caption}]({name})\n\n{caption}\n" for name, caption in figures]
        parts = [f"# {title}\n", *intro, "", *(table.markdown() for table in tables), *shown]
        page = self.path / "summary.md"
        write_beside(page, "\n".join(parts), what="the summary")
        return page
