"""Vowpal Wabbit's text: ``cb``, one decision per line, and ``cb_adf``, several lines per event, ended by a blank line.

    cb       2:-1:0.8 | morning phone
    cb_adf   shared | morning phone
             | item=hat
             0:-1:0.8 | item=coat

A label is action:cost:probability; in ``cb_adf`` it is on the line of the logged action. Rewards are negative costs.
"""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from surelift.importers.contexts import EventFormat, Features, events_with_contexts, of_text
from surelift.importers.events import Imported, Line, Names, Paths, Range, Row, files_of
from surelift.policies.resolve import chosen, uniform
from surelift.traits.logs import Logs

_LABEL = {"reward": pa.float64(), "propensity": pa.float64(), "action": pa.int64()}
CB = pa.schema({**_LABEL, "features": pa.string()})
ADF = pa.schema({**_LABEL, "action_count": pa.int64(), "first_action": pa.int64()})


def cb(
    paths: Paths, *, contexts: Names | None = None, reward_range: Range = (0, 1), action_count: int | None = None
) -> Imported:
    """A log in VW's ``cb`` text. Features are columns, such as ``User.country``.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
        action_count: How many actions there are; a uniform policy over them is then a candidate.
    """
    logs = _log(paths, contexts, reward_range, action_count, _CB)
    return Imported(logs, {} if action_count is None else {"uniform": uniform()})


def cb_adf(paths: Paths, *, contexts: Names | None = None, reward_range: Range = (0, 1)) -> Imported:
    """A log in VW's ``cb_adf`` text, with two candidates: always the first action, and uniform.

    Shared features are columns, such as ``User.country``.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
    """
    logs = _log(paths, contexts, reward_range, "action_count", _ADF)
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})


def _log(paths: Paths, contexts: Names | None, reward_range: Range, action_count: Any, form: EventFormat) -> Logs:
    events = events_with_contexts(files_of(paths), form, contexts)
    roles: dict[str, Any] = {role: role for role in _LABEL}
    return Logs(events, **roles, action_count=action_count, reward_range=reward_range, contexts=contexts)


def _events(lines: Iterable[Line], *, several: bool) -> Iterator[tuple[int, bytes, list[str]]]:
    """Each line that is not blank, or ``several`` between blank ones."""
    event, first = list[str](), (0, b"")
    for number, line in lines:
        text = line.decode(errors="replace").strip()
        if text:
            first = first if event else (number, line)
            event.append(text)
        if event and not (several and text):
            yield *first, event
            event = []
    if event:
        yield *first, event


def _cb_rows(event: list[str], place: str) -> list[Row] | str:
    label, bar, features = event[0].partition("|")
    if not bar:
        return "lines have no '|' between label and features"
    read = _label(label)
    if isinstance(read, str):
        return read
    action, cost, probability = read
    if action < 1:
        return "labels have action 0; actions are numbered from 1"
    return [(0.0 - cost, probability, action - 1, features.strip())]


def _adf_rows(event: list[str], place: str) -> list[Row] | str:
    actions = event[1:] if event[0].startswith("shared") else event
    if not actions:
        return "events have no line for an action"
    if any(line.startswith("shared") for line in actions):
        return "events have a shared line that is not their first; a blank line must end every event"
    if any("|" not in line for line in actions):
        return "events have a line without '|'"
    labels = {position: label for position, line in enumerate(actions) if ":" in (label := line.partition("|")[0])}
    if len(labels) != 1:
        return "events have more than one label" if labels else "events have no label"
    ((taken, label),) = labels.items()
    read = _label(label)
    return read if isinstance(read, str) else [(0.0 - read[1], read[2], taken, len(actions), 0)]


def _label(text: str) -> tuple[int, float, float] | str:
    """The action, its cost and its probability, or what is wrong."""
    # A tag may precede the bar, and other available actions may be listed next to the logged one.
    labels = [part for part in text.split() if ":" in part and not part.startswith("'")]
    if len(labels) != 1:
        return "events have more than one label" if labels else "events have no label"
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


def _features(event: list[str]) -> Features:
    return of_text(event[0])


def _shared_features(event: list[str]) -> Features:
    return of_text(event[0]) if event[0].startswith("shared") else ()


def _is_blank(line: bytes) -> bool:
    return not line.strip()


_CB = EventFormat("cb text", CB, partial(_events, several=False), _cb_rows, _features)
_ADF = EventFormat("cb_adf text", ADF, partial(_events, several=True), _adf_rows, _shared_features, _is_blank)
