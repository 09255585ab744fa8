"""surelift evaluate: what is each policy worth?"""

from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, MomentFlags, OutputFlags, SegmentFlags, SidesFlag
from surelift.cli.output import asked, deliver
from surelift.cli.policy_flags import PolicyFlags, Sources


def evaluate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    method: MethodFlags = MethodFlags(),
    moments: MomentFlags = MomentFlags(),
    sides: SidesFlag = "both",
    segments: SegmentFlags = SegmentFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.evaluate import evaluate as ask

    arguments = {"sides": sides, **segments.arguments(), **method.arguments(**moments.arguments())}
    answer = asked(ask, sources, log, policies, output, **arguments)
    deliver(answer, output, log, policies)
    return 0
