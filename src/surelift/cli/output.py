"""What a command shows: text and progress on standard error, JSON on standard output."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from surelift.cli.options import OutputFlags
from surelift.decisions.certificate import Answer, Certificate
from surelift.decisions.monitor import Monitor
from surelift.decisions.result import Result
from surelift.logs.logs import Logs
from surelift.report.names import harmless


def say(text: str) -> None:
    print(harmless(text), file=sys.stderr)


def show(result: Result, *, json: bool) -> None:
    say(str(result))
    if json:
        print(result.to_json())


def deliver(answer: Answer, output: OutputFlags, page: Answer | Monitor | None = None) -> None:
    """The files first: what is shown is then surely written."""
    if output.certificate is not None:
        Certificate.of(answer).save(output.certificate)
    if output.html is not None:
        (page or answer).to_html(output.html)
    show(answer, json=output.json)
    if output.certificate is not None:
        say(
            f"Certificate written to {output.certificate}; confirm it with: surelift verify {output.certificate} SOURCE"
        )
    if output.html is not None:
        say(f"Page written to {output.html}; open it in a browser.")


def watched() -> bool:
    """Whether someone looks at a terminal: in a cell of a notebook every move of a bar would be a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and "JPY_PARENT_PID" not in os.environ


@contextmanager
def progress(logs: Logs | None = None) -> Iterator[Callable[[int], None] | None]:
    """Rows read so far, how many a second, and the time left where the log tells its length; on a terminal only."""
    if not watched():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} a second" if task.speed else "")

    quick = getattr(logs.source, "quick_count", None) if logs is not None else None
    parts = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} rounds"),
        Rate(""),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None if quick is None else quick())
        yield lambda rows: bar.update(task, completed=rows)
