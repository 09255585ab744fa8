"""The command that was typed: with standard input in the place of ``-``, and as it can be typed again."""

import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from surelift.cli.flag import refuse_first
from surelift.cli.progress import progress
from surelift.errors import LogsError, SureliftError, UsageError

_TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
_BLOCK = 1 << 20
# What a file begins with.
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ\0": ".xz"}
_FORMATS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": "stream"}


@contextmanager
def typed(tokens: Sequence[str]) -> Iterator[None]:
    before = _TYPED.set(tuple(tokens))
    try:
        yield
    finally:
        _TYPED.reset(before)


def command_typed() -> str:
    """The command as pages show it, without the credentials that an address may hold."""
    from surelift.logs.sources.stores import without_secrets

    return shlex.join(["surelift", *map(without_secrets, _TYPED.get())])


@contextmanager
def with_input(tokens: list[str]) -> Iterator[list[str]]:
    """The arguments with a file for ``-``, as a log may be read twice; it is deleted, also after an error or a signal."""
    if "-" not in tokens:
        yield tokens
        return
    refusals = {
        "a monitor counts a stream as it comes: say --stdin csv, jsonl or arrow instead of '-'.": tokens[0] == "monitor",
        "standard input is a terminal; pipe a log into it: cat log.csv | surelift evaluate - ...": sys.stdin.isatty(),
    }
    refuse_first(refusals)
    from tempfile import TemporaryDirectory

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    with ExitStack() as stack:
        # Signals that end the process raise instead, so that what is kept is deleted.
        for number in (getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)):
            stack.callback(signal.signal, number, signal.signal(number, end))
        whole = os.path.join(stack.enter_context(TemporaryDirectory(prefix="surelift-")), "stdin")
        stream: Any = sys.stdin.buffer
        with open(whole, "wb") as file, progress(unit="MiB of standard input") as tell:
            # read1, which returns what there is: inside of read, a signal would wait for the rest of a block.
            while block := stream.read1(_BLOCK):
                file.write(block)
                if tell is not None:
                    tell(file.tell() >> 20)
            if not file.tell():
                raise LogsError("standard input is empty: the command before the pipe wrote nothing. Nothing was computed.")
        path = f"{whole}{_extension(whole)}"
        os.rename(whole, path)
        try:
            yield [path if token == "-" else token for token in tokens]
        except SureliftError as error:
            raise type(error)(str(error).replace(path, "standard input")) from error


def _extension(path: str) -> str:
    """What a file of this content would be called."""
    from surelift.logs.sources.text_files import encoding_in, opened

    with open(path, "rb") as file:
        head = file.read(8)
    binary = next((ending for begin, ending in _FORMATS.items() if head.startswith(begin)), "")
    if binary == "stream":
        raise UsageError("standard input is an Arrow stream; write an Arrow file, or Parquet, into the pipe.")
    if binary:
        return binary
    zipped = next((ending for begin, ending in _COMPRESSED.items() if head.startswith(begin)), "")
    named = path + zipped
    os.rename(path, named)  # it is opened by its name
    try:
        with opened(named) as stream:
            text = stream.read(_BLOCK)
    except OSError as error:
        raise LogsError(f"standard input cannot be read: {error}. Nothing was computed.") from error
    finally:
        os.rename(named, path)
    begin = text.decode(encoding_in(text) or "utf-8", errors="ignore").lstrip("\ufeff \t\r\n")[:1]
    return (".jsonl" if begin in ("{", "[") else ".csv") + zipped
