"""surelift report: one page for decision makers."""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import ANSWER, OUTPUT
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import JsonFlag, OverFlags, PolicyFlags, Sources, control
from surelift.cli.output import asked, require_writable
from surelift.cli.terminal import say


def report(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    delta: Annotated[float, Parameter(help="The probability of error.", group=ANSWER)] = 0.05,
    narrowed: Annotated[
        str, Parameter(name="--control", help="What narrows the bound; see 'surelift compare --help'.", group=ANSWER)
    ] = "auto",
    grid: Annotated[str, Parameter(help="Smoothings to try: anytime, or planned for a single look.", group=ANSWER)] = (
        "anytime"
    ),
    output: Annotated[str, Parameter(name=["--output", "-o"], help="The page to write.", group=OUTPUT)] = "report.html",
    title: Annotated[str | None, Parameter(help="Title of the page.", show_default=False, group=OUTPUT)] = None,
    json: JsonFlag = False,
) -> int:
    from surelift.bounds import mixture
    from surelift.decisions.report import report as ask
    from surelift.views.vega import require_altair

    require_altair()
    require_writable(sources, policies, output)
    arguments = {"delta": delta, "method": mixture(grid=grid), "control": control(narrowed)}
    answer = asked(ask, sources, log, policies, **question.arguments(), **arguments)
    answer.to_html(output, title=title)
    if json:
        print(answer.to_json())
    say(f"{answer.sentence()}\nReport written to {output}; open it in a browser.")
    return 4 if answer.selection is None else 0 if answer.certified else 3
