"""surelift check: are these logs fit for a guarantee?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import AnswerFlags, by_columns
from surelift.cli.output import show
from surelift.cli.policy_flags import PolicyFlags, Sources
from surelift.cli.progress import progress


def check(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    by: Annotated[
        list[str] | None,
        flag(
            "COL[:EDGE,...]",
            "Column of segments known before the action, or bins of its numbers (age:18,30,50), tested one by one. "
            "Repeatable: each column is tested by itself.",
            group=QUESTION,
        ),
    ] = None,
    level: Annotated[
        float, Parameter(help="The probability of refusing right propensities.", metavar="P", group=QUESTION)
    ] = 0.001,
    output: AnswerFlags = AnswerFlags(),
) -> int:
    from surelift.decisions.check import check as ask

    brought = log.imported(sources) if log.slate is None else log.pages(sources, policies.columns())
    named = policies.policies(None if brought is None else brought.policies)
    logs = log.logs(sources) if brought is None else brought.logs
    with progress(logs) as tell:
        columns = None if by is None else by_columns(by, logs.column_names())
        health = ask(logs, named or None, by=columns, level=level, progress=tell)
    show(health, json=output.json)
    return 0 if health.ok else 4
