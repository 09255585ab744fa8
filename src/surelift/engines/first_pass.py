"""What a log must tell before its rounds can be judged: its newest time, and how many rounds each logger took."""

from typing import Any

from surelift.engines.collect import collect
from surelift.errors import UsageError
from surelift.logs.batch import Needs
from surelift.logs.sources.remote import SparkFrame, SqlTable
from surelift.statistics.audits import Audit
from surelift.statistics.plan import Plan, Request
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs
from surelift.traits.settled import as_moment, newest


def completed(logs: Logs, known: Declaration | None = None) -> Logs:
    """The same logs, with what a first pass finds declared; ``known`` says what was found before."""
    if logs.declaration.is_complete:
        return logs
    declared = logs.declaration if known is None else logs.declaration.found_in(known)

    def newest_of(column: str) -> str:
        return as_moment(_newest(logs, column))

    def audited(declaration: Declaration) -> Any:
        sums = collect(logs.declared_as(declaration), Plan({}, (Request(Audit("propensity")),)))
        return None if sums.invalid or not sums.rows else sums.get(Audit("propensity"))

    whole = declared.completed(newest_of, audited)
    return logs if whole == logs.declaration else logs.declared_as(whole)


def _newest(logs: Logs, time: str) -> int | None:
    if isinstance(logs.source, SparkFrame):
        from surelift.engines import spark

        return spark.newest_time(logs.source, time)
    if isinstance(logs.source, SqlTable):
        raise UsageError("a database does not tell the newest time of its rounds; give as_of=, or logs.here().")
    return newest(logs.source.batches(Needs(read=(time,))), time)
