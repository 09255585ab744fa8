"""The values of events in JSON."""

import json
import sys
from collections.abc import Iterable
from typing import Any, TypeGuard


def json_object(line: bytes) -> dict[str, Any] | str:
    """A JSON object, or what is wrong with it."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return "lines are not JSON"
    return content if isinstance(content, dict) else "lines are not JSON objects"


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def fault_of_numbers(of: dict[str, Any], names: Iterable[str], where: str = "") -> str:
    """Name the first of these that is no number."""
    absent = next((name for name in names if not is_number(of.get(name))), None)
    return f"events have no number in {absent}{where}, which has no default" if absent else ""


def fault_of_lists(of: dict[str, Any], actions: str, shares: str) -> str:
    """Check that a list of actions has a list of probabilities beside it."""
    listed, numbers = of.get(actions), of.get(shares)
    if not isinstance(listed, list) or not isinstance(numbers, list) or len(listed) != len(numbers):
        return f"events have no lists {actions} and {shares} of equal length"
    if not all(map(is_number, numbers)):
        return f"events have an entry in {shares} that is not a number"
    return ""


def valid_text(text: str) -> str:
    """Replace unpaired surrogates, which Arrow cannot store."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def text_or_null(value: Any) -> str | None:
    return None if value is None else valid_text(str(value))
