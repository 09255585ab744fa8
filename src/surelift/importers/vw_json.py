"""Vowpal Wabbit's JSON, as its RL client library and Azure Personalizer log it: one round per line, or a page of slots.

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "Timestamp": "...", "EventId": "...",
     "a": [2, 1, 3], "p": [0.8, 0.1, 0.1], "c": {...}, "pdrop": 0.5, "_skipLearn": true}

``a`` ranks the actions, numbered from 1, with the logged one first; ``p`` holds their probabilities in the same order. A
continuous action (CATS) has a density instead.

    {"_label_ca": {"cost": -1, "pdf_value": 0.206, "action": 5.37}, "Timestamp": "...", "c": {...}, "pdrop": 0.5}

In all of them ``c`` holds the context; ``pdrop`` is the probability with which an event was dropped; events marked
``_skipLearn`` were never shown; and lines with a reward but no decision are observations that came too late.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from surelift.arrays import ArrowTable
from surelift.errors import UsageError
from surelift.importers.contexts import NONE, Features, events_with_contexts, of_json, row_of
from surelift.importers.events import (
    Events,
    Found,
    Imported,
    Names,
    Paths,
    Range,
    files_of,
    is_number,
    json_object,
    numbered,
    to_table,
)
from surelift.logs.densities import UniformDensity
from surelift.policies.resolve import as_policy, chosen, uniform
from surelift.traits.logs import Logs

DSJSON = pa.schema({
    "reward": pa.float64(), "propensity": pa.float64(), "action": pa.int64(), "logging": pa.list_(pa.float64()),
    "first_action": pa.int64(), "keep_probability": pa.float64(), "time": pa.string(), "event": pa.string(),
})  # fmt: skip
CATS = pa.schema({
    "reward": pa.float64(), "propensity": pa.float64(), "action": pa.float64(), "keep_probability": pa.float64(),
    "time": pa.string(), "event": pa.string(),
})  # fmt: skip
SKIPPED = "events marked _skipLearn, whose action was never shown"
DANGLING = "rewards without a decision (dangling observations)"
SLATES = "events are slates, one cost for several slots: read them by importers.vw_slates, in Python"
REPLACED = (
    "events have an _original_label_cost other than their _label_cost: the cost was replaced (apprentice mode does so), and "
    "is not that of the logged action; remove _original_label_cost if _label_cost is the one to use"
)
_DROPPED = re.compile(rb'"pdrop"\s*:\s*0*\.?0*[1-9]')

Row = tuple[Any, ...]
Read = Callable[[dict[str, Any], str, float], list[Row] | str]
"""From an event, its location and the probability with which it was kept to its rows, or what is wrong with it."""


def dsjson(
    paths: Paths, *, contexts: Names | None = None, reward_range: Range = (0, 1), rounds_before_sampling: int | None = None
) -> Imported:
    """A log in dsjson, with two candidates: always the first action, and uniform.

    The reward is minus the cost. Shared features are columns, such as ``User.country``.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
        rounds_before_sampling: If events were dropped with probability ``pdrop``, their number before that.
    """
    files = files_of(paths)
    source, declared = json_log(files, "dsjson", DSJSON, _ranked_round, contexts, rounds_before_sampling)
    for _, line in islice(numbered(files[0]), 1):
        first = json_object(line)
        if isinstance(first, dict) and first.get("EventId"):
            declared["id"] = "event"  # then none may come twice, or be missing
    logs = Logs(source, **declared, logging="logging", reward_range=reward_range)
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})


def cats(
    paths: Paths,
    *,
    action_range: tuple[float, float] | None = None,
    contexts: Names | None = None,
    reward_range: Range = (0, 1),
    rounds_before_sampling: int | None = None,
) -> Imported:
    """A log of continuous actions in dsjson; ``pdf_value`` is the density of the action.

    Candidates are columns of densities, ``surelift.densities``, or ``predictions`` of ``--cats_pdf``.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        action_range: VW's ``--min_value`` and ``--max_value``; acting uniformly between them is then a candidate.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
        rounds_before_sampling: If events were dropped with probability ``pdrop``, their number before that.
    """
    if action_range is not None and not (isinstance(action_range, Sequence) and len(action_range) == 2):
        raise UsageError(f"action_range must be the least and the largest action, but is {action_range!r}.")
    what = "dsjson with continuous actions (CATS)"
    source, declared = json_log(files_of(paths), what, CATS, _continuous_round, contexts, rounds_before_sampling)
    logs = Logs(source, **declared, density=True, reward_range=reward_range)
    return Imported(logs, {} if action_range is None else {"uniform": as_policy(UniformDensity(*action_range))})


def json_log(
    files: Sequence[str], what: str, schema: pa.Schema, read: Read, contexts: Names | None, sampled_from: int | None
) -> tuple[Events, dict[str, Any]]:
    """The events, with their shared features as columns, and what is declared of every such log."""
    declared: dict[str, Any] = {"reward": "reward", "propensity": "propensity", "action": "action", "contexts": contexts}
    sampled = sampled_from is not None or has_dropped_events(files)
    if sampled:
        declared |= {"keep_probability": "keep_probability", "rounds_before_sampling": sampled_from}
    parse = partial(parse_json, read=read, schema=schema, sampled=sampled)
    return events_with_contexts(files, what, schema, parse, _json_features, contexts), declared


def has_dropped_events(files: Sequence[str]) -> bool:
    # A text search is faster than parsing.
    return any(_DROPPED.search(line) for path in files for _, line in numbered(path))


def parse_json(
    lines: list[tuple[int, bytes]], path: str, report: Found, *, read: Read, schema: pa.Schema, sampled: bool = False,
    wanted: pa.Schema = NONE,
) -> ArrowTable:  # fmt: skip
    """A table of the rounds, with the features of their context that are ``wanted``; ``sampled`` if some were dropped."""
    rows: list[Row] = []
    for number, line in lines:
        if not line.strip():
            continue
        event = json_object(line)
        left_out = _left_out(event)
        if left_out is not None:
            report.left_out[left_out] += 1
            continue
        found = event if isinstance(event, str) else _rows(event, f"{path}:{number}", read, sampled)
        if isinstance(found, str) or isinstance(event, str):
            report.breaks(str(found), path, number, line)
            continue
        context = row_of(of_json(event.get("c")), schema, wanted)
        rows += [(*row, *context) for row in found]
    return to_table(rows, pa.schema([*schema, *wanted]))


def _json_features(line: bytes) -> Features:
    event = json_object(line)
    return of_json(event.get("c")) if isinstance(event, dict) else ()


def _left_out(event: dict[str, Any] | str) -> str | None:
    """Why a line is no decision, if it is none."""
    if isinstance(event, str) or not isinstance(event.get("_skipLearn", False), bool):
        return None
    if event.get("_skipLearn"):
        return SKIPPED
    decision = any(name in event for name in ("_label_cost", "a", "p", "_outcomes", "_label_ca"))
    return DANGLING if not decision and ("RewardValue" in event or "DanglingReward" in event) else None


def _rows(event: dict[str, Any], location: str, read: Read, sampled: bool) -> list[Row] | str:
    dropped = event.get("pdrop", 0.0)
    if not isinstance(event.get("_skipLearn", False), bool):
        return "events have a _skipLearn that is neither true nor false"
    if not (is_number(dropped) and 0.0 <= dropped < 1.0):
        return "events have a pdrop outside [0, 1)"
    if dropped and not sampled:
        return "events have a pdrop that the first scan of the file did not find; write it without escapes"
    return read(event, location, 1.0 - dropped)


def _ranked_round(event: dict[str, Any], location: str, kept: float) -> list[Row] | str:
    cost, propensity, ranked, shares = (event.get(name) for name in ("_label_cost", "_label_probability", "a", "p"))
    if "_outcomes" in event and "_label_cost" in event:
        return SLATES
    if "_outcomes" in event:
        return "events have several slots, each with a cost (CCB): read them by the format ccb"
    if "_label_ca" in event:
        return "events have a continuous action (CATS): read them by the format cats"
    if not is_number(cost):
        return "events have no number in _label_cost"
    if event.get("_original_label_cost", cost) not in (cost, None):
        return REPLACED
    if not is_number(propensity):
        return "events have no number in _label_probability, which has no default"
    if not isinstance(ranked, list) or not isinstance(shares, list) or len(ranked) != len(shares):
        return "events have no lists a and p of equal length"
    if not all(map(is_number, shares)):
        return "events have an entry in p that is not a number"
    if not ranked or not all(map(is_index, ranked)) or sorted(ranked) != list(range(1, len(ranked) + 1)):
        return "events do not rank the actions 1 to K in a"
    taken = event.get("_label_Action", ranked[0])
    if not (isinstance(taken, int) and 1 <= taken <= len(ranked)):
        return "events have an action in _label_Action that is not in a"
    logging = [0.0] * len(ranked)
    for action, share in zip(ranked, shares, strict=True):
        logging[action - 1] = float(share)
    return [(0.0 - cost, float(propensity), taken - 1, logging, 0, kept, *moment_and_id(event))]


def _continuous_round(event: dict[str, Any], location: str, kept: float) -> list[Row] | str:
    label = event.get("_label_ca")
    if not isinstance(label, dict):
        return "events have no _label_ca; read those of one action of several by the format dsjson"
    for name in ("cost", "pdf_value", "action"):
        if not is_number(label.get(name)):
            return f"events have no number in {name} of _label_ca, which has no default"
    return [(0.0 - label["cost"], float(label["pdf_value"]), float(label["action"]), kept, *moment_and_id(event))]


def is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def moment_and_id(event: dict[str, Any]) -> tuple[str | None, str | None]:
    return text_or_null(event.get("Timestamp")), text_or_null(event.get("EventId"))


def text_or_null(value: Any) -> str | None:
    """As text, without unpaired surrogates, which Arrow cannot store."""
    return None if value is None else str(value).encode(errors="replace").decode()
