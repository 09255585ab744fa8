"""The commands that ask one question of a log: each is the verb of its name, and its flags are the verb's arguments."""

from typing import Literal

from surelift.cli.flag import ANSWER, OUTPUT, QUESTION, Flags, flag, flags
from surelift.cli.invocation import command_typed
from surelift.cli.method_flags import GridFlags, MethodFlags, ValueFlags, control, delta, grid, predictions
from surelift.cli.output import (
    AnswerFlags,
    FileFlags,
    OutputFlags,
    asked,
    deliver,
    in_flags,
    require_writable,
    results_of,
    show,
)
from surelift.cli.policy_flags import InputFlags, Sources
from surelift.cli.progress import progress
from surelift.cli.question_flags import BaselineFlags, ByFlags, GateFlags, OutcomeFlags, OverFlags, SegmentFlags, by_columns
from surelift.cli.terminal import print_answer, say
from surelift.saving import as_json


def compare(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), over: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(), segments: SegmentFlags = SegmentFlags(), outcomes: OutcomeFlags = OutcomeFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:  # fmt: skip
    answer = asked("compare.compare", sources, inputs, output, over, method, segments, outcomes, alone=True)
    return deliver(answer, output, inputs)


@flags(QUESTION)
class SelectFlags(OverFlags):
    choose: Literal["improvement", "value"] = flag(
        "improvement|value", "improvement: a candidate that is certified better, or production. value: the policy, of "
        "candidates and production, whose value has the largest lower bound; it is not certified to be better than "
        "production.", default="improvement"
    )  # fmt: skip
    many: Literal["e-holm", "simultaneous", "e-bh"] | None = flag(
        "e-holm|simultaneous|e-bh", "How several candidates share delta. e-holm: certifies the most, mostly without an "
        "amount, from independent rounds, at one look if something drifts. simultaneous: a bound for each, at any number "
        "of looks. e-bh: for dozens of candidates, a list of discoveries at a false discovery rate of delta, and none is "
        "chosen. By default e-holm, for several candidates by a method with e-values.", group=ANSWER
    )  # fmt: skip


def select(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), method: MethodFlags = MethodFlags(),
    over: SelectFlags = SelectFlags(), segments: SegmentFlags = SegmentFlags(), output: OutputFlags = OutputFlags(),
) -> int:  # fmt: skip
    answer = asked("select.select", sources, inputs, output, method, over, segments)
    deliver(answer, output, inputs)
    return 0 if over.choose == "value" or all(result.discoveries for result in results_of(answer)) else 3


def gate(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), over: GateFlags = GateFlags(),
    method: MethodFlags = MethodFlags(), segments: SegmentFlags = SegmentFlags(), output: OutputFlags = OutputFlags(),
) -> int:  # fmt: skip
    answer = asked("launch.gate", sources, inputs, output, over, method, segments, alone=True)
    health = in_flags(answer.health) if hasattr(answer, "health") else None
    if health is not None and not health.ok:
        if output.json:  # the keys of a gate, and why it is shut
            print(as_json({**answer.to_dict(), **health.to_dict()}, indent=2), flush=True)
        else:
            print_answer(str(health))
        return 4
    if health is not None and health.findings:
        # With --json, standard output holds one answer and nothing else.
        (say if output.json else print_answer)(str(health))
    return deliver(answer, output, inputs)


def evaluate(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), values: ValueFlags = ValueFlags(),
    segments: SegmentFlags = SegmentFlags(), output: OutputFlags = OutputFlags(),
) -> int:  # fmt: skip
    return deliver(asked("evaluate.evaluate", sources, inputs, output, values, segments), output, inputs)


@flags(ANSWER)
class EstimateFlags(Flags):
    estimator: str = flag(
        "NAME", "ips, snips, clipped, dr, ...: 'surelift explain' lists them, and 'surelift explain snips' says what one "
        "is, and which of the flags below it takes.", default="ips"
    )  # fmt: skip
    clip: float | None = flag("X", "Largest weight; by default sqrt(rounds).")
    smoothing: float | None = flag("X", "Smoothing; by default 1/sqrt(rounds).")
    alpha: float | None = flag("X", "Power of the propensity, from 0 to 1.")
    strength: float | None = flag("X", "How much large weights are shrunk.")
    model: str | None = flag(
        "COL[,COL...]", "Expected rewards of all actions, from a model fitted elsewhere: a list column, or one column per "
        "action. By default gradient boosting, cross-fitted in five folds (needs --contexts, and scikit-learn).",
        read=predictions,
    )  # fmt: skip
    delta: float = flag("P", "The probability of error of what ls and ls-lin tell beside the estimate.", default=0.05)


def estimate(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), by: ByFlags = ByFlags(),
    estimates: EstimateFlags = EstimateFlags(), output: FileFlags = FileFlags(),
) -> int:  # fmt: skip
    return deliver(asked("without_promise.estimate", sources, inputs, output, by, estimates), output, inputs)


@flags(QUESTION)
class PowerFlags(OverFlags):
    improvement: float | None = flag("X", "The true improvement to assume; by default the estimate.")
    power: float = flag("P", "The probability of certifying it.", default=0.8)
    delta: float = delta()
    method: str = flag("mixture|blocks", "The bound; blocks allow one look at a new log.", default="mixture", group=ANSWER)
    control: str = flag(
        "NAME", "What narrows the bound: auto, none, weights or model.", default="auto", group=ANSWER, read=control
    )


def power(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), forecast: PowerFlags = PowerFlags(),
    segments: SegmentFlags = SegmentFlags(), output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    show(asked("without_promise.power", sources, inputs, output, forecast, segments, alone=True), json=output.json)
    return 0


def profile(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), over: BaselineFlags = BaselineFlags(),
    by: ByFlags = ByFlags(), grid: GridFlags = GridFlags(), output: FileFlags = FileFlags(),
) -> int:  # fmt: skip
    return deliver(asked("without_promise.profile", sources, inputs, output, over, by, grid, alone=True), output, inputs)


@flags(QUESTION)
class CheckFlags:
    by: list[str] | None = flag(
        "COL[:EDGE,...]", "Column of segments known before the action, or bins of its numbers (age:18,30,50), tested one "
        "by one. Repeatable: each column is tested by itself."
    )  # fmt: skip
    level: float = flag("P", "The probability of refusing right propensities.", default=0.001)


def check(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), tests: CheckFlags = CheckFlags(),
    output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    from surelift.decisions.check import check as ask

    logs, named = inputs.opened(sources, needed=False)
    by = None if tests.by is None else by_columns(tests.by, logs.column_names())
    with progress(logs) as tell:
        health = ask(logs, named or None, by=by, level=tests.level, progress=tell)
    show(health, json=output.json)
    return 0 if health.ok else 4


@flags(QUESTION)
class SimulateFlags:
    rounds: int | None = flag("N", "Rounds per simulated log; by default as many as in this one, at most 10,000.")
    runs: int = flag("N", "How many logs to simulate.", default=100)
    seed: int = flag("N", "Random seed.", default=20240523)
    delta: float = delta()


def simulate(
    sources: Sources, /, *, inputs: InputFlags = InputFlags(), drawn: SimulateFlags = SimulateFlags(),
    output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    from surelift.decisions.simulate import simulate as ask

    logs, named = inputs.opened(sources)
    with progress(logs, unit="simulated logs", total=drawn.runs * len(named)) as tell:
        answer = ask(logs, named, **vars(drawn), progress=tell)
    show(answer, json=output.json)
    return 0


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
