"""``-`` as a source: standard input, kept in a file while the command runs, since a question may read a log twice."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from surelift.cli.progress import progress
from surelift.errors import LogsError, SureliftError, UsageError

_BLOCK = 1 << 20
# What a file begins with.
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ\0": ".xz"}
_FORMATS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}
_STREAM = b"\xff\xff\xff\xff"


@contextmanager
def with_input(tokens: list[str]) -> Iterator[list[str]]:
    """The arguments with a file in the place of ``-``: it is deleted at the end, also after an error or a signal."""
    if "-" not in tokens:
        yield tokens
        return
    if tokens[0] == "monitor":
        raise UsageError("a monitor counts a stream as it comes: say --stdin csv, jsonl or arrow instead of '-'.")
    if sys.stdin.isatty():
        raise UsageError("standard input is a terminal; pipe a log into it: cat log.csv | surelift evaluate - ...")
    from tempfile import TemporaryDirectory

    with ExitStack() as stack:
        _end_orderly(stack)
        folder = stack.enter_context(TemporaryDirectory(prefix="surelift-"))
        whole = os.path.join(folder, "stdin")
        _copy(whole)
        path = f"{whole}{_extension(whole)}"
        os.rename(whole, path)
        try:
            yield [path if token == "-" else token for token in tokens]
        except SureliftError as error:
            raise type(error)(str(error).replace(path, "standard input")) from error


def _end_orderly(stack: ExitStack) -> None:
    """Signals that end the process raise instead, so that what is kept is deleted."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            stack.callback(signal.signal, number, signal.signal(number, end))


def _copy(path: str) -> None:
    stream: Any = sys.stdin.buffer
    with open(path, "wb") as file, progress(unit="MiB of standard input") as tell:
        # read1, which returns what there is: inside of read, a signal would wait for the rest of a block.
        while block := stream.read1(_BLOCK):
            file.write(block)
            if tell is not None:
                tell(file.tell() >> 20)
        if not file.tell():
            raise LogsError("standard input is empty: the command before the pipe wrote nothing. Nothing was computed.")


def _extension(path: str) -> str:
    """What a file of this content would be called."""
    from surelift.logs.sources.opened import encoding_in, opened

    with open(path, "rb") as file:
        head = file.read(8)
    if head.startswith(_STREAM):
        raise UsageError("standard input is an Arrow stream; write an Arrow file, or Parquet, into the pipe.")
    binary = next((ending for begin, ending in _FORMATS.items() if head.startswith(begin)), None)
    if binary is not None:
        return binary
    zipped = next((ending for begin, ending in _COMPRESSED.items() if head.startswith(begin)), "")
    if zipped:
        os.rename(path, path + zipped)
    try:
        with opened(path + zipped) as stream:
            text = stream.read(_BLOCK)
    except OSError as error:
        raise LogsError(f"standard input cannot be read: {error}. Nothing was computed.") from error
    finally:
        if zipped:
            os.rename(path + zipped, path)
    begin = text.decode(encoding_in(text) or "utf-8", errors="ignore").lstrip("\ufeff \t\r\n")[:1]
    return (".jsonl" if begin in ("{", "[") else ".csv") + zipped
