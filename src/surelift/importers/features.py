"""The shared features of Vowpal Wabbit's events, named by namespace and feature: ``User.country``.

Text stays text and numbers stay numbers; ``country=FR``, as VW's text writes a category, is the text FR of the feature
country.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

Features = Iterable[tuple[str, Any]]
_DEEPEST = 20
_OF_ACTIONS = ("_multi", "_slots")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


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
            elif _NUMBER.fullmatch(value):
                yield f"{prefix}{name}", int(value) if value.lstrip("+-").isdecimal() else float(value)
            else:
                yield f"{prefix}{name}", value


def _category(name: str) -> tuple[str, str]:
    feature, _, category = name.partition("=")
    return feature, category
