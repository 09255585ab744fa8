"""surelift check: are these logs fit for a guarantee?"""

from surelift.cli.options import JsonFlag, LogFlags, PolicyFlags, Sources
from surelift.cli.output import progress, show
from surelift.decisions.check import check as ask


def check(
    sources: Sources, /, *, log: LogFlags = LogFlags(), policies: PolicyFlags = PolicyFlags(), json: JsonFlag = False
) -> int:
    """Are these logs fit for a guarantee, and what do the candidates' weights look like?

    Exit code 0 when fit, 4 when not.
    """
    logs = log.logs(sources)
    with progress() as tell:
        health = ask(logs, policies.policies() or None, progress=tell)
    show(health, json=json)
    return 0 if health.ok else 4
