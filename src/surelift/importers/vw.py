"""Vowpal Wabbit's logs as ``Logs``, whose rewards are negative costs, and its predictions as policies."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.importers import vw_lines
from surelift.importers.events import Events, Imported, Paths, files_of, numbered
from surelift.logs.logs import Logs
from surelift.policies.readers import Array
from surelift.policies.resolve import chosen, uniform
from surelift.policies.wrappers import Given
from surelift.saving import exists

DROPPED = re.compile(rb'"pdrop"\s*:\s*0*\.?0*[1-9]')
_LABEL: dict[str, Any] = {"reward": "reward", "propensity": "propensity", "action": "action"}


def dsjson(
    paths: Paths, *, reward_range: tuple[float, float] = (0, 1), rounds_before_sampling: int | None = None
) -> Imported:
    """A log in dsjson, gzipped or not, with two candidates: always the first action, and uniform.

    The reward is minus the cost, in ``reward_range``. If events were dropped with probability ``pdrop``, the log is
    sampled: ``rounds_before_sampling`` gives the number of events before that.
    """
    files = files_of(paths)
    sampled = rounds_before_sampling is not None or has_dropped_events(files)
    parse = partial(vw_lines.parse_dsjson, sampled=sampled)
    source = Events(files, what="dsjson", schema=vw_lines.DSJSON, parse=parse)
    declared = {**_LABEL, "logging": "logging", "reward_range": reward_range}
    if sampled:
        declared |= {"keep_probability": "keep_probability", "rounds_before_sampling": rounds_before_sampling}
    logs = Logs(source, **declared)
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})


def has_dropped_events(files: Sequence[str]) -> bool:
    """Whether any event has a ``pdrop``; a text search is faster than parsing."""
    return any(DROPPED.search(line) for path in files for _, line in numbered(path))


def cb(paths: Paths, *, reward_range: tuple[float, float] = (0, 1), action_count: int | None = None) -> Imported:
    """A log in VW's ``cb`` text; with ``action_count``, a uniform policy over that many actions is a candidate."""
    source = Events(paths, what="cb text", schema=vw_lines.CB, parse=vw_lines.parse_cb)
    logs = Logs(source, **_LABEL, action_count=action_count, reward_range=reward_range)
    return Imported(logs, {} if action_count is None else {"uniform": uniform()})


def cb_adf(paths: Paths, *, reward_range: tuple[float, float] = (0, 1)) -> Imported:
    """A log in VW's ``cb_adf`` text, with two candidates: always the first action, and uniform."""
    source = Events(
        paths, what="cb_adf text", schema=vw_lines.ADF, parse=vw_lines.parse_adf, ends=lambda line: not line.strip()
    )
    logs = Logs(source, **_LABEL, action_count="action_count", reward_range=reward_range)
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})


def predictions(path: str | Path) -> Given:
    """A policy from a file that ``-p`` wrote, in the order of the events, ``0:0.8,1:0.2`` or ``0.8,0.2`` per line.

    Blank lines, which ``cb_explore_adf`` writes after every event, are skipped.
    """
    rows: list[list[float]] = []
    if not (exists(path) and Path(path).is_file()):
        raise UsageError(f"the predictions {path} cannot be read: the file does not exist.")
    for number, line in numbered(str(path)):
        if line.strip():
            rows.append(_shares(line.decode(errors="replace").strip(), f"line {number:,} of {path}"))
    return Given(Array(pa.array(rows, pa.list_(pa.float64()))))


def _shares(line: str, location: str) -> list[float]:
    # A tag may follow the numbers.
    parts = line.split()[0].split(",")
    try:
        if ":" not in line.split()[0]:
            return [float(part) for part in parts]
        by_action = {int(action): float(share) for action, share in (part.split(":") for part in parts)}
    except ValueError as error:
        raise LogsError(f"{location} has no action probabilities: {line[:80]!r}. Nothing was computed.") from error
    if sorted(by_action) != list(range(len(parts))):
        raise LogsError(f"{location} must list each action from 0 once: {line[:80]!r}. Nothing was computed.")
    return [by_action[action] for action in range(len(parts))]
