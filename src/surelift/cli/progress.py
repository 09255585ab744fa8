"""How far a command is: a bar on a terminal, plain lines where a bar cannot be redrawn, else nothing."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from surelift.cli.terminal import say

if TYPE_CHECKING:
    from surelift.traits.logs import Logs

# Seconds without a bar: it takes time to load, and a small log is read sooner.
PATIENCE = 0.5
# Seconds before the first plain line, and the most between two.
FIRST_LINE, RAREST_LINE = 2.0, 60.0


def surroundings() -> Literal["bar", "lines", "nobody"]:
    """A terminal that can redraw a bar, one that cannot, or nobody who watches: the logs of cron and CI stay silent."""
    if not sys.stderr.isatty():
        return "nobody"
    # After ``!`` in a notebook, and on terminals that cannot go back, every update of a bar would be a line.
    return "lines" if os.environ.get("TERM") == "dumb" or "JPY_PARENT_PID" in os.environ else "bar"


def spaced_lines() -> Callable[[Callable[[], str]], None]:
    """Lines of progress with the seconds so far: the first after a while, then less and less often."""
    started, due = monotonic(), FIRST_LINE

    def tell(text: Callable[[], str]) -> None:
        nonlocal due
        seconds = monotonic() - started
        if seconds >= due:
            due = seconds + min(seconds, RAREST_LINE)
            say(f"{text()}, {seconds:,.0f} s")

    return tell


@contextmanager
def progress(
    logs: "Logs | None" = None, *, unit: str = "rounds", total: int | None = None
) -> Iterator[Callable[[int], None] | None]:
    """What to call with the units done so far; at the end, what a format left out is said.

    Without a total it is the number of rounds, where the source knows it.
    """
    source: Any = getattr(logs, "source", None)
    line, started, update, shown_as = spaced_lines(), monotonic(), None, surroundings()

    @cache
    def of() -> int | None:
        return total if total is not None or not hasattr(source, "quick_count") else source.quick_count()

    with ExitStack() as stack:

        def tell(done: int) -> None:
            nonlocal update
            if shown_as == "lines":
                line(lambda: f"{done:,} {unit}" if of() is None else f"{done:,} of {of():,} {unit}")
            elif update is None and monotonic() - started > PATIENCE:
                update = stack.enter_context(_counting_bar(source, unit, of()))
            if update is not None:
                update(completed=done)

        yield None if shown_as == "nobody" else tell
    for reason, count in getattr(source, "left_out", {}).items():
        say(f"Left out: {count:,} {reason}.")


@contextmanager
def steps(words: Callable[[int, int, Any], str]) -> Iterator[Callable[[int, int, Any], None] | None]:
    """What to call with the steps done, their number, and what else the words tell of."""
    shown_as, line = surroundings(), spaced_lines()
    if shown_as == "bar":
        from rich.progress import BarColumn, TextColumn

        with bar(TextColumn("{task.fields[words]}"), BarColumn(), total=None, words="") as update:
            yield lambda done, of, more: update(completed=done, total=of, words=words(done, of, more))
    else:
        yield None if shown_as == "nobody" else lambda *at: line(lambda: words(*at))


def _counting_bar(source: Any, unit: str, total: int | None) -> AbstractContextManager[Callable[..., None]]:
    """A bar of the units so far, units per second, and the time left if the total is known."""
    from rich.progress import SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} per second" if task.speed else "")

    class FileNumber(TextColumn):
        def render(self, task: Task) -> Text:
            files = len(source) if hasattr(source, "reading") else 1
            return Text(f"file {source.reading:,} of {files:,}" if files > 1 else "")

    return bar(SpinnerColumn(), TextColumn(f"{{task.completed:,}} {unit}"), FileNumber(""), Rate(""), total=total)


@contextmanager
def bar(*columns: Any, total: int | None, **fields: Any) -> Iterator[Callable[..., None]]:
    """A bar on standard error that shows these columns, the time so far and the time left."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn, TimeRemainingColumn

    times = TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, *times, console=Console(stderr=True), transient=True) as shown:
        yield partial(shown.update, shown.add_task("", total=total, **fields))
