"""Vowpal Wabbit's conditional contextual bandits: pages of several slots, filled one after another, as ``Logs``.

One JSON object per line, as logged by VW's RL client library; ``_outcomes`` has an entry for each slot.

    {"Timestamp": "...", "c": {"_multi": [{...}, {...}, {...}], "_slots": [{"_id": "s1"}, {"_id": "s2"}]},
     "_outcomes": [{"_label_cost": 0, "_id": "s1", "_a": [1, 0, 2], "_p": [0.8, 0.1, 0.1]},
                   {"_label_cost": -1, "_id": "s2", "_a": [2, 0], "_p": [0.9, 0.1]}], "pdrop": 0.5}

``_a`` lists the actions that were left for the slot, numbered from 0, with the one that was shown first; ``_p`` holds their
probabilities given the slots before.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from surelift.importers.events import Imported, Paths, files_of
from surelift.importers.json_lines import (
    UNEQUAL_SLOTS,
    Row,
    is_number,
    keep_probability,
    lacks_slots,
    text_or_null,
)
from surelift.importers.vw import has_dropped_events, json_events
from surelift.importers.vw_lines import REPLACED, SLATES
from surelift.policies.readers import Column
from surelift.policies.resolve import chosen
from surelift.policies.wrappers import Given
from surelift.traits.logs import Logs

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
    paths: Paths,
    *,
    contexts: Sequence[str] | None = None,
    reward_range: tuple[float, float] = (0, 1),
    rounds_before_sampling: int | None = None,
) -> Imported:
    """A log of pages with several slots (CCB), in dsjson: one row per slot, a page as a cluster.

    The candidates fill the slots with the first action that is left, and with any that is left, uniformly. The reward
    of a slot is minus its cost. A candidate acts from the first slot on, and a slot's reward must not depend on later
    ones. The shared features of a page are columns of all its slots.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
        rounds_before_sampling: If events were dropped with probability ``pdrop``, their number before that.
    """
    files = files_of(paths)
    sampled = rounds_before_sampling is not None or has_dropped_events(files)
    source = json_events(files, "dsjson with slots (CCB)", SCHEMA, partial(_page, sampled=sampled), contexts)
    dropped: dict[str, Any] = {
        "keep_probability": "keep_probability", "rounds_before_sampling": rounds_before_sampling,
    }  # fmt: skip
    logs = Logs(
        source, reward="reward", propensity="propensity", action="action", logging="logging", cluster="event",
        cluster_size="slots", position="slot", reward_range=reward_range, contexts=contexts,
        **(dropped if sampled else {}),
    )  # fmt: skip
    return Imported(logs, {"first": chosen("first_action"), "uniform": Given(Column("uniform"))})


def _page(event: dict[str, Any], location: str, *, sampled: bool) -> list[Row] | str:
    """A row for each slot, or what is wrong with the event."""
    slots = event.get("_outcomes")
    if not isinstance(slots, list) or not slots or not all(isinstance(slot, dict) for slot in slots):
        return "events have no slots in _outcomes; read those of one action by the format dsjson"
    if "_label_cost" in event:
        return SLATES
    if lacks_slots(event):
        return UNEQUAL_SLOTS
    kept = keep_probability(event, sampled)
    if isinstance(kept, str):
        return kept
    wrong = next(filter(None, map(_fault, slots)), None)
    if wrong is not None:
        return wrong
    shown = [slot["_a"][0] for slot in slots]
    if any(action in slot["_a"] for place, slot in enumerate(slots) for action in shown[:place]):
        return "events offer an action again that an earlier slot shows"
    name = text_or_null(event.get("EventId") or slots[0].get("_id") or location)
    return list(_slots(slots, event.get("c"), (name, len(slots), kept, text_or_null(event.get("Timestamp")))))


def _fault(slot: dict[str, Any]) -> str | None:
    actions, shares = slot.get("_a"), slot.get("_p")
    if not is_number(slot.get("_label_cost")):
        return "events have a slot without a number in _label_cost"
    if slot.get("_original_label_cost") not in (slot["_label_cost"], None):
        return REPLACED
    if not isinstance(actions, list) or not isinstance(shares, list) or not actions or len(actions) != len(shares):
        return "events have a slot without lists _a and _p of equal length"
    whole = all(isinstance(action, int) and not isinstance(action, bool) and 0 <= action < MOST for action in actions)
    if not whole or len(set(actions)) != len(actions):
        return "events have a slot whose _a does not list actions, from 0, once each"
    return None if all(map(is_number, shares)) else "events have a slot with an entry in _p that is not a number"


def _slots(slots: list[dict[str, Any]], context: Any, about: tuple[str | None, int, float, str | None]) -> Iterator[Any]:
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
