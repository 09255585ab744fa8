"""surelift check: are these logs fit for a guarantee?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import JsonFlag, PolicyFlags, Sources, by_columns
from surelift.cli.output import show
from surelift.cli.terminal import progress


def check(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    by: Annotated[
        list[str] | None,
        flag(
            "COL, or COL:EDGE,EDGE,... for bins of numbers, known before the action: its segments are tested one by one. "
            "Repeatable: each column is tested by itself.",
            group=QUESTION,
        ),
    ] = None,
    level: Annotated[float, Parameter(help="The probability of refusing right propensities.", group=QUESTION)] = 0.001,
    json: JsonFlag = False,
) -> int:
    from surelift.decisions.check import check as ask

    brought = log.imported(sources) if log.slate is None else log.pages(sources, policies.columns())
    named = policies.policies(None if brought is None else brought.policies)
    logs = log.logs(sources) if brought is None else brought.logs
    with progress(logs) as tell:
        columns = None if by is None else by_columns(by, logs.column_names())
        health = ask(logs, named or None, by=columns, level=level, progress=tell)
    show(health, json=json)
    return 0 if health.ok else 4
