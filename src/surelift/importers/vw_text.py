"""Vowpal Wabbit's text: ``cb``, one decision per line, and ``cb_adf``, several lines per event, ended by a blank line.

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
from surelift.importers.events import Found

CB = pa.schema(
    [("reward", pa.float64()), ("propensity", pa.float64()), ("action", pa.int64()), ("features", pa.string())]
)
ADF = pa.schema(
    [
        ("reward", pa.float64()), ("propensity", pa.float64()), ("action", pa.int64()), ("action_count", pa.int64()),
        ("first_action", pa.int64()),
    ]
)  # fmt: skip


def parse_cb(lines: list[tuple[int, bytes]], path: str, report: Found) -> ArrowTable:
    columns: dict[str, list[Any]] = {name: [] for name in CB.names}
    for number, line in lines:
        text = line.decode(errors="replace").strip()
        if not text:
            continue
        label, bar, features = text.partition("|")
        read = _label(label) if bar else "lines have no '|' between label and features"
        if isinstance(read, str):
            report.breaks(read, path, number, text)
            continue
        action, cost, probability = read
        if action < 1:
            report.breaks("labels have action 0; actions are numbered from 1", path, number, text)
            continue
        for name, value in zip(CB.names, (-cost + 0.0, probability, action - 1, features.strip()), strict=True):
            columns[name].append(value)
    return pa.table(columns, schema=CB)


def parse_adf(lines: list[tuple[int, bytes]], path: str, report: Found) -> ArrowTable:
    columns: dict[str, list[Any]] = {name: [] for name in ADF.names}
    for number, event in _events(lines):
        read = _adf_round(event)
        if isinstance(read, str):
            report.breaks(read, path, number, event[0])
        else:
            for name, value in zip(ADF.names, read, strict=True):
                columns[name].append(value)
    return pa.table(columns, schema=ADF)


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
