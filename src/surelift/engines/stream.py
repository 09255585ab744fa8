"""The embedded engine: one batch after the other, in this process, in memory that does not grow with the log."""

from collections.abc import Callable

from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.statistics.adding import add_up
from surelift.statistics.plan import Plan
from surelift.statistics.sums import Sums


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up the plan over all rounds; ``progress`` is told the rows read so far."""
    needs = Needs()
    for policy in plan.policies.values():
        needs = needs + policy.needs(logs)
    sums = Sums()
    for batch in logs.batches(needs):
        sums = sums + add_up(Rounds(logs, batch), plan)
        if progress is not None:
            progress(sums.rows)
    return sums
