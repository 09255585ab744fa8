"""Vowpal Wabbit's pages of several slots: conditional contextual bandits (CCB), and slates, as ``Logs``.

In CCB slots are filled one after another, and each has its own cost.

    {"Timestamp": "...", "c": {"_multi": [{...}, {...}, {...}], "_slots": [{"_id": "s1"}, {"_id": "s2"}]},
     "_outcomes": [{"_label_cost": 0, "_id": "s1", "_a": [1, 0, 2], "_p": [0.8, 0.1, 0.1]},
                   {"_label_cost": -1, "_id": "s2", "_a": [2, 0], "_p": [0.9, 0.1]}], "pdrop": 0.5}

``_a`` lists the actions that were left for the slot, numbered from 0, with the one that was shown first; ``_p`` holds their
probabilities given the slots before. A slate has one cost for the page, and in every slot actions of its own, numbered from
0 and drawn independently of the other slots; ``_multi`` says of each the ``_slot_id``.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.importers.events import Events, Imported, Names, Paths, Range, Row, files_of
from surelift.importers.slate_rows import slates
from surelift.importers.values import fault_of_lists, fault_of_numbers, is_index, text_or_null
from surelift.importers.vw_json import REPLACED, SLATES, SLOTS, has_dropped_events, json_format, json_log, was_replaced
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
MOST_ACTIONS = 1 << 20


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
    files, wrong = files_of(paths), ""
    if weight not in ("product", "additive"):
        wrong = f"weight must be 'product' or 'additive', since a page has one reward, but is {weight!r}."
    elif has_dropped_events(files):
        wrong = "slates whose events were dropped with probability pdrop cannot be read; log them whole."
    if wrong:
        raise UsageError(wrong)
    form = json_format("slates in dsjson", PAGES, _slate)
    source = Events(files, form.what, form.schema, form.parse)
    candidates: dict[str, Any] = {"first": "first", "uniform": "uniform"}
    candidates |= {name: _at_shown(source, path) for name, path in (predicted or {}).items()}
    return slates(
        source, candidates, slate="page", reward="reward", propensity="propensity", weight=weight,
        probabilities="independent", size=size, most=most, reward_range=reward_range,
    )  # fmt: skip


def _at_shown(source: Events, path: str | Path) -> FloatArray:
    """The probability of what each slot shows, from a line of predictions per slot."""
    reader, wrong = predictions(path), ""
    rows = reader.array if isinstance(reader, PredictedProbabilities) else pa.nulls(0, pa.list_(pa.float64()))
    shown = [batch.table["action"].to_numpy() for batch in source.batches(Needs(read=("action",)))]
    actions, lengths = np.concatenate([np.zeros(0, dtype=np.int64), *shown]), np.asarray(pc.list_value_length(rows))
    if not isinstance(reader, PredictedProbabilities):
        wrong = "must hold the probabilities of each slot's actions, as 'vw --slates -p' writes them."
    elif len(rows) != len(actions):
        wrong = f"has {len(rows):,} lines of predictions, but the log has {len(actions):,} slots; predict the same events."
    elif (short := actions >= lengths).any():
        row = int(short.argmax())
        first = f"{int(lengths[row])} in prediction {row + 1:,}, but action {int(actions[row])} was shown, counted from 0"
        wrong = f"has predictions for fewer actions than the log in {int(short.sum()):,} slots, the first: {first}."
    if wrong:
        raise UsageError(f"{path} {wrong}")
    return np.asarray(np.asarray(rows.values)[np.asarray(rows.offsets)[:-1] + actions])


def _listed(event: dict[str, Any], name: str) -> list[Any] | None:
    context = event.get("c")
    found = context.get(name) if isinstance(context, dict) else None
    return found if isinstance(found, list) else None


def _fault_of_slots(event: dict[str, Any]) -> str:
    slots, listed = event.get("_outcomes"), _listed(event, "_slots")
    if not isinstance(slots, list) or not slots or not all(isinstance(slot, dict) for slot in slots):
        return "events have no slots in _outcomes; read those of one action by the format dsjson"
    if listed is not None and len(listed) != len(slots):
        return "events do not have one entry in _outcomes for each slot in _slots"
    return ""


def _fault_of_actions(slot: dict[str, Any]) -> str:
    if fault := fault_of_lists(slot, "_a", "_p"):
        return fault
    actions = slot["_a"]
    if not all(map(is_index, actions)) or not 0 < len(set(actions)) == len(actions) or max(actions) >= MOST_ACTIONS:
        return "events have a slot whose _a does not list its actions, from 0, once each"
    return ""


def _ccb_page(event: dict[str, Any], place: str, kept: float) -> list[Row] | str:
    if fault := _fault_of_slots(event):
        return fault
    if "_label_cost" in event:
        return SLATES
    slots, shown = event["_outcomes"], list[int]()
    for slot in slots:
        if was_replaced(slot):
            return REPLACED
        if fault := fault_of_numbers(slot, ["_label_cost"], " of a slot") or _fault_of_actions(slot):
            return fault
        if set(shown) & set(slot["_a"]):
            return "events offer an action again that an earlier slot shows"
        shown.append(slot["_a"][0])
    count = max(len(_listed(event, "_multi") or ()), *(1 + max(slot["_a"]) for slot in slots))
    name, time = text_or_null(event.get("EventId") or slots[0].get("_id") or place), text_or_null(event.get("Timestamp"))
    rows: list[Row] = []
    for number, slot in enumerate(slots):
        left, logging, uniform = slot["_a"], [0.0] * count, [0.0] * count
        for action, share in zip(left, slot["_p"], strict=True):
            logging[action], uniform[action] = float(share), 1.0 / len(left)
        propensity = float(slot["_p"][0])
        label = 0.0 - slot["_label_cost"], propensity, left[0], logging, uniform, min(left)
        rows.append((*label, name, number, len(slots), kept, time))
    return rows


def _slate(event: dict[str, Any], place: str, kept: float) -> list[Row] | str:
    if fault := _fault_of_slots(event):
        return fault
    slots, multi = event["_outcomes"], _listed(event, "_multi")
    if "_label_cost" not in event and any("_label_cost" in slot for slot in slots):
        return SLOTS
    if fault := fault_of_numbers(event, ["_label_cost"]):
        return fault
    places = [action.get("_slot_id") for action in multi or () if isinstance(action, dict)]
    counts = Counter(number for number in places if isinstance(number, int))
    rows: list[Row] = []
    for number, slot in enumerate(slots):
        lists = [name for name in ("_a", "_p") if isinstance(slot.get(name), list)]
        alone = multi is not None and not lists  # the action shown, without the others
        found = {name: [slot.get(name)] if alone else slot.get(name) for name in ("_a", "_p")}
        if fault := _fault_of_actions(found):
            return fault
        actions, shares = found["_a"], found["_p"]
        total = len(actions) if multi is None else counts[number]
        if len(actions) > 1 and max(actions) >= len(actions):
            return "events have a slot whose _a does not list its actions, from 0, once each"
        if actions[0] >= total or (len(actions) > 1 and len(actions) != total):
            return "events have a slot whose _a does not match the actions of that slot in c"
        if len(actions) > 1 and abs(sum(shares) - 1.0) > 1e-5:
            return "events have a slot whose probabilities in _p do not sum to 1"
        cost = event["_label_cost"]
        rows.append((0.0 - cost, float(shares[0]), place, actions[0], float(actions[0] == 0), 1.0 / total))
    return rows
