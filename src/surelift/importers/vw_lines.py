"""Vowpal Wabbit's lines: dsjson, and the text formats ``cb`` and ``cb_adf``.

dsjson is one JSON object per line, as logged by VW's RL client library and Azure Personalizer.

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "Timestamp": "...", "EventId": "...",
     "a": [2, 1, 3], "p": [0.8, 0.1, 0.1], "c": {...}, "pdrop": 0.5, "_skipLearn": true}

``a`` ranks the actions, numbered from 1, with the logged one first; ``p`` holds their probabilities in the same order.

``cb`` is one decision per line, and ``cb_adf`` several lines per event, ended by a blank line.

    cb       2:-1:0.8 | morning phone
    cb_adf   shared | morning phone
             | item=hat
             0:-1:0.8 | item=coat

A label is action:cost:probability; in ``cb_adf`` it is on the line of the logged action.
"""

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.importers.contexts import Features, of_text, row_of, values_of
from surelift.importers.events import Found, to_table
from surelift.importers.json_lines import NONE, Row, is_number, keep_probability, text_or_null

_LABEL = [("reward", pa.float64()), ("propensity", pa.float64()), ("action", pa.int64())]
CB = pa.schema([*_LABEL, ("features", pa.string())])
ADF = pa.schema([*_LABEL, ("action_count", pa.int64()), ("first_action", pa.int64())])
DSJSON = pa.schema(
    [
        *_LABEL, ("logging", pa.list_(pa.float64())), ("first_action", pa.int64()), ("keep_probability", pa.float64()),
        ("time", pa.string()), ("event", pa.string()),
    ]
)  # fmt: skip
REPLACED = (
    "events have an _original_label_cost other than their _label_cost: the cost was replaced (apprentice mode does so), and "
    "is not that of the logged action; remove _original_label_cost if _label_cost is the one to use"
)
SLATES = "events are slates, one cost for several slots: read them by importers.vw_slates, in Python"


def dsjson_round(event: dict[str, Any], location: str, *, sampled: bool) -> list[Row] | str:
    """The values of a round, or what is wrong with it; ``sampled`` says whether events may have been dropped."""
    if "_outcomes" in event and "_label_cost" in event:
        return SLATES
    if "_outcomes" in event:
        return "events have several slots, each with a cost (CCB): read them by the format ccb"
    if "_label_ca" in event:
        return "events have a continuous action (CATS): read them by the format cats"
    if "_label_cost" not in event and "a" not in event and "p" not in event:
        return "events have no _label_cost"
    cost, propensity = event.get("_label_cost"), event.get("_label_probability")
    if not is_number(cost):
        return "events have no number in _label_cost"
    if event.get("_original_label_cost", cost) not in (cost, None):
        return REPLACED
    if not is_number(propensity):
        return "events have no number in _label_probability, which has no default"
    ranked, shares = event.get("a"), event.get("p")
    if not isinstance(ranked, list) or not isinstance(shares, list) or len(ranked) != len(shares):
        return "events have no lists a and p of equal length"
    if not all(is_number(share) for share in shares):
        return "events have an entry in p that is not a number"
    whole = all(isinstance(action, int) and not isinstance(action, bool) for action in ranked)
    if not ranked or not whole or sorted(ranked) != list(range(1, len(ranked) + 1)):
        return "events do not rank the actions 1 to K in a"
    taken = event.get("_label_Action", ranked[0])
    if not (isinstance(taken, int) and 1 <= taken <= len(ranked)):
        return "events have an action in _label_Action that is not in a"
    kept = keep_probability(event, sampled)
    if isinstance(kept, str):
        return kept
    logging = [0.0] * len(ranked)
    for action, share in zip(ranked, shares, strict=True):
        logging[action - 1] = float(share)
    row = (
        -float(cost) + 0.0, float(propensity), taken - 1, logging, 0, kept, text_or_null(event.get("Timestamp")),
        text_or_null(event.get("EventId")),
    )  # fmt: skip
    return [row]


def parse_cb(lines: list[tuple[int, bytes]], path: str, report: Found, *, wanted: pa.Schema = NONE) -> ArrowTable:
    rows: list[tuple[Any, ...]] = []
    taken = frozenset(CB.names)
    for number, line in lines:
        text = line.decode(errors="replace").strip()
        if not text:
            continue
        label, bar, features = text.partition("|")
        read = _label(label) if bar else "lines have no '|' between label and features"
        if not isinstance(read, str) and read[0] < 1:
            read = "labels have action 0; actions are numbered from 1"
        if isinstance(read, str):
            report.breaks(read, path, number, text)
        else:
            action, cost, probability = read
            context = row_of(values_of(of_text(bar + features), taken), wanted) if len(wanted) else ()
            rows.append((-cost + 0.0, probability, action - 1, features.strip(), *context))
    return to_table(rows, pa.schema([*CB, *wanted]))


def cb_features(line: bytes) -> Features:
    _, bar, features = line.decode(errors="replace").partition("|")
    return of_text(bar + features)


def adf_features(line: bytes) -> Features:
    return cb_features(line) if line.lstrip().startswith(b"shared") else ()


def parse_adf(lines: list[tuple[int, bytes]], path: str, report: Found, *, wanted: pa.Schema = NONE) -> ArrowTable:
    rows: list[tuple[Any, ...]] = []
    taken = frozenset(ADF.names)
    for number, event in _events(lines):
        read = _adf_round(event)
        if isinstance(read, str):
            report.breaks(read, path, number, event[0])
        else:
            shared = adf_features(event[0].encode()) if len(wanted) else ()
            rows.append((*read, *row_of(values_of(shared, taken), wanted)))
    return to_table(rows, pa.schema([*ADF, *wanted]))


def _adf_round(event: list[str]) -> tuple[Any, ...] | str:
    actions = event[1:] if event[0].startswith("shared") else event
    if not actions:
        return "events have no line for an action"
    if any(line.startswith("shared") for line in actions):
        return "events have a shared line that is not their first; a blank line must end every event"
    if any("|" not in line for line in actions):
        return "events have a line without '|'"
    labels = [(position, line.partition("|")[0].strip()) for position, line in enumerate(actions)]
    taken = [(position, label) for position, label in labels if ":" in label]
    if len(taken) != 1:
        return "events have no label" if not taken else "events have more than one label"
    read = _label(taken[0][1])
    if isinstance(read, str):
        return read
    return -read[1] + 0.0, read[2], taken[0][0], len(actions), 0


def _label(text: str) -> tuple[int, float, float] | str:
    """The action, its cost and its probability, or what is wrong."""
    # A tag may precede the bar, and other available actions may be listed next to the logged one.
    labels = [part for part in text.split() if ":" in part and not part.startswith("'")]
    if len(labels) != 1:
        return "events have no label" if not labels else "events have more than one label"
    parts = labels[0].split(":")
    if len(parts) != 3:
        return "labels are not action:cost:probability; the probability has no default"
    try:
        action, cost, probability = int(parts[0]), float(parts[1]), float(parts[2])
    except ValueError:
        return "labels are not action:cost:probability, three numbers"
    if not 0 <= action < 1 << 31:
        return "labels have an action number that is negative or too large"
    if not (math.isfinite(cost) and math.isfinite(probability)):
        return "labels have a number that is not finite"
    return action, cost, probability


def _events(lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between blank lines, with the number of the first."""
    first, event = 0, list[str]()
    for number, line in lines:
        text = line.decode(errors="replace").strip()
        if text:
            first = first if event else number
            event.append(text)
        elif event:
            yield first, event
            event = []
    if event:
        yield first, event
