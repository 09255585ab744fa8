"""Vowpal Wabbit's events as rows, with their shared features as columns by namespace and feature: ``User.country``.

Text stays text and numbers stay numbers; ``country=FR``, as VW's text writes a category, is the text FR in the column
country. A feature that an event lacks is null.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.errors import UsageError
from surelift.importers.events import NO_COLUMNS, Events, Found, Line, Names, Row, numbered, to_table
from surelift.importers.values import valid_text

Features = Iterable[tuple[str, Any]]
_DEEPEST = 20
_OF_ACTIONS = ("_multi", "_slots")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MOST = 1_000
"""Columns of features, if they are not named."""
_MOST_NAMES = 100_000
_SEVERAL = object()
_LARGEST = 1 << 63
_WHOLE, _NUMBER, _NUMBERS = "a whole number", "a number", "a list of numbers"
_TYPES = {
    _WHOLE: pa.int64(), _NUMBER: pa.float64(), "text": pa.string(), "true or false": pa.bool_(),
    _NUMBERS: pa.list_(pa.float64()),
}  # fmt: skip


@dataclass(frozen=True)
class EventFormat:
    """How the lines of a file become events, and each event rows and features."""

    what: str
    schema: pa.Schema
    events: Callable[[Iterable[Line]], Iterator[tuple[int, bytes, Any]]]
    """Events with the number and the text of their first line; an unreadable one is what is wrong with it."""
    rows: Callable[[Any, str], list[Row] | str]  # the rows of an event at this place of a file, or what is wrong with it
    features: Callable[[Any], Features]
    ends: Callable[[bytes], bool] | None = None
    left_out: frozenset[str] = frozenset()  # what ``rows`` says of events that are no decisions

    def parse(self, lines: Sequence[Line], path: str, report: Found, *, wanted: pa.Schema = NO_COLUMNS) -> ArrowTable:
        """A table of the rows, with those features of their context that are ``wanted``."""
        rows, columns = list[Row](), [(column.name, column.type) for column in wanted]
        for number, first, event in self.events(lines):
            found = event if isinstance(event, str) else self.rows(event, f"{path}:{number}")
            if not isinstance(found, str):
                values = self.features_by_name(event) if columns else {}
                context = [_as(values.get(name), kind) for name, kind in columns]
                rows += [(*row, *context) for row in found]
            elif found in self.left_out:
                report.left_out[found] += 1
            else:
                report.breaks(found, path, number, first)
        return to_table(rows, pa.schema([*self.schema, *wanted]))

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(self.schema.names)

    def features_by_name(self, event: Any) -> dict[str, Any]:
        """A name that a column of every event has begins with ``c.``."""
        values: dict[str, Any] = {}
        for feature, value in () if isinstance(event, str) else self.features(event):
            name = valid_text(f"c.{feature}" if feature in self._own else feature)
            values[name] = _SEVERAL if name in values else value
        return values


def events_with_contexts(files: Sequence[str], form: EventFormat, named: Names | None) -> Events:
    """The events, with their shared features as columns; of very many, those that are ``named``."""
    if named is not None and (isinstance(named, str) or not all(isinstance(name, str) for name in named)):
        raise UsageError("contexts must be a list of features, named like columns: ['User.country', 'User.age'].")
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter, {name: Counter() for name in named or ()})
    first: dict[tuple[str, str], str] = {}
    for path in files:
        for number, _, event in form.events(numbered(path)):
            for name, value in form.features_by_name(event).items():
                if value is not None and (name in kinds or len(kinds) < _MOST_NAMES):
                    kind, seen = _kind(value), kinds[name]
                    if kind not in seen:
                        first[name, kind] = f"line {number:,} of {path}"
                    seen[kind] += 1
    columns: dict[str, Any] = {}
    unread: dict[str, str] = {}
    for name, seen in kinds.items():
        # Whole numbers and others are numbers; other mixtures are no column.
        kind = _NUMBER if seen.keys() == {_WHOLE, _NUMBER} else " and ".join(seen)
        if seen and kind not in _TYPES:
            counts = [f"{kind} in {count:,} (the first in {first[name, kind]})" for kind, count in seen.most_common()]
            unread[name] = f"the feature {name!r} is no column: it is {' and '.join(counts)}. Write it once, as one type."
        elif seen and len(kinds) > MOST and name not in (named or ()):
            count = f"{len(kinds):,}" if len(kinds) < _MOST_NAMES else f"{_MOST_NAMES:,} or more"
            why = f"the events have {count} features, and more than {MOST:,} become columns only if they are named"
            unread[name] = f"the feature {name!r} is not read: {why}: contexts=[{name!r}, ...]."
        elif seen:
            columns[name] = _TYPES[kind]
    return Events(list(files), form.what, form.schema, form.parse, form.ends, pa.schema(columns), unread)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return _WHOLE if isinstance(value, int) and abs(value) < _LARGEST else _NUMBER
    if isinstance(value, list) and all(isinstance(part, int | float) and not isinstance(part, bool) for part in value):
        return _NUMBERS
    return "given several times" if value is _SEVERAL else "a list of other things, or nested too deeply"


def _as(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [_as(part, kind.value_type) for part in value]
    if pa.types.is_string(kind):
        return valid_text(value)
    if not pa.types.is_floating(kind):
        return value
    try:
        return float(value)
    except OverflowError:  # of a very large integer
        return float("inf") if value > 0 else float("-inf")


def of_json(context: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The features of ``c``; those of actions and slots are not the context's.

    >>> list(of_json({"User": {"age": 31, "country=FR": 1}, "new": True, "_multi": [{}]}))
    [('User.age', 31), ('User.country', 'FR'), ('new', True)]
    """
    for key, value in context.items() if isinstance(context, dict) else ():
        if not depth and key in _OF_ACTIONS:
            continue
        name = f"{prefix}{key}"
        parts = [value] if isinstance(value, dict) else value
        if isinstance(parts, list) and parts and all(isinstance(part, dict) for part in parts) and depth < _DEEPEST:
            for place, part in enumerate(parts):
                yield from of_json(part, f"{name}." if place == 0 else f"{name}.{place}.", depth + 1)
        else:
            yield _category(name) if value == 1 and "=" in key else (name, value)


def of_text(features: str) -> Iterator[tuple[str, Any]]:
    """The features of VW's text, from the first bar on.

    >>> list(of_text("|User country=FR age:31 new |Page pos:0.5"))
    [('User.country', 'FR'), ('User.age', 31), ('User.new', 1), ('Page.pos', 0.5)]
    """
    for namespace in features.split("|")[1:]:
        words = namespace.split()
        prefix = f"{words.pop(0).partition(':')[0]}." if namespace[:1].strip() else ""
        for word in words:
            name, colon, value = word.partition(":")
            if not colon:
                yield _category(f"{prefix}{name}") if "=" in name else (f"{prefix}{name}", 1)
            elif _DECIMAL.fullmatch(value):
                yield f"{prefix}{name}", int(value) if value.lstrip("+-").isdecimal() else float(value)
            else:
                yield f"{prefix}{name}", value


def _category(name: str) -> tuple[str, str]:
    feature, _, category = name.partition("=")
    return feature, category
