"""surelift gate: can the candidate be launched?"""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION, number
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, OutputFlags, OverFlags, PolicyFlags, Sources
from surelift.cli.output import asked, deliver, show
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.results.gate import Guardrail


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
            help="COL:MARGIN, or COL:MARGIN:LOW,HIGH if its range is not 0,1: a second reward that must not get worse by "
            "more than MARGIN; with :cost at the end, less is better. Delta is split evenly over the improvement and the "
            "guardrails. Repeatable.",
            show_default=False,
            group=QUESTION,
        ),
    ] = None,
    method: MethodFlags = MethodFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    from surelift.decisions.gate import gate as ask

    rails = [parse_guardrail(text) for text in guardrail or ()]
    arguments = {"guardrails": rails, **question.arguments(), **method.arguments()}
    answer = asked(ask, sources, log, policies, output, alone=True, **arguments)
    if not answer.health.ok:
        show(answer.health, json=output.json)
        return 4
    if answer.health.findings:
        show(answer.health, json=False)
    deliver(answer, output, log, policies)
    return 0 if answer.certified else 3


def parse_guardrail(text: str) -> "Guardrail":
    """Parse COL:MARGIN or COL:MARGIN:LOW,HIGH, either with :cost at its end.

    >>> parse_guardrail("complaints:0.5:0,100:cost")
    Guardrail(column='complaints', margin=0.5, reward_range=(0.0, 100.0), cost=True)
    """
    from surelift.results.gate import Guardrail

    plain = text.removesuffix(":cost")
    column, *rest = plain.split(":")
    if not column or len(rest) not in (1, 2):
        raise UsageError(f"--guardrail takes COL:MARGIN or COL:MARGIN:LOW,HIGH, not {text!r}.")
    margin = number(rest[0], f"--guardrail {text}")
    limits = [number(limit, f"--guardrail {text}") for limit in (rest[1] if rest[1:] else "0,1").split(",")]
    if len(limits) != 2:
        raise UsageError(f"--guardrail {text}: the range is LOW,HIGH, two numbers.")
    return Guardrail(column, margin, (limits[0], limits[1]), cost=plain != text)
