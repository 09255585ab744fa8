"""Results as text for a terminal: the facts in lines, the verdict in a sentence."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from surelift.decisions.check import Health
from surelift.decisions.estimate import Estimation, PolicyEstimate
from surelift.decisions.evaluation import Evaluation, PolicyValue
from surelift.decisions.gate import Gate
from surelift.decisions.guarantee import Guarantee
from surelift.decisions.improvement import Improvement
from surelift.decisions.power import Forecast
from surelift.decisions.segments import Segments
from surelift.decisions.select import Selection
from surelift.decisions.simulate import Simulation
from surelift.decisions.verify import Verification
from surelift.report.numbers import decimals_for, rounded

PROMISES = {
    "any number of looks": "holds with probability {}, at any number of looks",
    "one look": "holds with probability {}, at one look at a number of rounds fixed beforehand",
    "asymptotic": "aims at probability {}, only asymptotically",
    "none": "aims at probability {}, not rigorously",
}


@singledispatch
def describe(result: Any) -> str:
    raise TypeError(f"no text for a {type(result).__name__}")


@describe.register
def _(result: Improvement) -> str:
    over = _over(result.over)
    decimals = decimals_for(result.upper - result.lower)
    lines = [
        f"Improvement of {result.policy!r} over {over}, {result.rounds:,} {result.counted}",
        f"  estimate      {rounded(result.estimate, decimals, sign=True)}",
        f"  lower bound   {rounded(result.lower, decimals, towards='down', sign=True)}   {_holds(result)}",
        f"  upper bound   {rounded(result.upper, decimals, towards='up', sign=True)}   likewise, on its own",
    ]
    if result.promise in ("any number of looks", "one look"):
        lines.append(f"  evidence      e-value {result.e_value:.3g}, where {1 / result.delta:.3g} certifies")
    low, high = result.improvement_range
    if not low <= result.estimate <= high:
        lines.append(_outside("improvement", (low, high), result.mean_weight))
    return "\n".join([*lines, *_doubts(result.doubts), verdict(result)])


def verdict(result: Improvement) -> str:
    """The answer in a sentence."""
    over, name = _over(result.over), repr(result.policy)
    by = f" by more than {result.margin:g}" if result.margin else ""
    if result.certified:
        return f"Certified: {name} is better than {over}{by}."
    if result.lower > result.margin:
        return f"Not certified: {name} looks better than {over}{by}, but only under the doubt above."
    if result.upper < result.margin and not result.doubts:
        worse = "is worse than" if not result.margin else "is not better than"
        return f"Not certified: {name} {worse} {over}{by}."
    return f"Not certified: these rounds do not show that {name} is better than {over}{by}; they do not rule it out either."


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
        f"  divergence    {result.divergence:.4g} from the prior, {result.prior}",
    ]
    end = {
        True: "Certified: drawing its actions, it is better than production.",
        False: "Not certified: these rounds do not show that it is better than production.",
    }[result.certified]
    return "\n".join([*lines, *_doubts(result.doubts), *([end] if improves else [])])


@describe.register
def _(result: PolicyValue) -> str:
    return "\n".join([*_value_lines([result]), *_doubts(result.doubts)])


@describe.register
def _(result: Evaluation) -> str:
    values = list(result.values())
    several = len(values) > 1 and result.sides == "both"
    note = "All bounds hold together." if several else ""
    return "\n".join(filter(None, [*_value_lines(values), note, *_doubts(values[0].doubts)]))


@describe.register
def _(result: PolicyEstimate) -> str:
    return "\n".join([*_estimate_lines([result]), *_doubts(result.doubts)])


@describe.register
def _(result: Estimation) -> str:
    found = list(result.values())
    return "\n".join([*_estimate_lines(found), *_doubts(found[0].doubts)])


def _estimate_lines(found: list[PolicyEstimate]) -> list[str]:
    first = found[0]
    options = "".join(f", {name} {value:.4g}" for name, value in first.parameter.items())
    rows = [
        ("policy", "estimate", "mean weight"),
        *((repr(e.policy), f"{e.estimate:.6g}", f"{e.mean_weight:.4g}") for e in found),
    ]
    notes = [
        f"  {name.replace('_', ' ')} (plug-in, rewards scaled to [0, 1]): {value:.4g}"
        for name, value in first.plug_ins.items()
    ]
    head = f"Estimates by {first.estimator}{options}, {first.rounds:,} rounds: no promise; for a bound use evaluate"
    return [head, *aligned(rows), *(notes if len(found) == 1 else [])]


@describe.register
def _(result: Selection) -> str:
    over = _over(result.over)
    found = list(result.improvements.values())
    decimals = max(decimals_for(one.upper - one.lower) for one in found)
    rows = [("policy", "estimate", "lower", "upper", "")]
    rows += [
        (
            repr(one.policy),
            rounded(one.estimate, decimals, sign=True),
            rounded(one.lower, decimals, towards="down", sign=True),
            rounded(one.upper, decimals, towards="up", sign=True),
            _verdict_of(one, result),
        )
        for one in found
    ]
    chosen = None if result.chosen is None else result.improvements[result.chosen]
    say = (
        _discovered(result)
        if result.many == "e-bh"
        else (
            f"Keep {over}: no candidate is certified better."
            if chosen is None
            else f"Choose {chosen.policy!r}: better than {over} by at least "
            f"{rounded(chosen.lower, decimals, towards='down')}."
        )
    )
    head = f"Improvements over {over}, {result.rounds:,} {found[0].counted}"
    promise = PROMISES[found[0].promise].format(f"{1 - result.delta:g}")
    all_hold = f"Together, all lower bounds {promise.replace('holds', 'hold', 1).replace('aims', 'aim', 1)}."
    return "\n".join([head, *aligned(rows), all_hold, *_doubts(result.doubts), say])


def _verdict_of(one: Improvement, result: Selection) -> str:
    if result.many == "e-bh":
        return "found better" if one.policy in result.discoveries else "not found"
    return "certified" if one.certified else "not certified"


def _discovered(result: Selection) -> str:
    over = _over(result.over)
    if not result.discoveries:
        return f"No discovery: no candidate is found better than {over}."
    names = ", ".join(map(repr, result.discoveries))
    return (
        f"Found better than {over}: {names}; on average at most {result.delta:g} of such a list is not (e-BH). "
        "No single one is certified by this."
    )


@describe.register
def _(result: Gate) -> str:
    if result.improvement is None:
        return describe(result.health)
    if not result.guardrails:
        return describe(result.improvement)
    claims, over = 1 + len(result.guardrails), _over(result.improvement.over)
    lines = [
        f"{claims} claims, each at delta {result.delta / claims:g}: all hold together with probability {1 - result.delta:g}",
        describe(result.improvement),
        *(_guardrail_line(column, one) for column, one in result.guardrails.items()),
    ]
    name = repr(result.improvement.policy)
    say = f"Certified: {name} is better than {over}, and no guardrail gets worse."
    return "\n".join(
        [*lines, say if result.certified else f"Not certified: {name} may not be launched on this evidence."]
    )


def _guardrail_line(column: str, result: Improvement) -> str:
    decimals = decimals_for(result.upper - result.lower)
    low, high = rounded(result.lower, decimals, towards="down", sign=True), rounded(result.upper, decimals, sign=True)
    holds = "holds" if result.certified else "is not shown to hold"
    return f"Guardrail {column!r}: change between {low} and {high}, to exceed {result.margin + 0.0:g}: {holds}"


@describe.register
def _(result: Segments) -> str:  # type: ignore[type-arg]
    found: list[tuple[str, PolicyValue | Improvement]] = [
        (segment, one)
        for segment, answer in result.items()
        for one in (answer.values() if isinstance(answer, Evaluation) else [answer])
    ]
    first = found[0][1]
    counted: str = first.counted
    rows = [("segment", "policy", counted, "estimate", "lower", "upper", "")]
    rows += [(segment, repr(one.policy), f"{one.rounds:,}", *_cells(one)) for segment, one in found]
    promise = PROMISES[first.promise].format(f"{1 - result.delta:g}").replace("holds", "hold", 1)
    which = "lower bounds" if isinstance(first, Improvement) else "bounds"
    return "\n".join(
        [
            f"By {result.by!r}: {len(result)} segments, {result.rounds:,} {counted}, delta {result.delta:g} split evenly",
            *aligned(rows),
            f"Together, all {which} {promise}.",
            *_doubts(first.doubts),
        ]
    )


def _cells(one: PolicyValue | Improvement) -> tuple[str, str, str, str]:
    """Estimate, bounds and verdict."""
    low, high = one.value_range if isinstance(one, PolicyValue) else one.improvement_range
    decimals = decimals_for((high if one.upper is None else one.upper) - (low if one.lower is None else one.lower))
    sign = isinstance(one, Improvement)
    verdict = "" if isinstance(one, PolicyValue) else "certified" if one.certified else "not certified"
    return (
        rounded(one.estimate, decimals, sign=sign),
        "-" if one.lower is None else rounded(one.lower, decimals, towards="down", sign=sign),
        "-" if one.upper is None else rounded(one.upper, decimals, towards="up", sign=sign),
        verdict,
    )


@describe.register
def _(result: Forecast) -> str:
    over, name = _over(result.over), repr(result.policy)
    more, by = result.more_rounds, f" by more than {result.margin:g}" if result.margin else ""
    head = (
        f"{name} over {over}: {result.rounds:,} {result.counted}, estimate {result.estimate:+.4g}, "
        f"lower bound {result.lower:+.4g}"
    )
    if result.certified:
        return f"{head}\nCertified: {name} is better than {over}{by}; no more rounds are needed."
    if more is None:
        return (
            f"{head}\nNot certified, and no number of rounds like these would: an improvement of {result.improvement:.4g} "
            f"does not exceed {result.margin:g}."
        )
    return (
        f"{head}\nNot certified: about {_about(more)} more {result.counted} like these would certify an improvement of "
        f"{result.improvement:.4g}{by} with power {result.power:g}. A forecast, not a promise."
    )


def _about(number: int) -> str:
    """Two digits are all a forecast is worth."""
    return f"{number:,}" if number < 100 else f"{round(number, 2 - len(str(number))):,}"


@describe.register
def _(result: Simulation) -> str:
    rows = [("policy", "method", "held", "width", "said nothing", "promise")]
    rows += [
        (repr(one.policy), one.method, f"{one.coverage:.1%}", f"{one.width:.4g}", f"{one.empty:.0%}", one.promise)
        for one in result.outcomes
    ]
    return "\n".join(
        [
            f"{result.runs:,} simulated logs of {result.rounds:,} rounds with these weights; "
            f"{1 - result.delta:.0%} of them should hold",
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
                repr(one.policy), f"{one.mean:.4g}", f"{one.largest:.4g}", f"{one.effective_rounds:,.0f}",
                "unknown" if one.missing_support is None else f"{one.missing_support:.2%}",
            )
            for one in result.weights.values()
        ]  # fmt: skip
        lines += aligned(rows)
    for finding in result.findings:
        subject = "" if finding.says.startswith(finding.subject) else f"{finding.subject}: "
        lines += [f"{finding.severity.upper()}  {subject}{finding.says}", f"  {finding.remedy}"]
    if not result.ok:
        lines.append("Not fit for a guarantee: nothing may be certified from these logs.")
    else:
        lines.append("Fit for a guarantee; mind the warnings." if result.findings else "Fit for a guarantee.")
    return "\n".join(lines)


@describe.register
def _(result: Verification) -> str:
    if result.same:
        return f"Verified: the same {result.rounds:,} rounds give the same answer.\n{describe(result.answer)}"
    return "\n".join(
        ["Not verified: the certificate does not follow from these logs.", *(f"- {d}" for d in result.differences)]
    )


def _value_lines(values: list[PolicyValue]) -> list[str]:
    first = values[0]
    widths = [
        (v.value_range[1] if v.upper is None else v.upper) - (v.value_range[0] if v.lower is None else v.lower)
        for v in values
    ]
    decimals = max(decimals_for(width) for width in widths)
    rows = [("policy", "estimate", "lower", "upper")]
    rows += [
        (
            repr(one.policy),
            rounded(one.estimate, decimals),
            "-" if one.lower is None else rounded(one.lower, decimals, towards="down"),
            "-" if one.upper is None else rounded(one.upper, decimals, towards="up"),
        )
        for one in values
    ]
    notes = [
        f"{one.policy!r}: {_outside('value', one.value_range, one.mean_weight).strip()}"
        for one in values
        if not one.value_range[0] <= one.estimate <= one.value_range[1]
    ]
    what = "Expected cost" if first.kind == "cost" else "Value"
    return [f"{what}, {first.rounds:,} {first.counted}; {_holds(first)}", *aligned(rows), *notes]


def _holds(result: Improvement | PolicyValue | Guarantee) -> str:
    return f"{PROMISES[result.promise].format(f'{1 - result.delta:g}')} ({result.method})"


def _outside(what: str, possible: tuple[float, float], mean_weight: float) -> str:
    low, high = possible
    return f"  the estimate is no possible {what}, outside [{low:g}, {high:g}]; the mean weight is {mean_weight:.3g}, not 1"


def _over(over: str) -> str:
    return "production" if over == "logging" else repr(over)


def _doubts(doubts: tuple[str, ...]) -> list[str]:
    return [f"Doubt: {doubt}." for doubt in doubts]


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
