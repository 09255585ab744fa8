"""The engine of a log follows from where its rounds are."""

from collections.abc import Mapping

from surelift.engines import local
from surelift.engines.local import Progress
from surelift.errors import LogsError
from surelift.logs.logs import Logs
from surelift.logs.sources.remote import SparkFrame, SqlTable
from surelift.policies import Policy
from surelift.statistics.plan import Plan, Request
from surelift.statistics.splits import Key, KeyValue
from surelift.statistics.sums import COUNT, Sums

EMPTY = "these logs are empty: no round was read. Check the path, or what leaves rounds out."


def collect(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    """Add up the plan over all rounds, where they are; ``progress`` is told the rows read so far."""
    if isinstance(logs.source, SparkFrame):
        from surelift.engines import spark

        sums = spark.collect(logs, plan, progress=progress)
    elif isinstance(logs.source, SqlTable):
        from surelift.engines import sql

        sums = sql.collect(logs, plan, progress=progress)
    else:
        return local.collect(logs, plan, progress=progress)
    local.refuse_many_segments(sums)
    return sums


def known_distributions(logs: Logs, policies: Mapping[str, Policy]) -> frozenset[str]:
    """The policies whose probabilities are known for every action, as production's are: a look at the first batch."""
    if logs.declaration.logging is None:
        return frozenset()
    plan = Plan(policies, ())
    if isinstance(logs.source, SparkFrame):
        from surelift.engines import spark

        return spark.known_distributions(logs, plan)
    if isinstance(logs.source, SqlTable):
        return frozenset()
    reading = local.first_reading(logs, plan)
    if reading is None or not reading.fit:
        return frozenset(policies)  # the log will be refused, for a better reason
    return frozenset(name for name, found in reading.probabilities.items() if found.vectors is not None)


def count_units(logs: Logs, key: Key = ()) -> dict[KeyValue, int]:
    """The number of rounds (or clusters) for each value of a key, for plans that depend on it."""
    declared = logs.declaration
    if not key and declared.rounds_before_sampling is not None:
        return {(): declared.rounds_before_sampling}
    if not key and declared.cluster is None and declared.settled_after is None and declared.where is None:
        rows = logs.count()
        counts: dict[KeyValue, int] = {(): rows} if rows else {}
    else:
        sums = collect(logs, Plan({}, (Request(COUNT, key),)))
        if sums.invalid:
            return {tuple("" for _ in key): 1}  # the log will be refused, for a better reason
        counts = dict(sorted(sums.states[Request(COUNT, key)].items())) if sums.rows else {}
    if not counts:
        raise LogsError(EMPTY)
    return counts
