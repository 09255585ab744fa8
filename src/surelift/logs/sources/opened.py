"""The bytes of a file of text: decompressed, and in UTF-8."""

import codecs
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.sources.formats import compression_of
from surelift.logs.sources.places import raw

# The longest mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_BLOCK = 1 << 20
# Bytes.
LONGEST_LINE = 1 << 24


def opened(path: str) -> Any:
    """A stream of the bytes of a file, decompressed as its name says."""
    compression, file = compression_of(path), raw(path)
    if compression is None:
        return file
    return pa.PythonFile(_Xz(file), "r") if compression == "xz" else pa.CompressedInputStream(file, compression)


class _Xz:
    """Which Arrow does not read."""

    def __init__(self, file: Any) -> None:
        import lzma

        self._file, self._errors, self.closed = lzma.LZMAFile(file), (EOFError, lzma.LZMAError), False  # noqa: SIM115

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except self._errors as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        self._file.close()
        self.closed = True


def opened_text(path: str, encoding: str | None) -> Any:
    """A stream in UTF-8; without an encoding, of the bytes as they are."""
    stream = opened(path)
    return stream if encoding is None else pa.transcoding_input_stream(stream, encoding, "utf-8")


def encoding_in(head: bytes) -> str | None:
    """The encoding that the mark at the beginning of a file names; None for UTF-8, and without a mark."""
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


def known_encoding(name: str | None) -> str | None:
    """The encoding that a name stands for; None for UTF-8."""
    if name is None:
        return None
    try:
        known = codecs.lookup(name).name
        "".encode(known)
    except (LookupError, TypeError, ValueError) as error:
        raise UsageError(f"unknown encoding {name!r}; give one that Python knows, such as 'latin-1'.") from error
    return None if known in ("utf-8", "utf-8-sig", "ascii") else known


def refuse_encoding(path: str, encoding: str | None) -> None:
    """Raise, if the bytes of a file are not text in its encoding, with the first line that is not."""
    with opened(path) as stream:
        encoding = encoding or encoding_in(stream.read(4))
    line, rest = 1, b""
    try:
        with opened_text(path, encoding) as stream:
            while block := stream.read(_BLOCK):
                *lines, rest = (rest + block).split(b"\n")
                for number, text in enumerate(lines, line):
                    line = number
                    text.decode()
                line += bool(lines)
            rest.decode()
    except UnicodeError as error:
        if not isinstance(error, UnicodeDecodeError):
            raise LogsError(
                f"{path} is not text in {encoding}: {error}. Name its encoding, encoding='utf-16-le' for UTF-16 without its "
                "mark, or save it as UTF-8. Nothing was computed."
            ) from error
        begin, shown = max(error.start - 8, 0), error.object
        raise LogsError(
            f"{path} is not text in {encoding or 'UTF-8'}: line {line:,}{' or a later one' if encoding else ''} holds "
            f"{shown[begin : error.end + 8]!r}.\nSave it as UTF-8, or name its encoding: encoding='latin-1', if it is that. "
            "It is not guessed, since a guess could change names. Nothing was computed."
        ) from error
