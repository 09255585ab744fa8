"""Vowpal Wabbit's logs as ``Logs``: rewards are negative costs."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from surelift.importers import dsjson_lines, vw_text
from surelift.importers.events import Events, files_of, numbered
from surelift.importers.imported import Imported
from surelift.logs.logs import Logs
from surelift.policies.resolve import chosen, uniform

DROPPED = re.compile(rb'"pdrop"\s*:\s*0*\.?0*[1-9]')
Paths = str | Path | Sequence[str | Path]


def dsjson(
    paths: Paths, *, reward_range: tuple[float, float] = (0, 1), rounds_before_sampling: int | None = None
) -> Imported:
    """A log in dsjson, gzipped or not, with two candidates: always the first action, and uniform.

    The reward is minus the cost, in ``reward_range``. If events were dropped with probability ``pdrop``, the log is
    sampled: ``rounds_before_sampling`` gives the number of events before that.
    """
    files = files_of(paths)
    sampled = rounds_before_sampling is not None or _has_dropped_events(files)
    parse = partial(dsjson_lines.parse, sampled=sampled)
    source = Events(files, what="dsjson", schema=dsjson_lines.SCHEMA, parse=parse)
    declared: dict[str, Any] = {
        "reward": "reward", "propensity": "propensity", "action": "action", "logging": "logging",
        "reward_range": reward_range,
    }  # fmt: skip
    if sampled:
        declared |= {"keep_probability": "keep_probability", "rounds_before_sampling": rounds_before_sampling}
    return Imported(Logs(source, **declared), {"first": chosen("first_action"), "uniform": uniform()})


def _has_dropped_events(files: Sequence[str]) -> bool:
    """Whether any event has a ``pdrop``; a text search is faster than parsing."""
    return any(DROPPED.search(line) for path in files for _, line in numbered(path))


def cb(paths: Paths, *, reward_range: tuple[float, float] = (0, 1), action_count: int | None = None) -> Imported:
    """A log in VW's ``cb`` text; with ``action_count``, a uniform policy over that many actions is a candidate."""
    source = Events(paths, what="cb text", schema=vw_text.CB, parse=vw_text.parse_cb)
    logs = Logs(
        source, reward="reward", propensity="propensity", action="action", action_count=action_count,
        reward_range=reward_range,
    )  # fmt: skip
    return Imported(logs, {} if action_count is None else {"uniform": uniform()})


def cb_adf(paths: Paths, *, reward_range: tuple[float, float] = (0, 1)) -> Imported:
    """A log in VW's ``cb_adf`` text, with two candidates: always the first action, and uniform."""
    source = Events(
        paths, what="cb_adf text", schema=vw_text.ADF, parse=vw_text.parse_adf, ends=lambda line: not line.strip()
    )
    logs = Logs(
        source, reward="reward", propensity="propensity", action="action", action_count="action_count",
        reward_range=reward_range,
    )  # fmt: skip
    return Imported(logs, {"first": chosen("first_action"), "uniform": uniform()})
