"""Files of text: their bytes, decompressed and in UTF-8, and how a CSV is laid out."""

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.logs.sources.formats import compression_of, extension_of
from surelift.logs.sources.places import raw

# The longest mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_BLOCK = 1 << 20
# Bytes.
LONGEST_LINE = 1 << 24
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_HEAD, _LINES = 1 << 18, 50
_ABOVE = re.compile(r"(?:\ufeff?#[^\r\n]*|[ \t]*)(?:\r\n|\n|\r)")
_NUMBER = re.compile(r"(?:^|[,;|\t])\"?\s*[-+]?[\d.]+")


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
        if isinstance(error, UnicodeDecodeError):
            shown = error.object[max(error.start - 8, 0) : error.end + 8]
            problem = (
                f"{encoding or 'UTF-8'}: line {line:,}{' or a later one' if encoding else ''} holds {shown!r}.\nSave it as "
                "UTF-8, or name its encoding, as encoding='latin-1': it is not guessed, since a guess could change names."
            )
        else:
            remedy = "encoding='utf-16-le' for UTF-16 without its mark, or save it as UTF-8."
            problem = f"{encoding}: {error}. Name its encoding, {remedy}"
        raise LogsError(f"{path} is not text in {problem} Nothing was computed.") from error


@dataclass(frozen=True, slots=True)
class TextStyle:
    """What the user says of files of text; what is None is found out."""

    separator: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        mark: Any = "\t" if self.separator in ("\\t", "tab") else self.separator
        name, problem = self.encoding, ""
        if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n' or not mark.isascii()):
            problem = f"separator must be one character, such as ';' or a tab, not {self.separator!r}."
        elif name is not None:
            try:
                name = codecs.lookup(name).name
                "".encode(name)
            except (LookupError, TypeError, ValueError):
                problem = f"unknown encoding {self.encoding!r}; give one that Python knows, such as 'latin-1'."
        if problem:
            raise UsageError(problem)
        object.__setattr__(self, "separator", mark)
        object.__setattr__(self, "encoding", None if name in ("utf-8", "utf-8-sig", "ascii") else name)


PLAIN = TextStyle()


@dataclass(frozen=True, slots=True)
class Layout:
    separator: str
    encoding: str | None
    comments: int = 0  # lines that begin with ``#`` above the header
    above: int = 0


def layout_of(path: str, style: TextStyle) -> Layout:
    with opened(path) as stream:
        head = stream.read(_HEAD)
    encoding = style.encoding or encoding_in(head)
    text = head.decode(encoding or "utf-8", errors="ignore" if encoding else "surrogateescape")
    if len(head) == _HEAD:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    comments, above = _comments(text)
    # The usual one of the file's extension where its first lines fit it, or else the only one that they fit.
    usual = "\t" if extension_of(path).startswith(".tsv") else ","
    fitting = [mark for mark in _SEPARATORS if style.separator is None and _fits(text[above:], mark)]
    if len(fitting) > 1 and usual not in fitting:
        raise UsageError(
            f"{path}: its separator may be a {' or a '.join(_SEPARATORS[mark] for mark in fitting)}; say which: "
            f"separator={fitting[0]!r}."
        )
    separator = style.separator or (usual if usual in fitting or not fitting else fitting[0])
    return Layout(separator, encoding, comments, len(text[:above].encode(errors="surrogateescape")))


def _comments(text: str) -> tuple[int, int]:
    """The number of comment lines, and where the header begins; a header may itself begin with ``#``."""
    marked, end = list[tuple[int, int]](), 0
    while matched := _ABOVE.match(text, end):
        if matched[0].lstrip("\ufeff").startswith("#"):
            marked.append(matched.span())
        end = matched.end()
    if not marked or end == len(text):
        return 0, 0
    last, following = text[slice(*marked[-1])], re.split(r"[\r\n]", text[end:], maxsplit=1)[0]
    alike = any(last.count(mark) == following.count(mark) > 0 for mark in _SEPARATORS)
    if alike and _NUMBER.search(following):
        return len(marked) - 1, marked[-1][0]
    return len(marked), marked[-1][1]


def _fits(text: str, separator: str) -> bool:
    """The header has at least two columns, and the lines below it as many."""
    try:
        lines = islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), _LINES)
        widths = {len(line) for line in lines if line}
    except csv.Error:
        return False
    return len(widths) == 1 and widths.pop() > 1
