"""Where a command writes: its answer to standard output, everything else to standard error."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surelift.views.formats import harmless

WIDEST = 100
# What is not broken: a command up to the end of its line, what is in quotes, a flag with its placeholder, a word.
_PIECE = re.compile(
    r"""(?: (?<=:\ )(?:surelift|pip|cat)\ .*$
          | (?<!\w)'[^']*'(?!\w) | (?<!\w)"[^"]*"(?!\w)
          | --[a-z-]+\ (?:[A-Z][A-Z=,.]+|\.\.\.)
          | \S )+""",
    re.VERBOSE,
)


def print_answer(text: str) -> None:
    """Print an answer; what the encoding of standard output lacks is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(harmless(text).encode(encoding, "backslashreplace").decode(encoding), flush=True)


def say(text: str) -> None:
    """Write to standard error; if nobody listens there, the exit code still tells the verdict.

    Wrapped on a terminal only: in files and pipes a message stays on one line, for grep.
    """
    text = harmless(text)
    if sys.stderr.isatty():
        text = wrapped(text, min(shutil.get_terminal_size().columns, WIDEST))
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def hush(_: Any, quiet: bool) -> None:
    """Say nothing but errors from here on, neither in commands nor in the library; see ``errors_heard``."""
    if quiet:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


@contextmanager
def errors_heard() -> Iterator[None]:
    """Give back standard error after a command that was hushed."""
    kept = sys.stderr
    try:
        yield
    finally:
        if sys.stderr is not kept:
            sys.stderr.close()
            sys.stderr = kept


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


def wrapped(text: str, width: int) -> str:
    """The text with line breaks between words; its own breaks and indents stay, and bullets hang.

    >>> print(wrapped("Certificate written; confirm it with: surelift verify c.json SOURCE", 30))
    Certificate written; confirm
    it with:
    surelift verify c.json SOURCE
    """
    rows: list[str] = []
    for line in text.split("\n"):
        bare = line.lstrip().removeprefix("- ")
        begin = line[: len(line) - len(bare)] if len(line) > width else line
        rows.append(begin)
        blank = ""
        for piece in _PIECE.findall(line, len(begin)):
            if blank and len(rows[-1]) + 1 + len(piece) > width:
                rows.append(" " * len(begin) + piece)
            else:
                rows[-1] += blank + piece
            blank = " "
    return "\n".join(rows)
