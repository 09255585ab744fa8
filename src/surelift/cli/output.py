"""What a command shows: text and progress on standard error, JSON on standard output."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from surelift.cli.options import LogFlags, OutputFlags, PolicyFlags, again, opened
from surelift.decisions.monitor import Monitor
from surelift.errors import UsageError
from surelift.logs.logs import Logs
from surelift.questions.certificate import Certificate
from surelift.results.result import Result
from surelift.views.names import harmless

R = TypeVar("R")


def say(text: str) -> None:
    print(harmless(text), file=sys.stderr)


def show(result: Result, *, json: bool) -> None:
    say(str(result))
    if json:
        print(result.to_json())


def asked(
    ask: Callable[..., R], sources: list[str], log: LogFlags, policies: PolicyFlags, output: OutputFlags = OutputFlags(),
    *, alone: bool = False, **arguments: Any,
) -> R:  # fmt: skip
    """The answer from the logs, about the candidates that were named; refused where it could not be written."""
    logs, named = opened(sources, log, policies, alone=alone)
    require_folder(output.certificate, output.html, output.csv)
    with progress(logs) as tell:
        return ask(logs, named, **arguments, progress=tell)


def deliver(
    answer: Result, output: OutputFlags, log: LogFlags, policies: PolicyFlags, page: Result | Monitor | None = None
) -> None:
    """Write the files, then show the answer."""
    if output.certificate is not None:
        Certificate.of(answer).save(output.certificate)
    if output.html is not None:
        (page or answer).to_html(output.html)
    if output.csv is not None:
        answer.to_csv(output.csv)
    show(answer, json=output.json)
    if output.certificate is not None:
        command = f"surelift verify {output.certificate} SOURCE{again(log, policies)}"
        say(f"Certificate written to {output.certificate}; confirm it with: {command}")
    if output.html is not None:
        say(f"Page written to {output.html}; open it in a browser.")
    if output.csv is not None:
        say(f"Table written to {output.csv}.")


def require_folder(*paths: str | None) -> None:
    """Before any work is done, refuse to write into a folder that does not exist."""
    for path in paths:
        if path is not None and not Path(path).resolve().parent.is_dir():
            raise UsageError(
                f"{path} cannot be written: there is no folder {str(Path(path).parent)!r}; create it first."
            )


def watched() -> bool:
    """Whether a terminal shows the output: in a notebook every update of a bar would be a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and "JPY_PARENT_PID" not in os.environ


@contextmanager
def progress(logs: Logs | None = None) -> Iterator[Callable[[int], None] | None]:
    """A bar while the log is read, and then what was left out, for formats that have such lines."""
    with _bar(logs) as tell:
        yield tell
    for reason, count in getattr(getattr(logs, "source", None), "left_out", {}).items():
        say(f"Left out: {count:,} {reason}.")


@contextmanager
def _bar(logs: Logs | None) -> Iterator[Callable[[int], None] | None]:
    """Rows read so far, rows per second, and the time left if the length is known."""
    if not watched():
        yield None
        return
    from rich.progress import SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} per second" if task.speed else "")

    quick = getattr(getattr(logs, "source", None), "quick_count", None)
    total = None if quick is None else quick()
    with bar(SpinnerColumn(), TextColumn("{task.completed:,} rounds"), Rate(""), total=total) as update:
        yield lambda rows: update(completed=rows)


@contextmanager
def bar(*columns: Any, total: int | None, **fields: Any) -> Iterator[Callable[..., None]]:
    """A bar on standard error that shows these columns, the time so far and the time left."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn, TimeRemainingColumn

    times = TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, *times, console=Console(stderr=True), transient=True) as shown:
        yield partial(shown.update, shown.add_task("", total=total, **fields))
