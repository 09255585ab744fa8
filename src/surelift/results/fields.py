"""The fields of a dataclass as plain values: dicts for machines, cells for tables."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

# The metadata of a field that is left out of dicts.
OMITTED: dict[str, str | None] = {"key": None}


def dict_key(name: str) -> dict[str, str | None]:
    """The metadata of a field that has another name in dicts."""
    return {"key": name}


def fields_dict(value: Any) -> dict[str, Any]:
    """Every field except ``provenance``, which belongs to the certificate."""
    keys = {field.name: field.metadata.get("key", field.name) for field in fields(value) if field.name != "provenance"}
    return {key: plain_value(getattr(value, name)) for name, key in keys.items() if key is not None}


def plain_value(value: Any) -> Any:
    """As in JSON: results, dataclasses and mappings become dicts, tuples become lists."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return fields_dict(value)
    if isinstance(value, Mapping):
        return {name: plain_value(entry) for name, entry in value.items()}
    return [plain_value(entry) for entry in value] if isinstance(value, tuple | list) else value


def value_at(content: Any, path: str) -> Any:
    """The value at a path such as "plain.lower" or "sizes.0".

    >>> value_at({"plain": {"lower": 0.1}, "sizes": [3, 4]}, "sizes.0")
    3
    """
    for step in path.split("."):
        content = content[int(step)] if isinstance(content, list) else content[step]
    return content


def cell_value(value: Any) -> Any:
    """A value for one cell: a list becomes text."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value
