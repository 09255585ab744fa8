"""The same question of every segment of a log, each answered at its share of delta."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from surelift.decisions.asking import EMPTY, Progress
from surelift.decisions.basis import Basis
from surelift.decisions.result import ByName, Result
from surelift.engines import collect_by
from surelift.errors import LogsError, UsageError
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.logs import Logs
from surelift.statistics import Plan, Sums
from surelift.statistics.segments import count_segments

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True, repr=False)
class Segments(ByName[R], Generic[R]):
    """The answers for each segment, by its name; all hold at once, each at delta divided by their number."""

    results: Mapping[str, R]
    by: str
    delta: float
    rounds: int
    basis: Basis = field(compare=False)

    @property
    def certified(self) -> tuple[str, ...]:
        """The segments whose improvement is certified."""
        return tuple(name for name, result in self.results.items() if getattr(result, "certified", False))

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by, "delta": self.delta, "rounds": self.rounds,
            "segments": {name: result.to_dict() for name, result in self.results.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [{self.by: name, **record} for name, result in self.results.items() for record in result.records()]


def answer_by(
    logs: Logs,
    by: str,
    *,
    delta: float,
    plan: Callable[[Callable[[], int]], Plan],
    answer: Callable[[Plan, Sums, float, str], R],
    basis: Callable[[Sums], Basis],
    progress: Progress | None,
) -> Segments[R]:
    """Answer for each segment at its share of delta.

    ``plan`` is told how to count the rounds, ``answer`` its plan, the sums, its delta and the name of the segment.
    """
    found = _ask_by(logs, by, plan, progress=progress)
    share = delta / len(found)
    results = {name: answer(planned, sums, share, name) for name, (planned, sums) in found.items()}
    together = Sums()
    for _, sums in found.values():
        # Only what identifies the rounds: sums made for different numbers of rounds do not add up.
        together = together + Sums(rows=sums.rows, units=sums.units, fingerprint=sums.fingerprint)
    return Segments(results, by, delta, together.units, basis(together))


def _ask_by(
    logs: Logs, by: str, plan: Callable[[Callable[[], int]], Plan], *, progress: Progress | None
) -> dict[str, tuple[Plan, Sums]]:
    """Count the rounds of each segment, plan for each with its own number, and add up in one pass."""
    if not isinstance(by, str):
        raise UsageError(f"by must name a column of segments, but is a {type(by).__name__}.")
    if logs.keep_probability is not None:
        raise UsageError(
            "by= needs the number of rounds of each segment before sampling, which these logs do not say; leave "
            "keep_probability out if it depended on the segment alone."
        )
    counts = count_segments(logs, by)
    if not counts:
        raise LogsError(EMPTY)
    plans = {name: plan(partial(int, rounds)) for name, rounds in counts.items()}
    found = collect_by(logs, plans, by, progress=progress)
    invalid: dict[Fault, Tally] = {}
    for sums in found.values():
        invalid = merge_tallies(invalid, sums.invalid)
    refuse_faults(invalid, rows=sum(counts.values()))
    return {name: (plans[name], sums) for name, sums in found.items()}
