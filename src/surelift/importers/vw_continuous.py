"""Vowpal Wabbit's continuous actions (CATS) as ``Logs`` with densities.

One JSON object per line, as logged by VW's RL client library.

    {"_label_ca": {"cost": -1, "pdf_value": 0.206, "action": 5.37}, "Timestamp": "...", "c": {...}, "pdrop": 0.5}
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from surelift.errors import UsageError
from surelift.importers.events import Imported, Paths, files_of
from surelift.importers.json_lines import Row, is_number, keep_probability, text_or_null
from surelift.importers.vw import has_dropped_events, json_events
from surelift.logs.densities import UniformDensity
from surelift.policies.resolve import as_policy
from surelift.traits.logs import Logs

SCHEMA = pa.schema(
    [
        ("reward", pa.float64()), ("propensity", pa.float64()), ("action", pa.float64()), ("keep_probability", pa.float64()),
        ("time", pa.string()), ("event", pa.string()),
    ]
)  # fmt: skip


def cats(
    paths: Paths,
    *,
    action_range: tuple[float, float] | None = None,
    contexts: Sequence[str] | None = None,
    reward_range: tuple[float, float] = (0, 1),
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
    files = files_of(paths)
    sampled = rounds_before_sampling is not None or has_dropped_events(files)
    read = partial(_round, sampled=sampled)
    source = json_events(files, "dsjson with continuous actions (CATS)", SCHEMA, read, contexts)
    declared: dict[str, Any] = {"reward_range": reward_range, "contexts": contexts}
    if sampled:
        declared |= {"keep_probability": "keep_probability", "rounds_before_sampling": rounds_before_sampling}
    logs = Logs(source, reward="reward", propensity="propensity", action="action", density=True, **declared)
    if action_range is None:
        return Imported(logs)
    if not (isinstance(action_range, Sequence) and len(action_range) == 2):
        raise UsageError(f"action_range must be the least and the largest action, but is {action_range!r}.")
    return Imported(logs, {"uniform": as_policy(UniformDensity(*action_range))})


def _round(event: dict[str, Any], location: str, *, sampled: bool) -> list[Row] | str:
    label = event.get("_label_ca")
    if not isinstance(label, dict):
        return "events have no _label_ca; read those of one action of several by the format dsjson"
    for name in ("cost", "pdf_value", "action"):
        if not is_number(label.get(name)):
            return f"events have no number in {name} of _label_ca, which has no default"
    kept = keep_probability(event, sampled)
    if isinstance(kept, str):
        return kept
    row = (
        -float(label["cost"]) + 0.0, float(label["pdf_value"]), float(label["action"]), kept,
        text_or_null(event.get("Timestamp")), text_or_null(event.get("EventId")),
    )  # fmt: skip
    return [row]
