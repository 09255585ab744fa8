"""The same question of every segment of a log, each answered at its share of delta."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from surelift.decisions.asking import EMPTY, Progress
from surelift.engines import collect_by
from surelift.errors import LogsError, UsageError
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.results.provenance import Provenance
from surelift.results.result import R
from surelift.results.segments import Segments
from surelift.statistics import Plan, Sums
from surelift.statistics.segments import count_segments


@dataclass(frozen=True, slots=True)
class By:
    """A column of segments, and their names where they were declared."""

    column: str
    segments: tuple[str, ...] | None

    @property
    def one_look(self) -> bool:
        """Whether delta is divided by a number that grows as segments appear, and so may be looked at only once."""
        return self.segments is None

    def describe(self) -> dict[str, Any]:
        return {"by": self.column, **({} if self.segments is None else {"segments": list(self.segments)})}


def check_by(logs: Logs, by: Any, segments: Any, policies: Mapping[str, Policy]) -> By | None:
    """Refuse, before anything is read, segments that were not known before the action."""
    if by is None:
        if segments is not None:
            raise UsageError("segments= lists the segments of a column; name it in by=.")
        return None
    if not isinstance(by, str):
        raise UsageError(f"by must name a column of segments, but is a {type(by).__name__}.")
    logs.require_columns(by, role="by", single=True)
    own = logs.needs().read
    known = {
        logs.declaration.time,
        logs.declaration.cluster,
        logs.declaration.cluster_size,
        *(logs.declaration.contexts or ()),
    }
    read = {name for policy in policies.values() for name in policy.needs(logs).read}
    if by in (set(own) | read) - known:
        raise UsageError(
            f"by {by!r} is a column that tells of the action or of what it earned; a segment must have been known before "
            "the action, such as a country or a device."
        )
    if segments is not None and (isinstance(segments, str) or not segments):
        raise UsageError("segments must list the names of the segments, one or more.")
    named = None if segments is None else tuple(str(name) for name in segments)
    if named is not None and len(set(named)) != len(named):
        raise UsageError("segments lists a name twice.")
    return By(by, named)


def answer_by(
    logs: Logs,
    by: "By",
    *,
    delta: float,
    plan: Callable[[Callable[[], int]], Plan],
    answer: Callable[[Plan, Sums, float, str], R],
    provenance: Callable[[Sums], Provenance],
    progress: Progress | None,
) -> Segments[R]:
    """Answer for each segment at its share of delta.

    ``plan`` is told how to count the rounds, ``answer`` its plan, the sums, its delta and the name of the segment.
    """
    found = _ask_by(logs, by, plan, progress=progress)
    share = delta / (len(found) if by.segments is None else len(by.segments))
    results = {name: answer(planned, sums, share, name) for name, (planned, sums) in found.items()}
    together = Sums()
    for _, sums in found.values():
        # Only what identifies the rounds: sums made for different numbers of rounds do not add up.
        together = together + Sums(rows=sums.rows, units=sums.units, fingerprint=sums.fingerprint)
    return Segments(results, by.column, delta, together.units, provenance(together))


def _ask_by(
    logs: Logs, by: "By", plan: Callable[[Callable[[], int]], Plan], *, progress: Progress | None
) -> dict[str, tuple[Plan, Sums]]:
    """Count the rounds of each segment, plan for each with its own number, and add up in one pass."""
    if logs.declaration.keep_probability is not None:
        raise UsageError(
            "by= needs the number of rounds of each segment before sampling, which these logs do not say; leave "
            "keep_probability out if it depended on the segment alone."
        )
    counts = count_segments(logs, by.column, by.segments)
    if not counts:
        raise LogsError(EMPTY)
    plans = {name: plan(partial(int, rounds)) for name, rounds in counts.items()}
    found = collect_by(logs, plans, by.column, progress=progress)
    invalid: dict[Fault, Tally] = {}
    for sums in found.values():
        invalid = merge_tallies(invalid, sums.invalid)
    refuse_faults(invalid, rows=sum(counts.values()))
    return {name: (plans[name], sums) for name, sums in found.items()}
