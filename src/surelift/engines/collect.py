"""The engine of a log follows from where its rounds are, and so does what a first pass finds before they can be judged."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from surelift import capabilities
from surelift.engines import local
from surelift.engines.local import Progress
from surelift.errors import LogsError
from surelift.logs.sources.tables import SparkFrame, SqlTable
from surelift.policies import Policy
from surelift.statistics.bets import Audit
from surelift.statistics.plan import Plan, Request
from surelift.statistics.splits import Key, KeyValue
from surelift.statistics.sums import COUNT, Sums
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs
from surelift.traits.settled import as_moment

EMPTY = "these logs are empty: no round was read. Check the path, or what leaves rounds out."
REMOTE: dict[type, tuple[str, str]] = {SparkFrame: ("Spark", "spark"), SqlTable: ("database", "sql")}
"""By kind of source: what the table of capabilities knows its engine by, and the module."""


def engine_features(logs: Logs) -> frozenset[str]:
    """What the table of capabilities knows the engine of a log by."""
    return frozenset({REMOTE[type(logs.source)][0]}) if type(logs.source) in REMOTE else frozenset()


def _engine(logs: Logs) -> Any:
    """Imported only where it is needed."""
    return import_module(f"surelift.engines.{REMOTE[type(logs.source)][1]}") if type(logs.source) in REMOTE else local


def collect(logs: Logs, plan: Plan, *, progress: Progress | None = None) -> Sums:
    """Add up the plan over all rounds, where they are; ``progress`` is told the rows read so far."""
    sums: Sums = _engine(logs).collect(logs, plan, progress=progress)
    return sums


def known_distributions(logs: Logs, policies: Mapping[str, Policy]) -> frozenset[str]:
    """The policies whose probabilities are known for every action, as production's are: a look at the first batch."""
    if capabilities.missing(logs.declaration.features, "control by weights"):
        return frozenset()
    found: frozenset[str] = _engine(logs).known_distributions(logs, Plan(policies, ()))
    return found


def count_units(logs: Logs, key: Key = ()) -> dict[KeyValue, int]:
    """The number of rounds (or clusters) for each value of a key, for plans that depend on it."""
    known = None if key else logs.declaration.units_of(logs.count)
    if known is not None:
        counts: dict[KeyValue, int] = {(): known} if known else {}
    else:
        sums = collect(logs, Plan({}, (Request(COUNT, key),)))
        if sums.invalid:
            return {tuple("" for _ in key): 1}  # the log will be refused, for a better reason
        counts = dict(sums.by(COUNT, *key)) if sums.rows else {}
    if not counts:
        raise LogsError(EMPTY)
    return counts


def completed(logs: Logs, known: Declaration | None = None) -> Logs:
    """The same logs, with what a first pass finds declared: the newest time, and how many rounds each logger took.

    ``known`` says what was found before.
    """
    if logs.declaration.is_complete:
        return logs
    declared = logs.declaration if known is None else logs.declaration.found_in(known)

    def newest_of(column: str) -> str:
        return as_moment(_engine(logs).newest_time(logs.source, column))

    def audited(declaration: Declaration) -> Any:
        sums = collect(logs.declared_as(declaration), Plan({}, (Request(Audit("propensity")),)))
        return None if sums.invalid or not sums.rows else sums.get(Audit("propensity"))

    whole = declared.completed(newest_of, audited)
    return logs if whole == logs.declaration else logs.declared_as(whole)
