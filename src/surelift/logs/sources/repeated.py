"""Columns whose names occur more than once: they are left out, and refused only where one is asked for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any


def repeated_in(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def told_apart(names: Iterable[str]) -> list[str]:
    """Names that are not repeated, in order."""
    counts = Counter(names)
    return [name for name, count in counts.items() if count == 1]


def without_repeated(table: Any) -> tuple[Any, frozenset[str]]:
    """A pandas frame, or a table of Arrow, without the columns that share a name; and these names."""
    names: Sequence[str] = list(table.columns) if hasattr(table, "iloc") else table.schema.names
    repeated = repeated_in(names)
    places = [place for place, name in enumerate(names) if name not in repeated]
    return (table.iloc[:, places] if hasattr(table, "iloc") else table.select(places)), repeated


def header_of(path: str, delimiter: str) -> list[str]:
    """The names in the first line of a CSV file."""
    import csv
    import gzip
    from io import TextIOWrapper

    from surelift.logs.sources.places import raw

    stream = gzip.GzipFile(fileobj=raw(path)) if path.endswith(".gz") else raw(path)
    with TextIOWrapper(stream, encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file, delimiter=delimiter), [])
