"""Results as text for a terminal: the facts in lines, the verdict in a sentence."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from textwrap import fill
from typing import Any

from surelift.results.embedding import EmbeddingHealth, EmbeddingTrial
from surelift.results.estimation import Estimation, PolicyEstimate
from surelift.results.evaluation import Evaluation, PolicyValue
from surelift.results.forecast import Forecast
from surelift.results.gate import Gate
from surelift.results.guarantee import Guarantee
from surelift.results.health import Health
from surelift.results.history import History
from surelift.results.improvement import Improvement
from surelift.results.profile import Profile
from surelift.results.report import Report
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.results.simulation import Simulation
from surelift.results.verification import Verification
from surelift.views.names import quoted, visible
from surelift.views.numbers import at_least, chance, decimals_for, plain, rounded
from surelift.views.pictures import picture, row_of
from surelift.views.sentences import over_name, sentence
from surelift.views.tables import decimals_of, interval_cells, table

WIDTH = 80
# A name, a number, and words about it.
FACT = re.compile(r"  [a-z ]+?   +[-+0-9.,e]+   +(?=[a-z])")
PROMISES = {
    "any number of looks": "holds with probability {}, at any number of looks",
    "one look": "holds with probability {}, at one look at a number of rounds fixed beforehand",
    "asymptotic": "aims at probability {}, only asymptotically",
    "none": "aims at probability {}, not rigorously",
}


def text(result: Any) -> str:
    """A result for a terminal of 80 columns: prose is wrapped, tables are as wide as they have to be."""
    return "\n".join(wrapped(line) for line in describe(result).split("\n"))


def wrapped(line: str) -> str:
    """A long line in several, the later ones below where its words begin."""
    fact = FACT.match(line)
    row_of_table = line.startswith("  ") and "  " in line.strip() and fact is None
    if len(line) <= WIDTH or row_of_table:
        return line
    indent = fact.end() if fact else len(line) - len(line.lstrip()) + 2
    return fill(line, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


@singledispatch
def describe(result: Any) -> str:
    raise TypeError(f"no text for a {type(result).__name__}")


@describe.register
def _(result: Improvement) -> str:
    decimals = decimals_for(result.upper - result.lower)
    shown = [
        rounded(result.estimate, decimals, sign=True),
        rounded(result.lower, decimals, towards="down", sign=True),
        rounded(result.upper, decimals, towards="up", sign=True),
    ]
    estimate, lower, upper = (text.rjust(max(map(len, shown))) for text in shown)
    lines = [
        f"Improvement of {quoted(result.policy)} over {over_name(result.over)}, {result.rounds:,} {result.counted}",
        f"  estimate      {estimate}",
        f"  lower bound   {lower}   {_holds(result)}",
        f"  upper bound   {upper}   likewise, on its own",
    ]
    if result.promise in ("any number of looks", "one look"):
        lines.append(f"  evidence      e-value {at_least(result.e_value)}, where {1 / result.delta:.3g} certifies")
    low, high = result.improvement_range
    if not low <= result.estimate <= high:
        lines.append(_outside("improvement", (low, high), result.mean_weight))
    return "\n".join([*lines, *_doubts(result.doubts), sentence(result)])


@describe.register
def _(result: Guarantee) -> str:
    improves = result.about == "improvement"
    bound = result.upper if result.lower is None else result.lower
    assert bound is not None
    decimals = decimals_for(abs(result.estimate - bound))
    side, towards = ("upper", "up") if result.lower is None else ("lower", "down")
    what = "Improvement over production" if improves else "Value"
    lines = [
        f"{what} of the policy that was learned, {result.rounds:,} rounds",
        f"  estimate      {rounded(result.estimate, decimals, sign=improves)}   from the rounds it was learned from",
        f"  {side} bound   {rounded(bound, decimals, towards=towards, sign=improves)}   {_holds(result)}",
        f"  divergence    {result.divergence:.4g}   from the prior, {result.prior}",
    ]
    end = [sentence(result)] if improves else []
    return "\n".join([*lines, *_doubts(result.doubts), *end])


@describe.register
def _(result: PolicyValue) -> str:
    return "\n".join([*_value_lines(result, [result]), *_doubts(result.doubts)])


@describe.register
def _(result: Evaluation) -> str:
    values = list(result.values())
    several = len(values) > 1 and result.sides == "both"
    note = "All bounds hold together." if several else ""
    return "\n".join(
        filter(
            None,
            [
                *_value_lines(result, values),
                note,
                *_doubts(tuple(dict.fromkeys(one for value in values for one in value.doubts))),
            ],
        )
    )


@describe.register
def _(result: PolicyEstimate) -> str:
    return "\n".join([*_estimate_lines([result]), *_doubts(result.doubts)])


@describe.register
def _(result: Estimation) -> str:
    found = list(result.values())
    return "\n".join([*_estimate_lines(found), *_doubts(tuple(dict.fromkeys(d for one in found for d in one.doubts)))])


def _estimate_lines(found: list[PolicyEstimate]) -> list[str]:
    first = found[0]
    options = "".join(f", {name} {value:.4g}" for name, value in first.parameter.items())
    rows = [
        ("policy", "estimate", "mean weight"),
        *((quoted(e.policy), f"{e.estimate:.6g}", f"{e.mean_weight:.4g}") for e in found),
    ]
    notes = [
        f"  {name.replace('_', ' ')} (plug-in, rewards scaled to [0, 1]): {value:.4g}"
        for name, value in first.plug_ins.items()
    ]
    head = f"Estimates by {first.estimator}{options}, {first.rounds:,} rounds: no promise; for a bound use evaluate"
    return [head, *aligned(rows), *(notes if len(found) == 1 else [])]


@describe.register
def _(result: Selection) -> str:
    first = next(iter(result.improvements.values()))
    head = f"Improvements over {over_name(result.over)}, {result.rounds:,} {first.counted}"
    promise = PROMISES[first.promise].format(chance(result.delta))
    all_hold = f"Together, all lower bounds {promise.replace('holds', 'hold', 1).replace('aims', 'aim', 1)}."
    return "\n".join([head, *_table_of(result), all_hold, *_doubts(result.doubts), sentence(result)])


@describe.register
def _(result: Gate) -> str:
    if result.improvement is None:
        return describe(result.health)
    if not result.guardrails:
        return describe(result.improvement)
    claims = 1 + len(result.guardrails)
    lines = [
        f"{claims} claims, each at delta {result.delta / claims:g}: all hold together with probability "
        f"{chance(result.delta)}",
        describe(result.improvement),
        *(_guardrail_line(column, one) for column, one in result.guardrails.items()),
    ]
    return "\n".join([*lines, sentence(result)])


def _guardrail_line(column: str, result: Improvement) -> str:
    decimals = decimals_for(result.upper - result.lower)
    low = rounded(result.lower, decimals, towards="down", sign=True)
    high = rounded(result.upper, decimals, towards="up", sign=True)
    holds = "holds" if result.certified else "is not shown to hold"
    return f"Guardrail {quoted(column)}: better by {low} to {high}, where {plain(result.margin)} is asked for: {holds}"


@describe.register
def _(result: Segments) -> str:  # type: ignore[type-arg]
    found: list[tuple[str, PolicyValue | Improvement]] = [
        (segment, one)
        for segment, answer in result.items()
        for one in (answer.values() if isinstance(answer, Evaluation) else [answer])
    ]
    first = found[0][1]
    counted: str = first.counted
    rows = [
        (
            "segment",
            "policy",
            counted,
            "estimate",
            "at least",
            "at most",
            *(("verdict",) if isinstance(first, Improvement) else ()),
        )
    ]
    rows += [(visible(segment), quoted(one.policy), f"{one.rounds:,}", *_cells(one)) for segment, one in found]
    promise = PROMISES[first.promise].format(chance(result.delta)).replace("holds", "hold", 1)
    which = "lower bounds" if isinstance(first, Improvement) else "bounds"
    return "\n".join(
        [
            f"By {quoted(result.by)}: {len(result)} segments, {result.rounds:,} {counted}, delta {result.delta:g} "
            "split evenly",
            *aligned(rows),
            f"Together, all {which} {promise}.",
            *_doubts(first.doubts),
        ]
    )


def _cells(one: PolicyValue | Improvement) -> tuple[str, ...]:
    """Estimate, bounds and verdict."""
    row = row_of(one, "")
    cells = interval_cells(row, decimals_of(row), sign=isinstance(one, Improvement))
    return (*cells, row.verdict) if isinstance(one, Improvement) else cells


@describe.register
def _(result: Forecast) -> str:
    decimals = decimals_for(result.estimate - result.lower)
    head = (
        f"{quoted(result.policy)} over {over_name(result.over)}: {result.rounds:,} {result.counted}, "
        f"estimate {result.estimate:+.4g}, lower bound {rounded(result.lower, decimals, towards='down', sign=True)}"
    )
    return f"{head}\n{sentence(result)}"


@describe.register
def _(result: Simulation) -> str:
    rows = [("policy", "method", "held", "width", "empty", "promise")]
    rows += [
        (quoted(one.policy), one.method, f"{one.coverage:.1%}", f"{one.width:.4g}", f"{one.empty:.0%}", one.promise)
        for one in result.outcomes
    ]
    return "\n".join(
        [
            f"{result.runs:,} simulated logs of {result.rounds:,} rounds with these weights; "
            f"{100 - 100 * result.delta:.6g}% of them should hold",
            *aligned(rows),
        ]
    )


@describe.register
def _(result: Health) -> str:
    lines = [f"Logs of {result.rounds:,} rounds"]
    if result.mean_reward is not None and result.smallest_propensity is not None:
        verb = "cost" if result.kind == "cost" else "earned"
        lines.append(
            f"  production {verb} {result.mean_reward:.4g} a round; smallest propensity {result.smallest_propensity:.3g}"
        )
    if result.weights:
        rows = [("policy", "mean weight", "largest", "effective rounds", "missing support")]
        rows += [
            (
                quoted(one.policy), f"{one.mean:.4g}", f"{one.largest:.4g}", f"{one.effective_rounds:,.0f}",
                "unknown" if one.missing_support is None else f"{one.missing_support:.2%}",
            )
            for one in result.weights.values()
        ]  # fmt: skip
        lines += aligned(rows)
    for finding in result.findings:
        subject = "" if finding.says.startswith(finding.subject) else f"{finding.subject}: "
        lines += [f"{finding.severity.upper()}  {subject}{finding.says}", f"  {finding.remedy}"]
    if result.evidence:
        lines.append(tested(result))
    return "\n".join([*lines, sentence(result)])


def tested(result: Health) -> str:
    """Where the propensities were tested, and what speaks most against them."""
    places = len(result.evidence)
    strongest = max(result.evidence, key=lambda one: one.e_value)
    kinds = list(dict.fromkeys(one.family.name or "overall" for one in result.evidence))
    return (
        f"Propensities tested in {places:,} {'place' if places == 1 else 'places'} ({', '.join(map(visible, kinds))}); the "
        f"strongest evidence against them is an e-value of {strongest.e_value:.3g}."
    )


@describe.register
def _(result: History) -> str:
    return "\n".join([*_table_of(result), sentence(result)])


@describe.register
def _(result: Profile) -> str:
    return "\n".join([*_table_of(result, name=str), *_doubts(result.doubts), sentence(result)])


@describe.register
def _(result: EmbeddingTrial) -> str:
    return "\n".join([*_table_of(result), *_trial_lines([result]), sentence(result)])


@describe.register
def _(result: EmbeddingHealth) -> str:
    return "\n".join([*_table_of(result), *_trial_lines(result.values()), *(sentence(one) for one in result.values())])


def _trial_lines(found: Iterable[EmbeddingTrial]) -> list[str]:
    rows: list[tuple[str, ...]] = [("policy", "effective rounds", "by embeddings", "largest weight", "by embeddings")]
    rows += [
        (quoted(one.policy), *(f"{number:,.0f}" for number in one.effective_rounds),
         *(f"{number:.4g}" for number in one.largest_weight))
        for one in found
    ]  # fmt: skip
    return aligned(rows)


@describe.register
def _(result: Report) -> str:
    parts: list[Any] = [result.health, result.selection, result.values, *result.forecasts.values()]
    return "\n\n".join(describe(part) for part in parts if part is not None)


@describe.register
def _(result: Verification) -> str:
    if result.same:
        return f"{sentence(result)}\n{describe(result.answer)}"
    return "\n".join([sentence(result), *(f"- {difference}" for difference in result.differences)])


def _value_lines(result: PolicyValue | Evaluation, values: list[PolicyValue]) -> list[str]:
    first = values[0]
    notes = [
        f"{quoted(one.policy)}: {_outside('value', one.value_range, one.mean_weight).strip()}"
        for one in values
        if not one.value_range[0] <= one.estimate <= one.value_range[1]
    ]
    what = "Expected cost" if first.kind == "cost" else "Value"
    return [f"{what}, {first.rounds:,} {first.counted}; {_holds(first)}", *_table_of(result), *notes]


def _holds(result: Improvement | PolicyValue | Guarantee) -> str:
    return f"{PROMISES[result.promise].format(chance(result.delta))} ({result.method})"


def _outside(what: str, possible: tuple[float, float], mean_weight: float) -> str:
    low, high = possible
    return f"  the estimate is no possible {what}, outside [{low:g}, {high:g}]; the mean weight is {mean_weight:.3g}, not 1"


def _doubts(doubts: tuple[str, ...]) -> list[str]:
    return [f"Doubt: {doubt}." for doubt in doubts]


def _table_of(result: Any, name: Callable[[str], str] = quoted) -> list[str]:
    """The numbers of its picture."""
    found = table(picture(result))
    return aligned([found.head, *((name(row[0]), *row[1:]) for row in found.rows)])


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        (
            "  "
            + "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        ).rstrip()
        for row in rows
    ]
