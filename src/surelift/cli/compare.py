"""surelift compare: is the new policy better than production?"""

from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, OutputFlags, OverFlags, SegmentFlags
from surelift.cli.outcomes import OutcomeFlag, parse_outcomes
from surelift.cli.output import asked, deliver
from surelift.cli.policy_flags import PolicyFlags, Sources


def compare(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    segments: SegmentFlags = SegmentFlags(),
    outcome: OutcomeFlag = None,
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.compare import compare as ask
    from surelift.results.segments import Segments

    arguments = {**question.arguments(), **method.arguments(), **segments.arguments()}
    if outcome:
        arguments["outcomes"] = parse_outcomes(outcome)
    answer = asked(ask, sources, log, policies, output, alone=True, **arguments)
    deliver(answer, output, log, policies)
    certified = len(answer.certified) == len(answer) if isinstance(answer, Segments) else answer.certified
    return 0 if certified else 3
