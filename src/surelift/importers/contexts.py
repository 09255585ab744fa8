"""The shared features of Vowpal Wabbit's events as columns, named by namespace and feature: ``User.country``.

Text stays text and numbers stay numbers; ``country=FR``, as VW's text writes a category, is the text FR in the column
country. A feature that an event lacks is null.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from surelift.errors import UsageError
from surelift.importers.events import Events, numbered

MOST = 1_000
"""Columns of features, if they are not named."""
_MOST_NAMES = 100_000
_DEEPEST = 20
_OF_ACTIONS = ("_multi", "_slots")
_SEVERAL = object()
_LARGEST = 1 << 63
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

WHOLE, NUMBER = "a whole number", "a number"
_TYPES = {
    WHOLE: pa.int64(), NUMBER: pa.float64(), "text": pa.string(), "true or false": pa.bool_(),
    "a list of numbers": pa.list_(pa.float64()),
}  # fmt: skip
NONE = pa.schema([])

Features = Iterable[tuple[str, Any]]


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
        prefix = ""
        if namespace[:1].strip():
            prefix = f"{words.pop(0).partition(':')[0]}."
        for word in words:
            name, colon, value = word.partition(":")
            if not colon:
                yield _category(f"{prefix}{name}") if "=" in name else (f"{prefix}{name}", 1)
            elif _NUMBER.fullmatch(value):
                yield f"{prefix}{name}", int(value) if value.lstrip("+-").isdecimal() else float(value)
            else:
                yield f"{prefix}{name}", value


def _category(name: str) -> tuple[str, str]:
    feature, _, category = name.partition("=")
    return feature, category


def row_of(features: Features, schema: pa.Schema, wanted: pa.Schema) -> tuple[Any, ...]:
    """Those of the features that are ``wanted``, beside the columns of ``schema``."""
    if not len(wanted):
        return ()
    values = _by_name(features, frozenset(schema.names))
    return tuple(_as(values.get(column.name), column.type) for column in wanted)


def _by_name(features: Features, taken: frozenset[str]) -> dict[str, Any]:
    """The features by name; a name that is ``taken`` by another column begins with ``c.``."""
    values: dict[str, Any] = {}
    for name, value in features:
        name = _valid(f"c.{name}" if name in taken else name)
        values[name] = _SEVERAL if name in values else value
    return values


def events_with_contexts(
    files: Sequence[str], what: str, schema: pa.Schema, parse: Callable[..., Any], features_of: Callable[[bytes], Features],
    named: Sequence[str] | None, ends: Callable[[bytes], bool] | None = None,
) -> Events:  # fmt: skip
    """The events, with their shared features as columns; of very many, those that are ``named``."""
    if named is not None and (isinstance(named, str) or not all(isinstance(name, str) for name in named)):
        raise UsageError("contexts must be a list of features, named like columns: ['User.country', 'User.age'].")
    kinds: dict[str, Counter[str]] = {name: Counter() for name in named or ()}
    first: dict[tuple[str, str], str] = {}
    taken = frozenset(schema.names)
    for path in files:
        for number, line in numbered(path):
            for name, value in _by_name(features_of(line), taken).items():
                if value is None or (name not in kinds and len(kinds) >= _MOST_NAMES):
                    continue
                kind = _kind(value)
                seen = kinds.setdefault(name, Counter())
                if kind not in seen:
                    first[name, kind] = f"line {number:,} of {path}"
                seen[kind] += 1
    few = len(kinds) <= MOST
    columns: dict[str, Any] = {}
    unread: dict[str, str] = {}
    for name, seen in kinds.items():
        if not seen:
            continue
        # Whole numbers and others are numbers; other mixtures are no column.
        found = NUMBER if seen.keys() == {WHOLE, NUMBER} else " and ".join(seen)
        if found not in _TYPES:
            counts = [f"{kind} in {count:,} (the first in {first[name, kind]})" for kind, count in seen.most_common()]
            unread[name] = (
                f"the feature {name!r} is no column: of the events that have it, it is {' and '.join(counts)}. Write it "
                "once, as one type."
            )
        elif not few and name not in (named or ()):
            count = f"{len(kinds):,}" if len(kinds) < _MOST_NAMES else f"{_MOST_NAMES:,} or more"
            unread[name] = (
                f"the feature {name!r} is not read: the events have {count} features, and more than {MOST:,} become columns "
                f"only if you name those you need: contexts=[{name!r}, ...]."
            )
        else:
            columns[name] = _TYPES[found]
    return Events(files, what=what, schema=schema, parse=parse, ends=ends, contexts=pa.schema(columns), unread=unread)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return WHOLE if isinstance(value, int) and abs(value) < _LARGEST else NUMBER
    if isinstance(value, list) and all(isinstance(part, int | float) and not isinstance(part, bool) for part in value):
        return "a list of numbers"
    return "given several times" if value is _SEVERAL else "a list of other things, or nested too deeply"


def _as(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_string(kind):
        return _valid(value)
    if pa.types.is_floating(kind):
        return _float(value)
    return [_float(part) for part in value] if pa.types.is_list(kind) else value


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _valid(text: str) -> str:
    """Replace unpaired surrogates, which Arrow cannot store."""
    return text if text.isascii() else text.encode(errors="replace").decode()
