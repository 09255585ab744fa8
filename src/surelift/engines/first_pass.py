"""What a log must tell before its rounds can be judged: its newest time, and how many rounds each logger took."""

from dataclasses import replace

from surelift.engines.collect import collect
from surelift.errors import LogsError, UsageError
from surelift.logs.batch import Needs
from surelift.logs.declaration import Declaration
from surelift.logs.logs import Logs
from surelift.logs.settled import AS_OF_NEEDED, as_moment, newest
from surelift.logs.sources.remote import SparkFrame, SqlTable
from surelift.statistics.loggers import LoggerCounts
from surelift.statistics.plan import Plan, Request


def completed(logs: Logs, known: Declaration | None = None) -> Logs:
    """The same logs, with what a first pass finds declared; ``known`` says what was found before."""
    declared = logs.declaration
    if declared.settled_after is not None and declared.as_of is None:
        as_of = known.as_of if known is not None and known.as_of is not None else as_moment(_newest(logs))
        logs = logs.declared_as(replace(declared, as_of=as_of))
    declared = logs.declaration
    if declared.balances_counts and declared.logger_rounds is None:
        counts = (known and known.logger_rounds) or _logger_rounds(logs)
        logs = logs.declared_as(replace(declared, logger_rounds=counts))
    return logs


def _newest(logs: Logs) -> int | None:
    time = logs.declaration.time
    assert time is not None
    if isinstance(logs.declaration.settled_after, float):
        raise UsageError(AS_OF_NEEDED)
    if isinstance(logs.source, SparkFrame):
        from surelift.engines import spark

        return spark.newest_time(logs.source, time)
    if isinstance(logs.source, SqlTable):
        raise UsageError("a database does not tell the newest time of its rounds; give as_of=, or logs.here().")
    return newest(logs.source.batches(Needs(read=(time,))), time)


def _logger_rounds(logs: Logs) -> dict[str, int]:
    loggers = logs.declaration.loggers or {}
    # Any shares do, to read the rows.
    any_shares = replace(logs.declaration, logger_shares=dict.fromkeys(loggers, 1.0 / len(loggers)))
    statistic = LoggerCounts(len(loggers))
    sums = collect(logs.declared_as(any_shares), Plan({}, (Request(statistic),)))
    if sums.invalid or not sums.rows:
        return dict.fromkeys(loggers, 1)  # the log will be refused, for a better reason
    found = dict(zip(loggers, map(int, sums.get(statistic)), strict=True))
    for name, count in found.items():
        if not count:
            raise LogsError(f"logger {name!r} took none of the {sums.rows:,} rounds; leave it out of loggers=.")
    return found
