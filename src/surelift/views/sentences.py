"""The answer of every result in a sentence or two."""

from functools import singledispatch
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
from surelift.views.names import quoted
from surelift.views.numbers import decimals_for, plain, rounded


@singledispatch
def sentence(result: Any) -> str:
    raise TypeError(f"no sentence for a {type(result).__name__}")


@sentence.register
def _(result: Improvement) -> str:
    claim = claimed(result)
    if result.certified:
        return f"Certified: {claim}."
    if result.lower > result.margin:
        return f"Not certified: it looks as if {claim}, but only under a doubt: {'; '.join(result.doubts)}."
    if result.upper < result.margin and not result.doubts:
        name, over = quoted(result.policy), over_name(result.over)
        if result.margin == 0.0:
            return f"Worse: {name} is surely worse than {over}."
        return f"Not certified: it is surely not so that {claim}."
    return f"Not certified: these rounds do not show that {claim}; they do not rule it out either."


def claimed(result: Improvement) -> str:
    """What would be certified: better, by more than a margin; or, where the margin is negative, not much worse."""
    name, over, margin = quoted(result.policy), over_name(result.over), result.margin
    if margin < 0.0:
        return f"{name} is not worse than {over} by more than {plain(-margin)}"
    return f"{name} is better than {over}{f' by more than {plain(margin)}' if margin else ''}"


@sentence.register
def _(result: Guarantee) -> str:
    if result.about == "value":
        bound, least = (result.upper, "at most") if result.lower is None else (result.lower, "at least")
        assert bound is not None
        shown = rounded(
            bound, decimals_for(abs(bound - result.estimate)), towards="up" if result.lower is None else "down"
        )
        return f"The policy that was learned is worth {least} {shown} a round."
    if result.certified:
        return "Certified: drawing its actions, it is better than production."
    return "Not certified: these rounds do not show that it is better than production."


@sentence.register
def _(result: PolicyValue) -> str:
    name = "Production" if result.policy == "production" else quoted(result.policy)
    verb = "costs" if result.kind == "cost" else "is worth"
    low, high = result.value_range
    decimals = decimals_for(
        (high if result.upper is None else result.upper) - (low if result.lower is None else result.lower)
    )
    bounds = [
        *([] if result.lower is None else [f"at least {rounded(result.lower, decimals, towards='down')}"]),
        *([] if result.upper is None else [f"at most {rounded(result.upper, decimals, towards='up')}"]),
    ]
    return f"{name} {verb} {' and '.join(bounds)} a round."


@sentence.register
def _(result: Evaluation) -> str:
    return " ".join(sentence(one) for one in result.values())


@sentence.register
def _(result: PolicyEstimate) -> str:
    return f"{quoted(result.policy)} is estimated at {result.estimate:.6g} by {result.estimator}, without a promise."


@sentence.register
def _(result: Estimation) -> str:
    return " ".join(sentence(one) for one in result.values())


@sentence.register
def _(result: Selection) -> str:
    over = over_name(result.over)
    if result.many == "e-bh":
        return _discovered(result)
    if result.chosen is None:
        return f"Keep {over}: no candidate is certified better."
    found = result.improvements.values()
    decimals = max(decimals_for(one.upper - one.lower) for one in found)
    lower = result.improvements[result.chosen].lower
    name, least = quoted(result.chosen), rounded(lower, decimals, towards="down")
    if lower < 0.0:
        most = least.lstrip("-")
        return f"Choose {name}: worse than {over} by at most {most}, within the margin of {plain(-result.margin)}."
    return f"Choose {name}: better than {over} by at least {least}."


def _discovered(result: Selection) -> str:
    over = over_name(result.over)
    if not result.discoveries:
        return f"No discovery: no candidate is found better than {over}."
    names = ", ".join(map(quoted, result.discoveries))
    return (
        f"Found better than {over}: {names}; on average at most {result.delta:g} of such a list is not (e-BH). "
        "No single one is certified by this."
    )


