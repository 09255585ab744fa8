"""Predictions written by Vowpal Wabbit's ``-p FILE``: the probabilities of each event's actions."""

from pathlib import Path

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.importers.events import numbered
from surelift.policies.given import Given
from surelift.policies.readers import Array


def predictions(path: str | Path) -> Given:
    """A policy from a file of predictions in the order of the events, ``0:0.8,1:0.2`` or ``0.8,0.2`` per line.

    Blank lines, which ``cb_explore_adf`` writes after every event, are skipped.
    """
    rows: list[list[float]] = []
    if not Path(path).is_file():
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
