"""A folder of results: pieces that survive a kill, tables as Markdown and CSV, a summary page."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import Any

from surelift.errors import UsageError
from surelift.saving import write_beside
from surelift.version import __version__
from surelift.views.plots import require_matplotlib

Tell = Callable[[int, int, str], None]
"""Called when a piece is done: how many are, of how many, and which it was."""


@dataclass(frozen=True, slots=True)
class ReproducedTable:
    name: str
    """Of its files."""
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    page: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None
    """Columns and rows as they are put on a page, where those of the file would be too wide."""

    def markdown(self) -> str:
        columns, rows = self.page or (self.columns, self.rows)
        lines = [f"### {self.title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()


def _found(path: Path) -> Any:
    """What a file holds; None where there is none, or where it was damaged and has to be made again."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _shown(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else "" if cell is None else str(cell)


class Folder:
    def __init__(self, path: str | Path, settings: dict[str, Any]) -> None:
        require_matplotlib()
        self.path = Path(path)
        self._pieces = self.path / "pieces"
        try:
            self._pieces.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"the folder {self.path} cannot be made: {error.strerror}.") from error
        stated = self.path / "settings.json"
        mine = {**settings, "surelift": __version__}
        begun = stated.exists() or any(self._pieces.iterdir())
        if begun and _found(stated) != json.loads(json.dumps(mine)):
            raise UsageError(
                f"{self.path} holds another run, of other methods, data or options; name another folder in --output, or "
                "delete that one."
            )
        write_beside(stated, json.dumps(mine), what="the settings")

    def pieces(self, work: Callable[..., Any], asked: Iterable[tuple[Any, ...]], tell: Tell | None) -> list[Any]:
        """The results of ``work`` for each of its arguments, in their order: those found are not computed again."""
        wanted = list(asked)
        found: dict[int, Any] = {}
        for place, arguments in enumerate(wanted):
            kept = _found(self._place(work, arguments))
            if kept is not None:
                found[place] = kept
        left = [place for place in range(len(wanted)) if place not in found]
        if not left:
            return [found[place] for place in range(len(wanted))]
        # Started afresh: a process that was forked may inherit locks of threads that it does not have.
        with ProcessPoolExecutor(min(cpu_count() or 1, len(left)), mp_context=get_context("spawn")) as pool:
            running = {pool.submit(work, *wanted[place]): place for place in left}
            for done in as_completed(running):
                place = running[done]
                found[place] = done.result()
                write_beside(self._place(work, wanted[place]), json.dumps(found[place]), what="a piece")
                if tell is not None:
                    tell(len(found), len(wanted), " ".join(str(part) for part in wanted[place]))
        return [found[place] for place in range(len(wanted))]

    def kept(self, name: str, work: Callable[[], Any]) -> Any:
        """The result of ``work``, computed here, or the one that was kept under this name."""
        path = self._pieces / f"{name}.json"
        if _found(path) is None:
            write_beside(path, json.dumps(work()), what="a piece")
        return _found(path)

    def _place(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Path:
        name = "-".join([work.__name__, *(str(part) for part in arguments)])
        return self._pieces / f"{name}.json"

    def write(
        self, title: str, intro: Sequence[str], tables: Sequence[ReproducedTable], figures: Sequence[tuple[str, str]]
    ) -> Path:
        """Every table as Markdown and CSV, and one page with all of them; figures are (file, what it shows)."""
        for table in tables:
            write_beside(self.path / f"{table.name}.csv", table.csv(), what="a table")
            write_beside(self.path / f"{table.name}.md", table.markdown(), what="a table")
        parts = [f"# {title}\n", *intro, ""]
        parts += [table.markdown() for table in tables]
        parts += [f"![{caption}]({name})\n\n{caption}\n" for name, caption in figures]
        page = self.path / "summary.md"
        write_beside(page, "\n".join(parts), what="the summary")
        return page
