"""What users write in a declaration, checked and in one form."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surelift.errors import UsageError, is_number, printed, whole
from surelift.logs.embeddings import ActionKinds, Embedding, Known, embedding_from


def labels(actions: Iterable[Any] | None) -> tuple[Any, ...] | None:
    if actions is None:
        return None
    if isinstance(actions, str):
        raise UsageError(f"actions must list one label per action, but is the string {actions!r}.")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in actions)
    if not labels or not all(isinstance(label, str | int | float) for label in labels):
        raise UsageError("actions must list one label per action, each a string or a number.")
    inexact = [label for label in labels if isinstance(label, float) and not abs(label) < 2.0**53]
    if inexact:
        raise UsageError(
            f"actions= lists {inexact[0]!r}, a float that cannot tell whole numbers apart; use integers or text."
        )
    if len(set(labels)) != len(labels) or len({str(label) for label in labels}) != len(labels):
        raise UsageError("actions= lists a label twice; labels must be unique.")
    return labels


def count(number: Any, role: str) -> int | str | None:
    return number if isinstance(number, str) else whole_number(number, role, besides=", or a column")


def whole_number(number: Any, role: str, besides: str = "") -> int | None:
    return None if number is None else whole(role, number, besides=besides)


def probability(number: Any, role: str) -> str | float | None:
    if number is None or isinstance(number, str):
        return number
    if not (is_number(number) and 0.0 < number <= 1.0):
        raise UsageError(f"{role} must lie in (0, 1], or name a column, but is {printed(number)}.")
    return float(number)


def two_numbers(reward_range: Any) -> tuple[float, float]:
    try:
        low, high = reward_range
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"reward_range must be two numbers, (low, high), but is {printed(reward_range)}.") from error


def logging(columns: Any) -> str | tuple[str, ...] | None:
    if columns is None or isinstance(columns, str):
        return columns
    if isinstance(columns, Sequence) and columns:
        return tuple(columns)
    raise UsageError(
        f"logging must be a column, or a list with one column per action, but is a {type(columns).__name__}."
    )


def as_tuple(values: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def assumptions(assumes: Any) -> tuple[str, ...]:
    if isinstance(assumes, str) or not all(isinstance(text, str) for text in assumes):
        raise UsageError("assumes must be a list of strings, one per assumption.")
    return tuple(assumes)


def embedding(value: Any) -> Embedding | None:
    embedding: Embedding | None = from_description(embedding_from, value, "embedding= is not a valid embedding")
    if embedding is not None and not isinstance(embedding, ActionKinds | Known):
        raise UsageError(f"embedding= must come from surelift.embeddings, but is a {type(value).__name__}.")
    return embedding


def from_description(build: Callable[[Mapping[str, Any]], Any], value: Any, problem: str) -> Any:
    """Build the object a mapping describes; return anything else unchanged."""
    if not isinstance(value, Mapping):
        return value
    try:
        return build(value)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{problem} ({error}).") from error
