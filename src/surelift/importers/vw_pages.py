"""Vowpal Wabbit's pages of several slots: conditional contextual bandits (CCB), and slates, as ``Logs``.

One JSON object per line, as logged by VW's RL client library; ``_outcomes`` has an entry for each slot. In CCB slots are
filled one after another, and each has its own cost.

    {"Timestamp": "...", "c": {"_multi": [{...}, {...}, {...}], "_slots": [{"_id": "s1"}, {"_id": "s2"}]},
     "_outcomes": [{"_label_cost": 0, "_id": "s1", "_a": [1, 0, 2], "_p": [0.8, 0.1, 0.1]},
                   {"_label_cost": -1, "_id": "s2", "_a": [2, 0], "_p": [0.9, 0.1]}], "pdrop": 0.5}

``_a`` lists the actions that were left for the slot, numbered from 0, with the one that was shown first; ``_p`` holds their
probabilities given the slots before. Slates have actions of their own in every slot, numbered from 0 within it, drawn
independently of the other slots, and one cost for the whole page.

    {"_label_cost": -1, "EventId": "...", "_outcomes": [{"_a": [1, 0], "_p": [0.8, 0.2]}, {"_a": [0, 1, 2], "_p": [...]}],
     "c": {"_multi": [{"_slot_id": 0}, {"_slot_id": 0}, {"_slot_id": 1}, ...], "_slots": [{...}, {...}]}}
"""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surelift.errors import UsageError
from surelift.importers.events import Events, Imported, Names, Paths, Range, files_of, is_number
from surelift.importers.slate_rows import slates
from surelift.importers.vw_json import (
    REPLACED,
    SLATES,
    Row,
    has_dropped_events,
    is_index,
    json_log,
    parse_json,
    text_or_null,
)
from surelift.importers.vw_predictions import PredictedProbabilities, predictions
from surelift.logs.batch import Needs
from surelift.policies.resolve import as_policy, chosen
from surelift.traits.logs import Logs

CCB = pa.schema({
    "reward": pa.float64(), "propensity": pa.float64(), "action": pa.int64(), "logging": pa.list_(pa.float64()),
    "uniform": pa.list_(pa.float64()), "first_action": pa.int64(), "event": pa.string(), "slot": pa.int64(),
    "slots": pa.int64(), "keep_probability": pa.float64(), "time": pa.string(),
})  # fmt: skip
PAGES = pa.schema({
    "reward": pa.float64(), "propensity": pa.float64(), "page": pa.string(), "action": pa.int64(), "first": pa.float64(),
    "uniform": pa.float64(),
})  # fmt: skip
MOST = 1 << 20
"""Actions on a page."""


