"""surelift select: which candidate should replace production?"""

from surelift.cli.options import LogFlags, MethodFlags, OutputFlags, OverFlags, PolicyFlags, Sources
from surelift.cli.output import deliver, progress
from surelift.decisions.select import select as ask


def select(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    """Which candidate should replace production? The one surely better by most, else none.

    Exit code 0 when one is chosen, 3 when production stays.
    """
    named = policies.required()
    logs = log.logs(sources)
    with progress() as tell:
        answer = ask(logs, named, **question.arguments(), **method.arguments(), progress=tell)
    deliver(answer, output)
    return 0 if answer.certified else 3
