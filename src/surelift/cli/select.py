"""surelift select: which candidate should replace production?"""

from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.options import ANSWER, LogFlags, MethodFlags, OutputFlags, OverFlags, PolicyFlags, Sources
from surelift.cli.output import asked, deliver


def select(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    many: Annotated[
        Literal["simultaneous", "e-bh"],
        Parameter(
            help="simultaneous: all bounds hold at once, and one candidate is chosen. e-bh: for dozens of candidates, a "
            "list of discoveries at a false discovery rate of delta, and none is chosen.",
            group=ANSWER,
        ),
    ] = "simultaneous",
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.select import select as ask

    arguments = {**question.arguments(), **method.arguments(), "many": many}
    answer = asked(ask, sources, log, policies, output, **arguments)
    deliver(answer, output, log, policies)
    return 0 if answer.discoveries else 3
