"""surelift gate: can the candidate be launched?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, OutputFlags, OverFlags, PolicyFlags, Sources
from surelift.cli.outcomes import CLAIM, parse_outcome
from surelift.cli.output import asked, deliver, show


def gate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    guardrail: Annotated[
        list[str] | None,
        Parameter(
            help=f"COL:at-most-worse=X: an outcome beside the reward that must not get worse by more than X. After colons: "
            f"{CLAIM}. Delta is split evenly over the improvement and the guardrails. Repeatable.",
            show_default=False,
            group=QUESTION,
        ),
    ] = None,
    method: MethodFlags = MethodFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.gate import gate as ask

    rails = [parse_outcome(text, "--guardrail") for text in guardrail or ()]
    arguments = {"guardrails": rails, **question.arguments(), **method.arguments()}
    answer = asked(ask, sources, log, policies, output, alone=True, **arguments)
    if not answer.health.ok:
        show(answer.health, json=output.json)
        return 4
    if answer.health.findings:
        show(answer.health, json=False)
    deliver(answer, output, log, policies)
    return 0 if answer.certified else 3
