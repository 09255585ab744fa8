"""surelift select: which candidate should replace production?"""

from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.flag import ANSWER, QUESTION, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, OutputFlags, OverFlags, SegmentFlags
from surelift.cli.output import asked, deliver
from surelift.cli.policy_flags import PolicyFlags, Sources


def select(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    choose: Annotated[
        Literal["improvement", "value"],
        Parameter(
            help="improvement: a candidate that is certified better, or production. value: the policy, of candidates and "
            "production, whose value has the largest lower bound; it is not certified to be better than production.",
            metavar="improvement|value",
            show_choices=False,
            group=QUESTION,
        ),
    ] = "improvement",
    many: Annotated[
        Literal["e-holm", "simultaneous", "e-bh"] | None,
        flag(
            "e-holm|simultaneous|e-bh",
            "How several candidates share delta. e-holm: certifies the most, mostly without an amount, from independent "
            "rounds, at one look if something drifts. simultaneous: a bound for each, at any number of looks. e-bh: for "
            "dozens of candidates, a list of discoveries at a false discovery rate of delta, and none is chosen. By "
            "default e-holm, for several candidates by a method with e-values.",
            show_choices=False,
            group=ANSWER,
        ),
    ] = None,
    segments: SegmentFlags = SegmentFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.select import select as ask
    from surelift.results.segments import Segments

    arguments = {**question.arguments(), **method.arguments(), **segments.arguments(), "choose": choose, "many": many}
    answer = asked(ask, sources, log, policies, output, **arguments)
    deliver(answer, output, log, policies)
    answers = answer.values() if isinstance(answer, Segments) else [answer]
    return 0 if choose == "value" or all(one.discoveries for one in answers) else 3
