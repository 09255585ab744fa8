"""Events as Vowpal Wabbit's RL client library and Azure Personalizer log them, one JSON object per line.

What they share: ``c`` holds the context; ``pdrop`` is the probability with which an event was dropped; events marked
``_skipLearn`` were never shown; and lines with a reward but no decision are observations that came too late.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, TypeGuard

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.importers.contexts import Features, of_json, row_of, values_of
from surelift.importers.events import Found, to_table

NONE = pa.schema([])
SKIPPED = "events marked _skipLearn, whose action was never shown"
DANGLING = "rewards without a decision (dangling observations)"

UNEQUAL_SLOTS = "events do not have one entry in _outcomes for each slot in _slots"

Row = tuple[Any, ...]
Read = Callable[[dict[str, Any], str], list[Row] | str]
"""From an event and its location to its rows, or what is wrong with it."""


def parse_json(
    lines: list[tuple[int, bytes]], path: str, report: Found, *, read: Read, schema: pa.Schema, wanted: pa.Schema = NONE
) -> ArrowTable:
    """A table of the rounds, with the features of their context that are ``wanted``."""
    rows: list[Row] = []
    taken = frozenset(schema.names)
    for number, line in lines:
        text = line.strip()
        if not text:
            continue
        event: Any = None
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            found: list[Row] | str = "lines are not JSON"
        else:
            reason = _left_out(event)
            if reason in (SKIPPED, DANGLING):
                report.left_out[reason] += 1
                continue
            found = reason or read(event, f"{path}:{number}")
        if isinstance(found, str):
            report.breaks(found, path, number, text.decode(errors="replace"))
            continue
        context = row_of(values_of(of_json(event.get("c")), taken), wanted) if len(wanted) else ()
        rows += [(*row, *context) for row in found]
    return to_table(rows, pa.schema([*schema, *wanted]))


def json_features(line: bytes) -> Features:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    return of_json(event.get("c")) if isinstance(event, dict) else ()


def keep_probability(event: dict[str, Any], sampled: bool) -> float | str:
    """One minus ``pdrop``, or what is wrong with it; ``sampled`` says whether events may have been dropped."""
    dropped = event.get("pdrop", 0.0)
    if not (is_number(dropped) and 0.0 <= dropped < 1.0):
        return "events have a pdrop outside [0, 1)"
    if dropped and not sampled:
        return "events have a pdrop that the first scan of the file did not find; write it without escapes"
    return 1.0 - dropped


def lacks_slots(event: dict[str, Any]) -> bool:
    """Whether the context lists another number of slots than there are outcomes."""
    context = event.get("c")
    listed = context.get("_slots") if isinstance(context, dict) else None
    return isinstance(listed, list) and len(listed) != len(event["_outcomes"])


def text_or_null(value: Any) -> str | None:
    """As text, without unpaired surrogates, which Arrow cannot store."""
    return None if value is None else str(value).encode(errors="replace").decode()


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _left_out(event: Any) -> str | None:
    """Why a line is not read, if it is not."""
    if not isinstance(event, dict):
        return "lines are not JSON objects"
    skipped = event.get("_skipLearn", False)
    if not isinstance(skipped, bool):
        return "events have a _skipLearn that is neither true nor false"
    if skipped:
        return SKIPPED
    decision = any(name in event for name in ("_label_cost", "a", "p", "_outcomes", "_label_ca"))
    return DANGLING if not decision and ("RewardValue" in event or "DanglingReward" in event) else None
