"""The engine of a log follows from where its rounds are."""

from collections.abc import Mapping

from surelift import capabilities
from surelift.engines import local
from surelift.engines.local import Progress
from surelift.errors import LogsError
from surelift.logs.sources.remote import SparkFrame, SqlTable
from surelift.policies import Policy
from surelift.statistics.plan import Plan, Request
from surelift.statistics.splits import Key, KeyValue
from surelift.statistics.sums import COUNT, Sums
from surelift.traits.logs import Logs

EMPTY = "these logs are empty: no round was read. Check the path, or what leaves rounds out."


def engine_features(logs: Logs) -> frozenset[str]:
    """What the table of capabilities knows the engine of a log by."""
    found = {SparkFrame: "Spark", SqlTable: "database"}
    return frozenset(name for kind, name in found.items() if isinstance(logs.source, kind))


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
    if capabilities.missing(logs.declaration.features, "control by weights"):
        return frozenset()
    plan = Plan(policies, ())
    if isinstance(logs.source, SparkFrame):
        from surelift.engines import spark

        return spark.known_distributions(logs, plan)
    if isinstance(logs.source, SqlTable):
        return frozenset()
    batch = local.first_batch(logs, plan)
    if batch is None or not batch.fit:
        return frozenset(policies)  # the log will be refused, for a better reason
    return frozenset(name for name, found in batch.policies.items() if found.vectors is not None)


def count_units(logs: Logs, key: Key = ()) -> dict[KeyValue, int]:
    """The number of rounds (or clusters) for each value of a key, for plans that depend on it."""
    known = None if key else logs.declaration.units_of(logs.count)
    if known is not None:
        counts: dict[KeyValue, int] = {(): known} if known else {}
    else:
        sums = collect(logs, Plan({}, (Request(COUNT, key),)))
        if sums.invalid:
            return {tuple("" for _ in key): 1}  # the log will be refused, for a better reason
        counts = dict(sorted(sums.states[Request(COUNT, key)].items())) if sums.rows else {}
    if not counts:
        raise LogsError(EMPTY)
    return counts