def ccb(
    paths: Paths, *, contexts: Names | None = None, reward_range: Range = (0, 1), rounds_before_sampling: int | None = None
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
    what = "dsjson with slots (CCB)"
    source, declared = json_log(files_of(paths), what, CCB, _ccb_page, contexts, rounds_before_sampling)
    logs = Logs(
        source, **declared, logging="logging", cluster="event", cluster_size="slots", position="slot",
        reward_range=reward_range,
    )  # fmt: skip
    return Imported(logs, {"first": chosen("first_action"), "uniform": as_policy("uniform")})


def vw_slates(
    paths: Paths,
    *,
    weight: Literal["product", "additive"],
    predicted: Mapping[str, str | Path] | None = None,
    size: int | None = None,
    most: int | None = None,
    reward_range: Range = (0, 1),
) -> Imported:
    """A log of slates in dsjson, one round per page.

    The candidates fill every slot with its first action, and uniformly. The reward of a page is minus its cost.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        weight: "product" or "additive", as in ``slates``.
        predicted: Other candidates, by the files that ``vw --slates -p`` wrote on the same events.
        size, most: As in ``slates``.
        reward_range: What a reward, minus the cost, can be.
    """
    files = files_of(paths)
    if weight not in ("product", "additive"):
        raise UsageError(f"weight must be 'product' or 'additive', since a page has one reward, but is {weight!r}.")
    if has_dropped_events(files):
        raise UsageError("slates whose events were dropped with probability pdrop cannot be read; log them whole.")
    source = Events(files, what="slates in dsjson", schema=PAGES, parse=partial(parse_json, read=_slate, schema=PAGES))
    candidates: dict[str, Any] = {"first": "first", "uniform": "uniform"}
    candidates |= {name: _at_shown(source, path) for name, path in (predicted or {}).items()}
    return slates(
        source, candidates, slate="page", reward="reward", propensity="propensity", weight=weight,
        probabilities="independent", size=size, most=most, reward_range=reward_range,
    )  # fmt: skip


def _at_shown(source: Events, path: str | Path) -> Any:
    """The probability of what each slot shows, from a line of predictions per slot."""
    reader = predictions(path)
    if not isinstance(reader, PredictedProbabilities):
        raise UsageError(f"{path} must hold the probabilities of each slot's actions, as 'vw --slates -p' writes them.")
    shown = [batch.table["action"].to_numpy() for batch in source.batches(Needs(read=("action",)))]
    rows, actions = reader.rows.array, np.concatenate([np.zeros(0, dtype=np.int64), *shown])
    if len(rows) != len(actions):
        raise UsageError(
            f"{path} has {len(rows):,} lines of predictions, but the log has {len(actions):,} slots; it must be written "
            "on the same events, in the same order."
        )
    lengths = np.asarray(pc.list_value_length(rows))
    if (short := actions >= lengths).any():
        row = int(np.flatnonzero(short)[0])
        raise UsageError(
            f"{path} has predictions for fewer actions than the log in {int(short.sum()):,} slots, first in that of line of "
            f"predictions {row + 1:,}: {int(lengths[row])}, but action {int(actions[row])} was shown, counted from 0."
        )
    return np.asarray(rows.values)[np.asarray(rows.offsets)[:-1] + actions]


def _fault(event: dict[str, Any]) -> str | None:
    """A fault in the slots of a page of either kind, if there is one."""
    slots, context = event.get("_outcomes"), event.get("c")
    if not isinstance(slots, list) or not slots or not all(isinstance(slot, dict) for slot in slots):
        return "events have no slots in _outcomes; read those of one action by the format dsjson"
    listed = context.get("_slots") if isinstance(context, dict) else None
    if isinstance(listed, list) and len(listed) != len(slots):
        return "events do not have one entry in _outcomes for each slot in _slots"
    return None


def _fault_of_slot(actions: Any, shares: Any) -> str | None:
    if not isinstance(actions, list) or not isinstance(shares, list) or not actions or len(actions) != len(shares):
        return "events have a slot without lists _a and _p of equal length"
    if not all(map(is_number, shares)):
        return "events have a slot with an entry in _p that is not a number"
    if not all(map(is_index, actions)) or max(actions) >= MOST or len(set(actions)) != len(actions):
        return "events have a slot whose _a does not list its actions, from 0, once each"
    return None


def _ccb_page(event: dict[str, Any], location: str, kept: float) -> list[Row] | str:
    """A row for each slot, or what is wrong with the event."""
    if fault := _fault(event):
        return fault
    if "_label_cost" in event:
        return SLATES
    slots, shown = event["_outcomes"], list[int]()
    for slot in slots:
        if not is_number(slot.get("_label_cost")):
            return "events have a slot without a number in _label_cost"
        if slot.get("_original_label_cost") not in (slot["_label_cost"], None):
            return REPLACED
        if fault := _fault_of_slot(slot.get("_a"), slot.get("_p")):
            return fault
        if set(shown) & set(slot["_a"]):
            return "events offer an action again that an earlier slot shows"
        shown.append(slot["_a"][0])
    context = event.get("c")
    listed = context.get("_multi") if isinstance(context, dict) else None
    count = max(len(listed) if isinstance(listed, list) else 0, *(1 + max(slot["_a"]) for slot in slots))
    name = text_or_null(event.get("EventId") or slots[0].get("_id") or location)
    rows: list[Row] = []
    for place, slot in enumerate(slots):
        left, logging, uniform = slot["_a"], [0.0] * count, [0.0] * count
        for action, share in zip(left, slot["_p"], strict=True):
            logging[action], uniform[action] = float(share), 1.0 / len(left)
        rows.append((
            0.0 - slot["_label_cost"], float(slot["_p"][0]), left[0], logging, uniform, min(left), name, place, len(slots),
            kept, text_or_null(event.get("Timestamp")),
        ))  # fmt: skip
    return rows


def _slate(event: dict[str, Any], location: str, kept: float) -> list[Row] | str:
    """A row for each slot, or what is wrong with the event."""
    if fault := _fault(event):
        return fault
    slots, cost, context = event["_outcomes"], event.get("_label_cost"), event.get("c")
    if "_label_cost" not in event and any("_label_cost" in slot for slot in slots):
        return "events have a cost for each slot (CCB): read them by the format ccb"
    if not is_number(cost):
        return "events have no number in _label_cost"
    listed = context.get("_multi") if isinstance(context, dict) else None
    known = isinstance(listed, list)
    places = [action.get("_slot_id") for action in listed or () if isinstance(action, dict)] if known else []
    counts = Counter(place for place in places if isinstance(place, int))
    rows: list[Row] = []
    for place, slot in enumerate(slots):
        actions, shares = slot.get("_a"), slot.get("_p")
        alone = known and not isinstance(actions, list) and not isinstance(shares, list)
        if alone:  # the action shown, without the others
            actions, shares = [actions], [shares]
        if fault := _fault_of_slot(actions, shares):
            return fault
        total = counts[place] if known else len(actions)
        if not alone and len(actions) > 1 and max(actions) >= len(actions):
            return "events have a slot whose _a does not list its actions, from 0, once each"
        if actions[0] >= total or (len(actions) > 1 and len(actions) != total):
            return "events have a slot whose _a does not match the actions of that slot in c"
        if len(actions) > 1 and abs(sum(shares) - 1.0) > 1e-5:
            return "events have a slot whose probabilities in _p do not sum to 1"
        rows.append((0.0 - cost, float(shares[0]), location, actions[0], float(actions[0] == 0), 1.0 / total))
    return rows
