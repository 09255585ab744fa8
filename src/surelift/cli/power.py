"""surelift power: how many more rounds would certify it?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import JsonFlag, OverFlags, PolicyFlags, Sources, control
from surelift.cli.output import asked, show


def power(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    improvement: Annotated[
        float | None,
        Parameter(help="The true improvement to assume; by default the estimate.", show_default=False, group=QUESTION),
    ] = None,
    power: Annotated[float, Parameter(help="The probability of certifying it.", group=QUESTION)] = 0.8,
    delta: Annotated[float, Parameter(help="The probability of error.", group=QUESTION)] = 0.05,
    method: Annotated[
        str, Parameter(help="The bound: mixture, or blocks, which allow one look at a new log.", group=QUESTION)
    ] = "mixture",
    narrowed_by: Annotated[
        str, Parameter(name="--control", help="What narrows the bound: auto, none, weights or model.", group=QUESTION)
    ] = "auto",
    json: JsonFlag = False,
) -> int:
    from surelift.decisions.power import power as ask

    forecast = {"improvement": improvement, "power": power, "delta": delta}
    arguments = {**question.arguments(), **forecast, "method": method, "control": control(narrowed_by)}
    show(asked(ask, sources, log, policies, alone=True, **arguments), json=json)
    return 0
