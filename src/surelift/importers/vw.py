"""Vowpal Wabbit's logs as ``Logs``, whose rewards are negative costs, and whose shared features are columns."""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from surelift.importers import vw_lines
from surelift.importers.contexts import Features, survey
from surelift.importers.events import Events, Imported, Paths, files_of, numbered
from surelift.importers.json_lines import Read, json_features, parse_json
from surelift.policies.resolve import chosen, uniform
from surelift.traits.logs import Logs

DROPPED = re.compile(rb'"pdrop"\s*:\s*0*\.?0*[1-9]')
_LABEL: dict[str, Any] = {"reward": "reward", "propensity": "propensity", "action": "action"}


def dsjson(
    paths: Paths,
    *,
    contexts: Sequence[str] | None = None,
    reward_range: tuple[float, float] = (0, 1),
    rounds_before_sampling: int | None = None,
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
    sampled = rounds_before_sampling is not None or has_dropped_events(files)
    read = partial(vw_lines.dsjson_round, sampled=sampled)
    source = json_events(files, "dsjson", vw_lines.DSJSON, read, contexts)
    declared = {**_LABEL, "logging": "logging", "reward_range": reward_range, "contexts": contexts}
    if has_event_ids(files):
        declared["id"] = "event"
    if sampled:
        declared |= {"keep_probability": "keep_probability", "rounds_before_sampling": rounds_before_sampling}
    logs = Logs(source, **declared)
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})


def with_contexts(
    files: Sequence[str],
    what: str,
    schema: pa.Schema,
    parse: Callable[..., Any],
    features_of: Callable[[bytes], Features],
    contexts: Sequence[str] | None,
    ends: Callable[[bytes], bool] | None = None,
) -> Events:
    """The events, with their shared features as columns."""
    found = survey(files, features_of, taken=schema.names, named=contexts)
    return Events(files, what=what, schema=schema, parse=parse, ends=ends, contexts=found.schema, unread=found.unread)


def json_events(files: Sequence[str], what: str, schema: pa.Schema, read: Read, contexts: Sequence[str] | None) -> Events:
    return with_contexts(files, what, schema, partial(parse_json, read=read, schema=schema), json_features, contexts)


def has_event_ids(files: Sequence[str]) -> bool:
    """Whether the first event has an EventId: then none may come twice, or be missing."""
    for _, line in islice(numbered(files[0]), 1):
        try:
            event = json.loads(line)
        except ValueError:
            return False
        return isinstance(event, dict) and bool(event.get("EventId"))
    return False


def has_dropped_events(files: Sequence[str]) -> bool:
    """Whether any event has a ``pdrop``; a text search is faster than parsing."""
    return any(DROPPED.search(line) for path in files for _, line in numbered(path))


def cb(
    paths: Paths,
    *,
    contexts: Sequence[str] | None = None,
    reward_range: tuple[float, float] = (0, 1),
    action_count: int | None = None,
) -> Imported:
    """A log in VW's ``cb`` text. Features are columns, such as ``User.country``.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
        action_count: How many actions there are; a uniform policy over them is then a candidate.
    """
    source = with_contexts(files_of(paths), "cb text", vw_lines.CB, vw_lines.parse_cb, vw_lines.cb_features, contexts)
    logs = Logs(source, **_LABEL, action_count=action_count, reward_range=reward_range, contexts=contexts)
    return Imported(logs, {} if action_count is None else {"uniform": uniform()})


def cb_adf(paths: Paths, *, contexts: Sequence[str] | None = None, reward_range: tuple[float, float] = (0, 1)) -> Imported:
    """A log in VW's ``cb_adf`` text, with two candidates: always the first action, and uniform.

    Shared features are columns, such as ``User.country``.

    Args:
        paths: A file, gzipped or not, a glob, or a list of them.
        contexts: The features to learn from, and that functions of the batch see.
        reward_range: What a reward, minus the cost, can be.
    """
    source = with_contexts(
        files_of(paths), "cb_adf text", vw_lines.ADF, vw_lines.parse_adf, vw_lines.adf_features, contexts,
        ends=lambda line: not line.strip(),
    )  # fmt: skip
    logs = Logs(source, **_LABEL, action_count="action_count", reward_range=reward_range, contexts=contexts)
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})
