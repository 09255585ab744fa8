"""What a log must tell before its rounds can be judged: how many each of several loggers took, where it is not declared."""

from dataclasses import replace

from surelift.engines.collect import collect
from surelift.errors import LogsError
from surelift.logs.declaration import Declaration
from surelift.logs.logs import Logs
from surelift.statistics.loggers import LoggerCounts
from surelift.statistics.plan import Plan, Request


def completed(logs: Logs, known: Declaration | None = None) -> Logs:
    """The same logs, with what a first pass finds declared; ``known`` says what was found before."""
    declared = logs.declaration
    if declared.balances_counts and declared.logger_rounds is None:
        counts = (known and known.logger_rounds) or _logger_rounds(logs)
        declared = replace(declared, logger_rounds=counts)
    return logs if declared is logs.declaration else logs.declared_as(declared)


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
            raise LogsError(
                f"logger {name!r} took none of the {sums.rows:,} rounds; leave it out of loggers=, or check the column "
                f"{logs.declaration.logger!r}."
            )
    return found
