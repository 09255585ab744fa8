"""How a CSV file is laid out: its encoding, the comments above its header, and its separator."""

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice

from surelift.errors import UsageError
from surelift.logs.sources.formats import extension_of
from surelift.logs.sources.opened import encoding_in, known_encoding, opened

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_HEAD, _LINES = 1 << 18, 50
_ABOVE = re.compile(r"(?:\ufeff?#[^\r\n]*|[ \t]*)(?:\r\n|\n|\r)")
_NUMBER = re.compile(r"(?:^|[,;|\t])\"?\s*[-+]?[\d.]+")


@dataclass(frozen=True, slots=True)
class TextStyle:
    """What the user says of files of text; what is None is found out."""

    separator: str | None = None
    encoding: str | None = None

    @classmethod
    def of(cls, separator: str | None, encoding: str | None) -> "TextStyle":
        mark = {"\\t": "\t", "tab": "\t"}.get(separator, separator) if isinstance(separator, str) else separator
        if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n' or not mark.isascii()):
            raise UsageError(f"separator must be one character, such as ';' or a tab, not {separator!r}.")
        return cls(mark, known_encoding(encoding))


@dataclass(frozen=True, slots=True)
class Layout:
    separator: str
    encoding: str | None
    """None for UTF-8."""
    comments: int = 0
    """Lines that begin with ``#`` above the header."""
    above: int = 0
    """Bytes above the header, in UTF-8."""


def layout_of(path: str, style: TextStyle) -> Layout:
    with opened(path) as stream:
        head = stream.read(_HEAD)
    encoding = style.encoding or encoding_in(head)
    text = head.decode(encoding or "utf-8", errors="ignore" if encoding else "surrogateescape")
    if len(head) == _HEAD:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    comments, above = _comments(text)
    separator = style.separator or _separator(path, text[above:])
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


def _separator(path: str, text: str) -> str:
    """The usual one of the file's extension where its first lines fit it, or else the only one that they fit."""
    usual = "\t" if extension_of(path).startswith(".tsv") else ","
    if _fits(text, usual):
        return usual
    others = [mark for mark in _SEPARATORS if mark != usual and _fits(text, mark)]
    if len(others) > 1:
        raise UsageError(
            f"{path}: its separator may be a {' or a '.join(_SEPARATORS[mark] for mark in others)}; say which: "
            f"separator={others[0]!r}."
        )
    return others[0] if others else usual


def _fits(text: str, separator: str) -> bool:
    """Whether the header has at least two columns, and the lines below it as many."""
    try:
        lines = islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), _LINES)
        widths = [len(line) for line in lines if line]
    except csv.Error:
        return False
    return bool(widths) and widths[0] > 1 and len(set(widths)) == 1
