"""The numbers of rounds that a question's plan may depend on."""

from collections.abc import Callable, Mapping

from surelift.errors import UsageError
from surelift.statistics.splits import Key, KeyValue

RoundCount = Callable[[], int]
Counts = Callable[[Key], Mapping[KeyValue, int]]
"""From a key to the rounds of each of its values."""


def whole_count(counts: Counts | None) -> RoundCount:
    return no_count if counts is None else lambda: counts(())[()]


def no_count() -> int:
    raise UsageError("a growing log has no number of rounds to plan for; use the default grid, or name a smoothing.")
