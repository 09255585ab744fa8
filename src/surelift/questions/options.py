"""The options that questions share, checked once, before anything is read."""

from collections.abc import Mapping
from typing import Any

from surelift.errors import UsageError, is_number
from surelift.policies import Policy
from surelift.statistics.splits import Segment

SAMPLED_SEGMENTS = (
    "by= needs the number of rounds of each segment before sampling, which these logs do not say; leave keep_probability "
    "out if it depended on the segment alone."
)


def check_delta(delta: float) -> float:
    if not (is_number(delta) and 0.0 < delta < 1.0):
        raise UsageError(f"delta, the chance of being wrong, must lie strictly between 0 and 1, but is {delta!r}.")
    return float(delta)


def check_margin(margin: float) -> float:
    if not (is_number(margin) and abs(margin) < float("inf")):
        raise UsageError(f"margin must be a finite number, but is {margin!r}.")
    return float(margin)


def check_segments(
    logs: Any, by: Any, segments: Any, policies: Mapping[str, Policy], *, sampled: bool = False
) -> Segment | None:
    """Refuse, before anything is read, segments that were not known before the action."""
    if by is None:
        if segments is not None:
            raise UsageError("segments= lists the segments of a column; name it in by=.")
        return None
    if not isinstance(by, str):
        raise UsageError(f"by must name a column of segments, but is a {type(by).__name__}.")
    logs.require_columns(by, role="by", single=True)
    declared = logs.declaration
    known = {declared.time, declared.cluster, declared.cluster_size, *(declared.contexts or ())}
    read = {name for policy in policies.values() for name in policy.needs(logs).read}
    if by in (set(logs.needs().read) | read) - known:
        raise UsageError(
            f"by {by!r} is a column that depends on the action or its reward; a segment must be known before the action, "
            "such as a country or a device."
        )
    if segments is not None and (isinstance(segments, str) or not segments):
        raise UsageError("segments must list the names of the segments, one or more.")
    named = None if segments is None else tuple(str(name) for name in segments)
    if named is not None and len(set(named)) != len(named):
        raise UsageError("segments lists a name twice.")
    if declared.is_sampled and not sampled:
        raise UsageError(SAMPLED_SEGMENTS)
    return Segment(by, named)
