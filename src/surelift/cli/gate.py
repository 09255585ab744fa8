"""surelift gate: can the candidate be launched?"""

from typing import Annotated

from surelift.cli.flag import QUESTION, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, OutputFlags, OverFlags, SegmentFlags
from surelift.cli.outcomes import CLAIM, parse_outcome
from surelift.cli.output import asked, deliver, in_flags, show
from surelift.cli.policy_flags import PolicyFlags, Sources
from surelift.cli.terminal import print_answer, say
from surelift.saving import as_json


def gate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    guardrail: Annotated[
        list[str] | None,
        flag(
            "COL:CLAIM",
            "An outcome beside the reward that must not get worse by more than X: COL:at-most-worse=X. After colons: "
            f"{CLAIM}. Delta is split evenly over the improvement and the guardrails. Repeatable.",
            group=QUESTION,
        ),
    ] = None,
    method: MethodFlags = MethodFlags(),
    segments: SegmentFlags = SegmentFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.gate import gate as ask
    from surelift.results.segments import Segments

    rails = [parse_outcome(text, "--guardrail") for text in guardrail or ()]
    arguments = {"guardrails": rails, **question.arguments(), **method.arguments(), **segments.arguments()}
    answer = asked(ask, sources, log, policies, output, alone=True, **arguments)
    if isinstance(answer, Segments):
        deliver(answer, output, log, policies)
        return 0 if len(answer.certified) == len(answer) else 3
    if not answer.health.ok:
        if output.json:  # the keys of a gate, and why it is shut
            print(as_json({**answer.to_dict(), **in_flags(answer.health).to_dict()}, indent=2), flush=True)
        else:
            show(answer.health, json=False)
        return 4
    if answer.health.findings:
        # With --json, standard output holds one answer and nothing else.
        (say if output.json else print_answer)(str(in_flags(answer.health)))
    deliver(answer, output, log, policies)
    return 0 if answer.certified else 3
