"""Vowpal Wabbit's slates: pages of several slots, each with actions of its own, and one cost for the whole page.

One JSON object per line, as logged by VW's RL client library; ``_outcomes`` has an entry for each slot.

    {"_label_cost": -1, "EventId": "...", "_outcomes": [{"_a": [1, 0], "_p": [0.8, 0.2]}, {"_a": [0, 1, 2], "_p": [...]}],
     "c": {"_multi": [{"_slot_id": 0}, {"_slot_id": 0}, {"_slot_id": 1}, ...], "_slots": [{...}, {...}]}}

``_a`` lists the actions of the slot, numbered from 0 within it, with the one that was shown first, and ``_p`` their
probabilities; VW draws the slots independently of each other.
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
from surelift.importers.events import Events, Imported, Paths, files_of
from surelift.importers.json_lines import UNEQUAL_SLOTS, Row, is_number, lacks_slots, parse_json
from surelift.importers.slate_rows import slates
from surelift.importers.vw import has_dropped_events
from surelift.importers.vw_predictions import PredictedProbabilities, predictions
from surelift.logs.batch import Needs

SCHEMA = pa.schema(
    [
        ("reward", pa.float64()), ("propensity", pa.float64()), ("page", pa.string()), ("action", pa.int64()),
        ("first", pa.float64()), ("uniform", pa.float64()),
    ]
)  # fmt: skip


def vw_slates(
    paths: Paths,
    *,
    weight: Literal["product", "additive"],
    predicted: Mapping[str, str | Path] | None = None,
    size: int | None = None,
    most: int | None = None,
    reward_range: tuple[float, float] = (0, 1),
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
    source = Events(files, what="slates in dsjson", schema=SCHEMA, parse=partial(parse_json, read=_page, schema=SCHEMA))
    candidates: dict[str, Any] = {"first": "first", "uniform": "uniform"}
    candidates |= {name: _at_shown(source, path) for name, path in (predicted or {}).items()}
    return slates(
        source, candidates, slate="page", reward="reward", propensity="propensity", weight=weight,
        probabilities="independent", size=size, most=most, reward_range=reward_range,
    )  # fmt: skip


def _at_shown(source: Events, path: str | Path) -> Any:
    """The probability of what each slot shows, from a line of predictions per slot."""
    reader = predictions(path).reader
    if not isinstance(reader, PredictedProbabilities):
        raise UsageError(f"{path} must hold the probabilities of each slot's actions, as 'vw --slates -p' writes them.")
    rows, shown = reader.rows.array, pa.chunked_array(
        [batch.table["action"].combine_chunks() for batch in source.batches(Needs(read=("action",)))], pa.int64()
    )  # fmt: skip
    if len(rows) != len(shown):
        raise UsageError(
            f"{path} has {len(rows):,} lines of predictions, but the log has {len(shown):,} slots; it must be written "
            "on the same events, in the same order."
        )
    actions, lengths = np.asarray(shown), np.asarray(pc.list_value_length(rows))
    if (short := actions >= lengths).any():
        row = int(np.flatnonzero(short)[0])
        raise UsageError(
            f"{path} has predictions for fewer actions than the log in {int(short.sum()):,} slots, first in that of line of "
            f"predictions {row + 1:,}: {int(lengths[row])}, but action {int(actions[row])} was shown, counted from 0."
        )
    return np.asarray(rows.values)[np.asarray(rows.offsets)[:-1] + actions]


def _page(event: dict[str, Any], location: str) -> list[Row] | str:
    """A row for each slot, or what is wrong with the event."""
    slots, cost = event.get("_outcomes"), event.get("_label_cost")
    if not isinstance(slots, list) or not slots or not all(isinstance(slot, dict) for slot in slots):
        return "events have no slots in _outcomes; read those of one action by the format dsjson"
    if "_label_cost" not in event and any("_label_cost" in slot for slot in slots):
        return "events have a cost for each slot (CCB): read them by the format ccb"
    if not is_number(cost):
        return "events have no number in _label_cost"
    if lacks_slots(event):
        return UNEQUAL_SLOTS
    context = event.get("c")
    listed = context.get("_multi") if isinstance(context, dict) else None
    counts = _actions_by_slot(listed) if isinstance(listed, list) else None
    rows: list[Row] = []
    for place, slot in enumerate(slots):
        read = _slot(slot, None if counts is None else counts[place])
        if isinstance(read, str):
            return read
        action, share, count = read
        rows.append((-float(cost) + 0.0, share, location, action, float(action == 0), 1.0 / count))
    return rows


def _actions_by_slot(listed: list[Any]) -> Counter[int]:
    slots = [each.get("_slot_id") for each in listed if isinstance(each, dict)]
    return Counter(slot for slot in slots if isinstance(slot, int))


def _slot(slot: dict[str, Any], count: int | None) -> tuple[int, float, int] | str:
    """The action shown, its probability and the number of actions; ``count`` is that of the context, if it tells."""
    actions, shares = slot.get("_a"), slot.get("_p")
    if not isinstance(actions, list) and not isinstance(shares, list) and count is not None:
        actions, shares, whole = [actions], [shares], False
    else:
        whole = True
    if not isinstance(actions, list) or not isinstance(shares, list) or not actions or len(actions) != len(shares):
        return "events have a slot without lists _a and _p of equal length"
    if not all(map(is_number, shares)):
        return "events have a slot with an entry in _p that is not a number"
    numbers = all(isinstance(action, int) and not isinstance(action, bool) and action >= 0 for action in actions)
    if not numbers or (whole and len(actions) > 1 and sorted(actions) != list(range(len(actions)))):
        return "events have a slot whose _a does not list its actions, from 0, once each"
    total = len(actions) if count is None else count
    if actions[0] >= total or (len(actions) > 1 and len(actions) != total):
        return "events have a slot whose _a does not match the actions of that slot in c"
    if len(actions) > 1 and abs(sum(shares) - 1.0) > 1e-5:
        return "events have a slot whose probabilities in _p do not sum to 1"
    return actions[0], float(shares[0]), total
