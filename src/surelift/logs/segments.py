"""Segments: the columns that say which slice of the log a round belongs to, and what the slices are called."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from surelift.arrays import IntArray
from surelift.errors import UsageError, exact, is_number, printed
from surelift.kernels.sorting import distinct
from surelift.logs import faults
from surelift.logs.columns import decode, inexact, texts_and_codes

if TYPE_CHECKING:
    from surelift.logs.rows import Rows

MISSING = "(missing)"
_NOWHERE = -1
_PART = re.compile(r'"((?:[^"]|"")*)"|([^",]+)')
_EDGES = "such as bins('age', [18, 30, 50])"


@dataclass(frozen=True, slots=True)
class Bins:
    """A numeric column cut at edges: a number belongs to the last edge that it reaches."""

    column: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        edges, problem = cast("Any", self.edges), ""
        if not isinstance(self.column, str):
            problem = f"bins takes a column and its edges, {_EDGES}; the column is {printed(self.column)}."
        elif isinstance(edges, str) or not isinstance(edges, Sequence | np.ndarray) or len(edges) == 0:
            problem = f"bins of {self.column!r} needs its edges, {_EDGES}, but they are {printed(edges)}."
        elif wrong := [edge for edge in edges if not (is_number(edge) and abs(exact(edge)) <= sys.float_info.max)]:
            problem = f"an edge of {self.column!r} must be a finite number, but one is {printed(wrong[0])}."
        elif falling := [f"{_number(a)} is followed by {_number(b)}" for a, b in pairwise(map(float, edges)) if not a < b]:
            problem = f"the edges of {self.column!r} must increase, but {falling[0]}: sort them, and name each once."
        if problem:
            raise UsageError(problem)
        object.__setattr__(self, "edges", tuple(map(float, edges)))

    @property
    def names(self) -> tuple[str, ...]:
        texts = [_number(edge) for edge in self.edges]
        between = [f"{low} <= {self.column} < {high}" for low, high in pairwise(texts)]
        return f"{self.column} < {texts[0]}", *between, f"{self.column} >= {texts[-1]}"

    @property
    def ranges(self) -> tuple[tuple[float | None, float | None], ...]:
        """The edges of each bin, of which the upper does not belong to it; None at the two outer ends."""
        return tuple(zip((None, *self.edges), (*self.edges, None), strict=True))


def bins(column: str, edges: Sequence[float]) -> Bins:
    """A numeric column of segments, for ``by=``, cut at edges that were chosen before looking at the rows.

    >>> bins("age", [18, 30, 50]).names
    ('age < 18', '18 <= age < 30', '30 <= age < 50', 'age >= 50')

    Args:
        column: The column of numbers.
        edges: Where one bin ends and the next begins, ascending; a number belongs to the last edge that it reaches.
    """
    return Bins(column, edges)  # type: ignore[arg-type]


SegmentColumn: TypeAlias = str | Bins
By: TypeAlias = SegmentColumn | Sequence[SegmentColumn]


def column_name(part: SegmentColumn) -> str:
    return part.column if isinstance(part, Bins) else part


def segment_name(texts: Sequence[str]) -> str:
    """What a combination is called; no two have one name: a text with a comma or a quote in it is quoted.

    >>> segment_name(["FR", "phone"]), segment_name(["FR, north", "phone"])
    ('FR, phone', '"FR, north", phone')
    """
    if len(texts) == 1:
        return texts[0]
    quoted = ('"{}"'.format(text.replace('"', '""')) for text in texts)
    return ", ".join(quote if re.search('[,"]|^ ', text) else text for text, quote in zip(texts, quoted, strict=True))


def segment_texts(name: str, columns: int) -> tuple[str, ...]:
    """The texts that a name was made of, one for each column; empty where it is no name of so many.

    >>> segment_texts('"FR, north", phone', 2)
    ('FR, north', 'phone')
    """
    if columns == 1:
        return (name,)
    texts, place = list[str](), 0
    while found := _PART.match(name, place):
        texts.append(found[1].replace('""', '"') if found[2] is None else found[2])
        place = found.end()
        if place == len(name):
            return tuple(texts) if len(texts) == columns else ()
        if name[place] != ",":
            return ()
        place += 2 if name.startswith(", ", place) else 1
    return ()


def codes_and_texts(rows: "Rows", parts: Sequence[SegmentColumn]) -> tuple[IntArray, list[tuple[str, ...]]]:
    """Each round's place among the combinations that occur, and the texts of each."""
    codes, names = _codes(rows, parts[0])
    texts: list[tuple[str, ...]] = [(name,) for name in names]
    for part in parts[1:]:
        inner, names = _codes(rows, part)
        present, codes = distinct(codes * len(names) + inner)
        texts = [(*texts[pair // len(names)], names[pair % len(names)]) for pair in present.tolist()]
    return codes, texts


def _codes(rows: "Rows", part: SegmentColumn) -> tuple[IntArray, list[str]]:
    name = column_name(part)
    subject, column = f"by {name!r}", rows.table[name]
    if pa.types.is_nested(column.type):
        raise UsageError(f"by {name!r} holds {column.type}; a segment is named by text, a number or a date.")
    if isinstance(part, Bins):
        numbers = rows.plain_numbers(name)
        rows.refuse(subject, faults.NOT_NUMERIC, numbers.not_numeric, numbers.shown)
        rows.refuse(subject, faults.INFINITE, np.isinf(numbers.values), numbers.values)
        codes = np.searchsorted(np.array(part.edges), numbers.values, side="right").astype(np.int64)
        missing = numbers.null | np.isnan(numbers.values)
        return np.where(missing, len(part.edges) + 1, codes), [*part.names, MISSING]
    if pa.types.is_floating(column.type):
        rows.refuse(subject, faults.INEXACT, inexact(decode(column)), column)
    texts, codes = texts_and_codes(column)
    # Values that read the same are one segment; an empty text, as a null, is none.
    names = list(dict.fromkeys(text for text in texts if text is not None))
    places = {name: place for place, name in enumerate(names)}
    lookup = np.array([*(_NOWHERE if text is None else places[text] for text in texts), _NOWHERE], dtype=np.int64)
    codes = lookup[codes]
    if MISSING in places:
        rows.refuse(subject, faults.SEGMENT, codes == places[MISSING], MISSING)
        return np.where(codes == _NOWHERE, places[MISSING], codes), names
    absent = codes == _NOWHERE
    return (np.where(absent, len(names), codes), [*names, MISSING]) if absent.any() else (codes, names)


def _number(edge: float) -> str:
    return str(int(edge)) if edge == int(edge) and abs(edge) < 2.0**53 else repr(edge)
