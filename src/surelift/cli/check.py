"""surelift check: are these logs fit for a guarantee?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION, flag, split
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import JsonFlag, PolicyFlags, Sources
from surelift.cli.output import show
from surelift.cli.terminal import progress


def check(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    by: Annotated[
        str | None,
        flag(
            "Columns known before the action, separated by commas: their segments are tested one by one.",
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
        health = ask(logs, named or None, by=split(by), level=level, progress=tell)
    show(health, json=json)
    return 0 if health.ok else 4
