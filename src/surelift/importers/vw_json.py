"""Vowpal Wabbit's JSON, as its RL client library and Azure Personalizer log it: one round per line, or a page of slots.

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "Timestamp": "...", "EventId": "...",
     "a": [2, 1, 3], "p": [0.8, 0.1, 0.1], "c": {...}, "pdrop": 0.5, "_skipLearn": true}

``a`` ranks the actions, numbered from 1, with the logged one first; ``p`` holds their probabilities, and ``c`` the context.
Events were dropped with probability ``pdrop``, and never shown if marked ``_skipLearn``. A continuous action (CATS) has a
density instead: ``"_label_ca": {"cost": -1, "pdf_value": 0.206, "action": 5.37}``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from surelift.errors import UsageError
from surelift.importers.contexts import EventFormat, Features, events_with_contexts, of_json
from surelift.importers.events import Events, Imported, Line, Names, Paths, Range, Row, files_of, numbered
from surelift.importers.values import fault_of_lists, fault_of_numbers, is_index, is_number, json_object, text_or_null
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
SLOTS = "events have several slots, each with a cost (CCB): read them by the format ccb"
REPLACED = (
    "events have an _original_label_cost other than their _label_cost: apprentice mode replaced the cost, no longer that "
    "of the logged action; remove the former if the latter is the one to use"
)
_OF_DECISIONS = {"_label_cost", "a", "p", "_outcomes", "_label_ca"}
_DROPPED = re.compile(rb'"pdrop"\s*:\s*0*\.?0*[1-9]')

Read = Callable[[dict[str, Any], str, float], list[Row] | str]
"""Turns an event, its place and the probability with which it was kept into rows, or says what is wrong with it."""


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
    first = next(_json_events(numbered(files[0])), (0, b"", ""))[-1]
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
    files: list[str], what: str, schema: pa.Schema, read: Read, contexts: Names | None, sampled_from: int | None
) -> tuple[Events, dict[str, Any]]:
    """The events, with their shared features as columns, and what is declared of every such log."""
    declared: dict[str, Any] = {"reward": "reward", "propensity": "propensity", "action": "action", "contexts": contexts}
    sampled = sampled_from is not None or has_dropped_events(files)
    if sampled:
        declared |= {"keep_probability": "keep_probability", "rounds_before_sampling": sampled_from}
    return events_with_contexts(files, json_format(what, schema, read, sampled=sampled), contexts), declared


def has_dropped_events(files: Sequence[str]) -> bool:
    # A text search is faster than parsing.
    return any(_DROPPED.search(line) for path in files for _, line in numbered(path))


def json_format(what: str, schema: pa.Schema, read: Read, *, sampled: bool = False) -> EventFormat:
    """The format of one JSON object per line; ``sampled`` if some events were dropped."""
    rows = partial(_rows, read=read, sampled=sampled)
    return EventFormat(what, schema, _json_events, rows, _json_features, left_out=frozenset({SKIPPED, DANGLING}))


def _json_events(lines: Iterable[Line]) -> Iterator[tuple[int, bytes, dict[str, Any] | str]]:
    return ((number, line, json_object(line)) for number, line in lines if line.strip())


def _json_features(event: dict[str, Any]) -> Features:
    return of_json(event.get("c"))


def _rows(event: dict[str, Any], place: str, *, read: Read, sampled: bool) -> list[Row] | str:
    skipped, dropped = event.get("_skipLearn", False), event.get("pdrop", 0.0)
    if not isinstance(skipped, bool):
        return "events have a _skipLearn that is neither true nor false"
    if skipped:
        return SKIPPED
    if event.keys() & {"RewardValue", "DanglingReward"} and not event.keys() & _OF_DECISIONS:
        return DANGLING
    if not (is_number(dropped) and 0.0 <= dropped < 1.0):
        return "events have a pdrop outside [0, 1)"
    if dropped and not sampled:
        return "events have a pdrop that the first scan of the file did not find; write it without escapes"
    return read(event, place, 1.0 - dropped)


def _ranked_round(event: dict[str, Any], place: str, kept: float) -> list[Row] | str:
    if "_outcomes" in event:
        return SLATES if "_label_cost" in event else SLOTS
    if "_label_ca" in event:
        return "events have a continuous action (CATS): read them by the format cats"
    if was_replaced(event):
        return REPLACED
    if fault := fault_of_numbers(event, ("_label_cost", "_label_probability")) or fault_of_lists(event, "a", "p"):
        return fault
    ranked, shares = event["a"], event["p"]
    if not ranked or not all(map(is_index, ranked)) or sorted(ranked) != list(range(1, len(ranked) + 1)):
        return "events do not rank the actions 1 to K in a"
    taken = event.get("_label_Action", ranked[0])
    if not (isinstance(taken, int) and 1 <= taken <= len(ranked)):
        return "events have an action in _label_Action that is not in a"
    logging = [0.0] * len(ranked)
    for action, share in zip(ranked, shares, strict=True):
        logging[action - 1] = float(share)
    propensity = float(event["_label_probability"])
    return [(0.0 - event["_label_cost"], propensity, taken - 1, logging, 0, kept, *_moment_and_id(event))]


def _continuous_round(event: dict[str, Any], place: str, kept: float) -> list[Row] | str:
    label = event.get("_label_ca")
    if not isinstance(label, dict):
        return "events have no _label_ca; read those of one action of several by the format dsjson"
    if fault := fault_of_numbers(label, ("cost", "pdf_value", "action"), " of _label_ca"):
        return fault
    return [(0.0 - label["cost"], float(label["pdf_value"]), float(label["action"]), kept, *_moment_and_id(event))]


def _moment_and_id(event: dict[str, Any]) -> tuple[str | None, str | None]:
    return text_or_null(event.get("Timestamp")), text_or_null(event.get("EventId"))


def was_replaced(label: dict[str, Any]) -> bool:
    cost = label.get("_label_cost")
    return is_number(cost) and label.get("_original_label_cost") not in (cost, None)
