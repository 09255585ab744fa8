"""What Vowpal Wabbit predicts with ``-p FILE``: for each event the probabilities of its actions."""

from pathlib import Path

import pyarrow as pa

from surelift.errors import LogsError, UsageError
from surelift.importers.events import numbered
from surelift.policies.given import Given
from surelift.policies.readers import Array


def predictions(path: str | Path) -> Given:
    """A policy from a file of predictions, in the order of the events: ``0:0.8,1:0.2`` or ``0.8,0.2`` on a line.

    Blank lines, as ``cb_explore_adf`` writes after every event, are passed over.
    """
    rows: list[list[float]] = []
    if not Path(path).is_file():
        raise UsageError(f"the predictions {path} cannot be read: there is no such file.")
    for number, line in numbered(str(path)):
        if line.strip():
            rows.append(_shares(line.decode(errors="replace").strip(), f"line {number:,} of {path}"))
    return Given(Array(pa.array(rows, pa.list_(pa.float64()))))


def _shares(line: str, place: str) -> list[float]:
    # A tag may follow the numbers.
    parts = line.split()[0].split(",")
    try:
        if ":" not in line.split()[0]:
            return [float(part) for part in parts]
        found = {int(action): float(share) for action, share in (part.split(":") for part in parts)}
    except ValueError as error:
        raise LogsError(f"{place} holds no probabilities of actions: {line[:80]!r}. Nothing was computed.") from error
    if sorted(found) != list(range(len(parts))):
        raise LogsError(f"{place} does not name each action from 0 on once: {line[:80]!r}. Nothing was computed.")
    return [found[action] for action in range(len(parts))]
