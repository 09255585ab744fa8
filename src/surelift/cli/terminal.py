"""What a command says on standard error while it runs: messages and progress."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from surelift.views.names import harmless

if TYPE_CHECKING:
    from surelift.logs.logs import Logs

# Seconds without a bar: it takes time to load, and a small log is read sooner.
PATIENCE = 0.5


def say(text: str) -> None:
    """Told on standard error; if nobody listens there, the exit code still tells the verdict."""
    try:
        print(harmless(text), file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def silence(stream: Any) -> None:
    """What waits to be written to a stream that is broken or full, and what comes later, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def reopen_closed() -> None:
    """Streams that were closed lead nowhere: otherwise the next file that is opened would take their place."""
    for number, mode in enumerate("rww"):
        name = ("stdin", "stdout", "stderr")[number]
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode))  # noqa: SIM115


def watched() -> bool:
    """Whether a terminal shows the output: in a notebook every update of a bar would be a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and "JPY_PARENT_PID" not in os.environ


@contextmanager
def progress(logs: "Logs | None" = None) -> Iterator[Callable[[int], None] | None]:
    """A bar while the log is read, and then what was left out, for formats that have such lines."""
    with _bar(logs) as tell:
        yield tell
    for reason, count in getattr(getattr(logs, "source", None), "left_out", {}).items():
        say(f"Left out: {count:,} {reason}.")


@contextmanager
def _bar(logs: "Logs | None") -> Iterator[Callable[[int], None] | None]:
    """A bar that appears once reading takes a while; on a terminal only."""
    if not watched():
        yield None
        return
    started, shown = monotonic(), None
    with ExitStack() as stack:

        def tell(rows: int) -> None:
            nonlocal shown
            if shown is None and monotonic() - started > PATIENCE:
                shown = stack.enter_context(_reading_bar(logs))
            if shown is not None:
                shown(completed=rows)

        yield tell


def _reading_bar(logs: "Logs | None") -> AbstractContextManager[Callable[..., None]]:
    """Rows read so far, rows per second, and the time left if the length is known."""
    from rich.progress import SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} per second" if task.speed else "")

    source: Any = getattr(logs, "source", None)

    class FileNumber(TextColumn):
        def render(self, task: Task) -> Text:
            files = len(source) if hasattr(source, "reading") else 1
            return Text(f"file {source.reading:,} of {files:,}" if files > 1 else "")

    quick = getattr(source, "quick_count", None)
    total = None if quick is None else quick()
    return bar(SpinnerColumn(), TextColumn("{task.completed:,} rounds"), FileNumber(""), Rate(""), total=total)


@contextmanager
def bar(*columns: Any, total: int | None, **fields: Any) -> Iterator[Callable[..., None]]:
    """A bar on standard error that shows these columns, the time so far and the time left."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn, TimeRemainingColumn

    times = TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, *times, console=Console(stderr=True), transient=True) as shown:
        yield partial(shown.update, shown.add_task("", total=total, **fields))
