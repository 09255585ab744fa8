"""surelift power: how many more rounds would certify it?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import ANSWER, QUESTION, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import AnswerFlags, DeltaFlag, OverFlags, SegmentFlags, control
from surelift.cli.output import asked, show
from surelift.cli.policy_flags import PolicyFlags, Sources


def power(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    improvement: Annotated[
        float | None,
        flag("X", "The true improvement to assume; by default the estimate.", group=QUESTION),
    ] = None,
    power: Annotated[float, Parameter(help="The probability of certifying it.", metavar="P", group=QUESTION)] = 0.8,
    delta: DeltaFlag = 0.05,
    method: Annotated[
        str, Parameter(help="The bound; blocks allow one look at a new log.", metavar="mixture|blocks", group=ANSWER)
    ] = "mixture",
    narrowed_by: Annotated[
        str,
        Parameter(
            name="--control", help="What narrows the bound: auto, none, weights or model.", metavar="NAME", group=ANSWER
        ),
    ] = "auto",
    segments: SegmentFlags = SegmentFlags(),
    output: AnswerFlags = AnswerFlags(),
) -> int:
    from surelift.decisions.power import power as ask

    forecast = {"improvement": improvement, "power": power, "delta": delta}
    arguments = {
        **question.arguments(),
        **forecast,
        "method": method,
        "control": control(narrowed_by),
        **segments.arguments(),
    }
    show(asked(ask, sources, log, policies, alone=True, **arguments), json=output.json)
    return 0
