"""surelift report: one page for decision makers."""

from surelift.cli.flag import ANSWER, OUTPUT, Flags, flag, flags
from surelift.cli.invocation import command_typed
from surelift.cli.method_flags import control, delta, grid
from surelift.cli.output import AnswerFlags, asked, in_flags, require_writable
from surelift.cli.policy_flags import InputFlags, Sources
from surelift.cli.question_flags import OutcomeFlags, OverFlags, SegmentFlags
from surelift.cli.terminal import print_answer, say


@flags(ANSWER)
class ReportFlags(Flags):
    delta: float = delta()
    control: str = flag("NAME", "What narrows the bound; see 'surelift compare --help'.", default="auto", read=control)
    grid: str = grid()
    output: str = flag("FILE", "The page to write.", default="report.html", name=["--output", "-o"], group=OUTPUT, read=None)
    title: str | None = flag("TEXT", "Title of the page.", group=OUTPUT, read=None)


def report(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), over: OverFlags = OverFlags(),
    page: ReportFlags = ReportFlags(), segments: SegmentFlags = SegmentFlags(), outcomes: OutcomeFlags = OutcomeFlags(),
    output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    from surelift.views.vega import require_altair

    require_altair()
    require_writable(sources, inputs, page.output)
    answer = asked("launch.report", sources, inputs, output, over, page, segments, outcomes)
    in_flags(answer).to_html(page.output, title=page.title, command=command_typed())
    if output.json:
        print(answer.to_json(), flush=True)
    else:
        print_answer(str(in_flags(answer.health)) if answer.selection is None else answer.sentence())
    say(f"Report written to {page.output}; open it in a browser.")
    return 4 if answer.selection is None else 0 if answer.certified else 3
