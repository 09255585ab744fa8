"""surelift report: one page for decision makers."""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import ANSWER, OUTPUT, flag
from surelift.cli.invocation import command_typed
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import AnswerFlags, DeltaFlag, GridFlag, OverFlags, SegmentFlags, control
from surelift.cli.outcomes import OutcomeFlag, parse_outcomes
from surelift.cli.output import asked, in_flags, require_writable
from surelift.cli.policy_flags import PolicyFlags, Sources
from surelift.cli.terminal import print_answer, say


def report(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    delta: DeltaFlag = 0.05,
    narrowed: Annotated[
        str,
        Parameter(
            name="--control",
            help="What narrows the bound; see 'surelift compare --help'.",
            metavar="NAME",
            group=ANSWER,
        ),
    ] = "auto",
    grid: GridFlag = "anytime",
    segments: SegmentFlags = SegmentFlags(),
    outcome: OutcomeFlag = None,
    page: Annotated[
        str, Parameter(name=["--output", "-o"], help="The page to write.", metavar="FILE", group=OUTPUT)
    ] = "report.html",
    title: Annotated[str | None, flag("TEXT", "Title of the page.", group=OUTPUT)] = None,
    output: AnswerFlags = AnswerFlags(),
) -> int:
    from surelift.bounds import mixture
    from surelift.decisions.report import report as ask
    from surelift.views.vega import require_altair

    require_altair()
    require_writable(sources, policies, page)
    arguments = {"delta": delta, "method": mixture(grid=grid), "control": control(narrowed), **segments.arguments()}
    if outcome:
        arguments["outcomes"] = parse_outcomes(outcome)
    found = asked(ask, sources, log, policies, **question.arguments(), **arguments)
    in_flags(found).to_html(page, title=title, command=command_typed())
    if output.json:
        print(found.to_json(), flush=True)
    else:
        print_answer(str(in_flags(found.health)) if found.selection is None else found.sentence())
    say(f"Report written to {page}; open it in a browser.")
    return 4 if found.selection is None else 0 if found.certified else 3
