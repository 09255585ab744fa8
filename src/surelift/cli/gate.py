"""surelift gate: may the candidate be launched?"""

from surelift.cli.compare import compare, one
from surelift.cli.options import LogFlags, MethodFlags, OutputFlags, OverFlags, PolicyFlags, Sources
from surelift.cli.output import progress, say, show
from surelift.decisions.check import check


def gate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    """May the candidate be launched? Checks the logs, then compares: for scripts and merge checks.

    Exit code 0 when certified, 3 when not, 4 when the logs are not fit, 2 when the question is wrong.
    """
    candidate = one(policies)
    logs = log.logs(sources)
    with progress() as tell:
        health = check(logs, candidate, progress=tell)
    if not health.ok:
        show(health, json=output.json)
        return 4
    if health.findings:
        say(str(health))
    return compare(sources, log=log, policies=policies, question=question, method=method, output=output)
