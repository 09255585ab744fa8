"""Vowpal Wabbit's conditional contextual bandits: pages of several slots, filled one after another, as ``Logs``.

One JSON object per line, as logged by VW's RL client library; ``_outcomes`` has an entry for each slot.

    {"Timestamp": "...", "c": {"_multi": [{...}, {...}, {...}], "_slots": [{"_id": "s1"}, {"_id": "s2"}]},
     "_outcomes": [{"_label_cost": 0, "_id": "s1", "_a": [1, 0, 2], "_p": [0.8, 0.1, 0.1]},
                   {"_label_cost": -1, "_id": "s2", "_a": [2, 0], "_p": [0.9, 0.1]}], "pdrop": 0.5}

``_a`` lists the actions that were left for the slot, numbered from 0, with the one that was shown first; ``_p`` holds their
probabilities given the slots before.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.importers.events import Events, Found, Imported, Paths, files_of, to_table
from surelift.importers.vw import has_dropped_events
from surelift.importers.vw_lines import SKIPPED, is_number, valid_text
from surelift.logs.logs import Logs
from surelift.policies.readers import Column
from surelift.policies.resolve import chosen
from surelift.policies.wrappers import Given

SCHEMA = pa.schema(
    [
        ("reward", pa.float64()), ("propensity", pa.float64()), ("action", pa.int64()),
        ("logging", pa.list_(pa.float64())), ("uniform", pa.list_(pa.float64())), ("first_action", pa.int64()),
        ("event", pa.string()), ("slot", pa.int64()), ("slots", pa.int64()), ("keep_probability", pa.float64()),
        ("time", pa.string()),
    ]
)  # fmt: skip

MOST = 1 << 20
"""Actions on a page."""


def ccb(
    paths: Paths, *, reward_range: tuple[float, float] = (0, 1), rounds_before_sampling: int | None = None
) -> Imported:
    """A log of pages with several slots, in dsjson, gzipped or not: one row per slot, a page as a cluster.

    The candidates fill the slots with the first action that is left, and with any that is left, uniformly. The reward of a
    slot is minus its cost. If events were dropped with probability ``pdrop``, ``rounds_before_sampling`` is their number
    before that. A candidate acts from the first slot on, and a slot's reward must not depend on later ones.
    """
    files = files_of(paths)
    sampled = rounds_before_sampling is not None or has_dropped_events(files)
    source = Events(files, what="dsjson with slots (CCB)", schema=SCHEMA, parse=partial(parse, sampled=sampled))
    dropped: dict[str, Any] = {
        "keep_probability": "keep_probability", "rounds_before_sampling": rounds_before_sampling,
    }  # fmt: skip
    logs = Logs(
        source, reward="reward", propensity="propensity", action="action", logging="logging", cluster="event",
        cluster_size="slots", position="slot", reward_range=reward_range, **(dropped if sampled else {}),
    )  # fmt: skip
    return Imported(logs, {"first": chosen("first_action"), "uniform": Given(Column("uniform"))})


def parse(lines: list[tuple[int, bytes]], path: str, report: Found, *, sampled: bool) -> ArrowTable:
    rows: list[tuple[Any, ...]] = []
    for number, line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            report.breaks("lines are not JSON", path, number, text.decode(errors="replace"))
            continue
        read = _page(event, f"{path}:{number}", sampled)
        if isinstance(read, str):
            report.breaks(read, path, number, text.decode(errors="replace"))
        elif read is None:
            report.left_out[SKIPPED] += 1
        else:
            rows += read
    return to_table(rows, SCHEMA)


def _page(event: Any, line: str, sampled: bool) -> list[tuple[Any, ...]] | str | None:
    """A row for each slot, what is wrong with the event, or None if it was never shown."""
    slots = event.get("_outcomes") if isinstance(event, dict) else None
    if not isinstance(slots, list) or not slots or not all(isinstance(slot, dict) for slot in slots):
        return "events have no slots in _outcomes; read those of one action by the format dsjson"
    if event.get("_skipLearn", False) is True:
        return None
    dropped = event.get("pdrop", 0.0)
    if not (is_number(dropped) and 0.0 <= dropped < 1.0):
        return "events have a pdrop outside [0, 1)"
    if dropped and not sampled:
        return "events have a pdrop that the first scan of the file did not find; write it without escapes"
    wrong = next(filter(None, map(_fault, slots)), None)
    if wrong is not None:
        return wrong
    shown = [slot["_a"][0] for slot in slots]
    if any(action in slot["_a"] for place, slot in enumerate(slots) for action in shown[:place]):
        return "events offer an action again that an earlier slot shows"
    name = event.get("EventId") or slots[0].get("_id") or line
    time = event.get("Timestamp")
    about = valid_text(name), len(slots), 1.0 - dropped, None if time is None else valid_text(time)
    return list(_slots(slots, event.get("c"), about))


def _fault(slot: dict[str, Any]) -> str | None:
    actions, shares = slot.get("_a"), slot.get("_p")
    if not is_number(slot.get("_label_cost")):
        return "events have a slot without a number in _label_cost"
    if not isinstance(actions, list) or not isinstance(shares, list) or not actions or len(actions) != len(shares):
        return "events have a slot without lists _a and _p of equal length"
    whole = all(isinstance(action, int) and not isinstance(action, bool) and 0 <= action < MOST for action in actions)
    if not whole or len(set(actions)) != len(actions):
        return "events have a slot whose _a does not list actions, from 0, once each"
    return None if all(map(is_number, shares)) else "events have a slot with an entry in _p that is not a number"


def _slots(slots: list[dict[str, Any]], context: Any, about: tuple[str, int, float, str | None]) -> Iterator[Any]:
    listed = context.get("_multi") if isinstance(context, dict) else None
    count = max(max(slot["_a"]) for slot in slots) + 1
    if isinstance(listed, list):
        count = max(count, len(listed))
    name, size, kept, time = about
    for place, slot in enumerate(slots):
        left, logging, uniform = slot["_a"], [0.0] * count, [0.0] * count
        for action, share in zip(left, slot["_p"], strict=True):
            logging[action], uniform[action] = float(share), 1.0 / len(left)
        yield (
            -float(slot["_label_cost"]) + 0.0, float(slot["_p"][0]), left[0], logging, uniform, min(left), name, place,
            size, kept, time,
        )  # fmt: skip