@sentence.register
def _(result: Gate) -> str:
    if result.improvement is None:
        return sentence(result.health)
    if not result.guardrails:
        return sentence(result.improvement)
    name, over = quoted(result.improvement.policy), over_name(result.improvement.over)
    if result.certified:
        return f"Certified: {name} is better than {over}, and no guardrail gets worse by more than its margin."
    return f"Not certified: {name} may not be launched on this evidence."


@sentence.register
def _(result: Segments) -> str:  # type: ignore[type-arg]
    if not isinstance(next(iter(result.values())), Improvement):
        return f"Values for each of {len(result)} segments by {quoted(result.by)}."
    certified = ", ".join(map(quoted, result.certified)) or "none"
    return f"Certified in {len(result.certified)} of {len(result)} segments by {quoted(result.by)}: {certified}."


@sentence.register
def _(result: Forecast) -> str:
    over, name = over_name(result.over), quoted(result.policy)
    more, by = result.more_rounds, f" by more than {plain(result.margin)}" if result.margin else ""
    if result.certified:
        return f"Certified: {name} is better than {over}{by}; no more rounds are needed."
    if result.doubts:
        return f"Not certified, and no number of rounds would: {'; '.join(result.doubts)}."
    if more is None:
        return (
            f"Not certified, and no number of rounds like these would: an improvement of {result.improvement:.4g} "
            f"does not exceed {plain(result.margin)}."
        )
    return (
        f"Not certified: about {_about(more)} more {result.counted} like these would certify an improvement of "
        f"{result.improvement:.4g}{by} with power {result.power:g}. A forecast, not a promise."
    )


def _about(number: int) -> str:
    """Two digits are all a forecast is worth."""
    return f"{number:,}" if number < 100 else f"{round(number, 2 - len(str(number))):,}"


@sentence.register
def _(result: Simulation) -> str:
    certified = [one for one in result.outcomes if one.promise in ("any number of looks", "one look")]
    least = min((one.coverage for one in certified), default=0.0)
    return (
        f"Methods that certify held in at least {least:.1%} of {result.runs:,} simulated logs, where "
        f"{100 - 100 * result.delta:.6g}% is promised."
    )


@sentence.register
def _(result: Health) -> str:
    if not result.ok:
        return "Not fit for a guarantee: nothing may be certified from these logs."
    return "Fit for a guarantee; mind the warnings." if result.findings else "Fit for a guarantee."


@sentence.register
def _(result: Verification) -> str:
    if result.same:
        return f"Verified: the same {result.rounds:,} rounds give the same answer."
    return "Not verified: the certificate does not follow from these logs."


@sentence.register
def _(result: History) -> str:
    count = len({point.rounds for point in result.points})
    holds = {
        "any number of looks": "each of them valid when it was reached",
        "one look": "of which only one may be looked at, fixed beforehand",
    }.get(result.promise, "none of which is certified")
    doubts = f", under a doubt: {'; '.join(result.doubts)}" if result.doubts else ""
    return f"The bounds at {count} {'moment' if count == 1 else 'moments'} of the log, {holds}{doubts}."


@sentence.register
def _(result: Profile) -> str:
    smoothing, best = result.best
    decimals = decimals_for(abs(result.estimate - result.lower))
    lower, alone = (rounded(bound, decimals, towards="down", sign=True) for bound in (result.lower, best))
    return (
        f"The mixture, which need not know the best smoothing, bounds the improvement of {quoted(result.policy)} at "
        f"{lower}; the best of {len(result.smoothings)} single ones, {smoothing:.3g}, would have given {alone}."
    )


@sentence.register
def _(result: EmbeddingTrial) -> str:
    name, width = quoted(result.policy), f"{result.width:.2f} times as wide as by actions"
    if result.contradicted:
        return f"Contradicted: for {name} rewards depend on the action beyond its embedding; do not use it."
    return (
        f"For {name} the interval is {width}; nothing in the log speaks against the embedding, which is no proof of it."
    )


@sentence.register
def _(result: EmbeddingHealth) -> str:
    return " ".join(sentence(one) for one in result.values())


@sentence.register
def _(result: Report) -> str:
    return sentence(result.health if result.selection is None else result.selection)


def over_name(over: str) -> str:
    return "production" if over == "production" else quoted(over)
