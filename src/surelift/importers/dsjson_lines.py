"""Vowpal Wabbit's dsjson: one JSON object per line, as logged by its RL client library and Azure Personalizer.

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "Timestamp": "...", "EventId": "...",
     "a": [2, 1, 3], "p": [0.8, 0.1, 0.1], "c": {...}, "pdrop": 0.5, "_skipLearn": true}

``a`` ranks the actions, numbered from 1, with the logged one first; ``p`` holds their probabilities in the same order.
"""

import json
import math
from typing import Any, TypeGuard

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.importers.events import Found

SCHEMA = pa.schema(
    [
        ("reward", pa.float64()), ("propensity", pa.float64()), ("action", pa.int64()),
        ("logging", pa.list_(pa.float64())), ("first_action", pa.int64()), ("keep_probability", pa.float64()),
        ("time", pa.string()), ("event", pa.string()),
    ]
)  # fmt: skip
SKIPPED = "events marked _skipLearn, whose action was never shown"
DANGLING = "rewards without a decision (dangling observations)"


def parse(lines: list[tuple[int, bytes]], path: str, report: Found, *, sampled: bool) -> ArrowTable:
    """A table of the decisions; ``sampled`` says whether events may have been dropped."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for number, line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            report.breaks("lines are not JSON", path, number, text.decode(errors="replace"))
            continue
        read = _round(event, sampled)
        if isinstance(read, str):
            report.breaks(read, path, number, text.decode(errors="replace"))
        elif read is None:
            report.left_out[SKIPPED if "_skipLearn" in event else DANGLING] += 1
        else:
            for name, value in zip(SCHEMA.names, read, strict=True):
                columns[name].append(value)
    return pa.table(columns, schema=SCHEMA)


def _round(event: Any, sampled: bool) -> tuple[Any, ...] | str | None:
    """The values of a round, a description of what is wrong with it, or None if it is not a decision."""
    if not isinstance(event, dict):
        return "lines are not JSON objects"
    if "_outcomes" in event or "_slates" in event or "_label_ca" in event:
        return "events have several slots or a continuous action (CCB, slates, CATS), which is not supported"
    skipped = event.get("_skipLearn", False)
    if not isinstance(skipped, bool):
        return "events have a _skipLearn that is neither true nor false"
    if skipped:
        return None
    if "_label_cost" not in event and "a" not in event and "p" not in event:
        return None if "RewardValue" in event or "DanglingReward" in event else "events have no _label_cost"
    cost, propensity = event.get("_label_cost"), event.get("_label_probability")
    if not _number(cost):
        return "events have no number in _label_cost"
    if not _number(propensity):
        return "events have no number in _label_probability, which has no default"
    ranked, shares = event.get("a"), event.get("p")
    if not isinstance(ranked, list) or not isinstance(shares, list) or len(ranked) != len(shares):
        return "events have no lists a and p of equal length"
    if not all(_number(share) for share in shares):
        return "events have an entry in p that is not a number"
    whole = all(isinstance(action, int) and not isinstance(action, bool) for action in ranked)
    if not ranked or not whole or sorted(ranked) != list(range(1, len(ranked) + 1)):
        return "events do not rank the actions 1 to K in a"
    taken = event.get("_label_Action", ranked[0])
    if not (isinstance(taken, int) and 1 <= taken <= len(ranked)):
        return "events have an action in _label_Action that is not in a"
    dropped = event.get("pdrop", 0.0)
    if not (_number(dropped) and 0.0 <= dropped < 1.0):
        return "events have a pdrop outside [0, 1)"
    if dropped and not sampled:
        return "events have a pdrop that the first scan of the file did not find; write it without escapes"
    logging = [0.0] * len(ranked)
    for action, share in zip(ranked, shares, strict=True):
        logging[action - 1] = float(share)
    time, name = event.get("Timestamp"), event.get("EventId")
    return (
        -float(cost) + 0.0, float(propensity), taken - 1, logging, 0, 1.0 - dropped,
        None if time is None else _text(time), None if name is None else _text(name),
    )  # fmt: skip


def _number(value: Any) -> TypeGuard[float]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _text(value: Any) -> str:
    """Replace unpaired surrogates, which Arrow cannot store."""
    return str(value).encode(errors="replace").decode()
