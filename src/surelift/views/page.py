"""What a page says of a result: the answer first, then what it rests on, then how to check it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, Literal

from surelift.decisions.certificate import Certificate
from surelift.decisions.monitor import Monitor
from surelift.errors import SureliftError, UsageError
from surelift.results.gate import Gate
from surelift.results.health import Finding, Health
from surelift.results.improvement import Improvement
from surelift.results.report import Report
from surelift.results.result import ByName
from surelift.results.selection import Selection
from surelift.results.verification import Verification
from surelift.views.names import quoted
from surelift.views.numbers import chance, decimals_for, plain, rounded
from surelift.views.pictures import Picture, over_words, picture
from surelift.views.sentences import sentence
from surelift.views.tables import Table, table
from surelift.views.text import PROMISES, tested
from surelift.views.words import WORDS

MOST_DRAWN = 8
Tone = Literal["good", "open", "bad"]
TITLES = {
    "Improvement": "Is it better?", "Selection": "Which one is better?", "Segments": "Where is it better?",
    "PolicyValue": "What is it worth?", "Evaluation": "What is each worth?", "Gate": "May it be launched?",
    "PolicyEstimate": "A point estimate", "Estimation": "Point estimates", "Guarantee": "What was learned",
    "Forecast": "What would make it certain?", "Simulation": "How do the methods do on these weights?",
    "EmbeddingTrial": "What does the embedding buy, and risk?", "EmbeddingHealth": "What does the embedding buy, and risk?",
    "History": "How the evidence grew", "Profile": "What would each smoothing have given?",
}  # fmt: skip
EXPLAINED = ("lower bound", "certified", "improvement", "propensity", "weight", "effective rounds", "e-value", "looks")


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph, a chart with the table of its numbers, a table alone, or a list."""

    text: str = ""
    picture: Picture | None = None
    table: Table | None = None
    items: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    tone: Tone
    verdict: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
    certificate: Mapping[str, Any] | None = None
    words: Mapping[str, str] = field(default_factory=dict)


@singledispatch
def page(result: Any) -> Page:
    """Of any result: its sentence, its picture, and what it rests on."""
    sections = [Section("The numbers", tuple(_seen(result)))]
    parts = list(_parts(result))
    assumptions, doubts = (
        tuple(dict.fromkeys(one for part in parts for one in getattr(part, kind, ())))
        for kind in ("assumptions", "doubts")
    )
    if assumptions:
        sections.append(_rests_on(assumptions))
    lead = (*_lead(parts[0]), *(f"Doubt: {doubt}." for doubt in doubts))
    return Page(
        TITLES[type(result).__name__], _tone(result), sentence(result), lead, tuple(sections), _certificate(result),
        _words(),
    )  # fmt: skip


def _parts(result: Any) -> Iterable[Any]:
    """The results in a result that has several, however deep."""
    if isinstance(result, ByName):
        for one in result.values():
            yield from _parts(one)
    else:
        yield result


@page.register
def _(result: Gate) -> Page:
    if result.improvement is None:
        return replace(page(result.health), title=TITLES["Gate"])
    inner = page(result.improvement)
    sections = (Section("The claims", tuple(_seen(result))), *inner.sections[1:], _logs_section(result.health))
    return replace(
        inner, title=TITLES["Gate"], tone=_tone(result), verdict=sentence(result), sections=sections,
        certificate=_certificate(result),
    )  # fmt: skip


@page.register
def _(result: Verification) -> Page:
    inner = page(result.answer)
    told = [Section("What differs", (Part(items=result.differences),))] if result.differences else []
    return Page(
        "Verification", "good" if result.same else "bad", sentence(result), (inner.verdict,), (*told, *inner.sections),
        words=inner.words,
    )  # fmt: skip


@page.register
def _(result: Monitor) -> Page:
    inner, course = page(result.answer()), result.course()
    grew = Section("How the evidence grew", (*_seen(course), Part(sentence(course))))
    return replace(inner, sections=(inner.sections[0], grew, *inner.sections[1:]))


@page.register
def _(result: Health) -> Page:
    sections = (Section("What was found", tuple(_findings(result.findings))), *_weights(result))
    return Page("The logs", _tone(result), sentence(result), tuple(_about_logs(result)), sections, words=_words())


@page.register
def _(result: Report) -> Page:
    chosen = result.selection
    if chosen is None or result.values is None:
        unfit = page(result.health)
        return replace(unfit, title=_asked(result, "Is it better?"), tone="bad")
    over = over_words(chosen.over)
    first = next(iter(chosen.improvements.values()))
    together = _promise(first.promise, chosen.delta)
    doubtful = f" All of this is under a doubt: {'; '.join(chosen.doubts)}." if chosen.doubts else ""
    told = (
        f"Each line runs from what the improvement is at least to what it is at most, in the units of {_column(chosen)} a "
        f"round; the mark is the estimate. A candidate is certified when its whole line lies to the right of "
        f"{plain(chosen.margin)}{', without a doubt' if chosen.doubts else ''}. Together, all lower bounds {together}."
        f"{doubtful}"
    )
    worth = (
        f"In the units of {_column(chosen)}, a round. All of these bounds together {together}, apart from those above; "
        "production is one of the policies, so that each has a smaller share of delta than without it. To compare two "
        "policies use the improvement: it is bounded on the same rounds, and far sharper than the distance of two intervals."
    )
    sections = [
        Section(f"The improvement over {over}", (*_seen(chosen), Part(told))),
        Section("What each policy is worth", (*_seen(result.values), Part(worth))),
    ]
    best = sorted(chosen.improvements, key=lambda name: -chosen.improvements[name].lower)[:MOST_DRAWN]
    if result.course is not None:
        course = replace(result.course, points=tuple(one for one in result.course.points if one.policy in best))
        lines = "Line: lower bound. Dashed: estimate. Dotted, of a single candidate: upper bound."
        sections.append(
            Section("How the evidence grew", (*_seen(course), Part(f"{lines} {sentence(course)}{_only(best, chosen)}")))
        )
    sections += [_rests_on(chosen.assumptions), _logs_section(result.health)]
    sections += _weights(result.health, best)
    if result.usual:
        sections.append(_usual(result))
    sections.append(_certain(result))
    return Page(
        _asked(result, f"Better than {over}?"), _tone(result), sentence(result), tuple(_study_lead(result)),
        tuple(sections), _certificate(chosen), _words(),
    )  # fmt: skip


def _asked(result: Report, question: str) -> str:
    return f"{question} {result.source}" if result.source else question


def _column(chosen: Selection) -> str:
    logs = chosen.basis.logs
    return quoted(logs.get("reward") or logs.get("cost"))


def _only(best: list[str], chosen: Selection) -> str:
    few = len(best) < len(chosen.improvements)
    return f" Of {len(chosen.improvements)} candidates, the {len(best)} with the highest lower bounds." if few else ""


def _study_lead(result: Report) -> Iterable[str]:
    chosen, health = result.selection, result.health
    assert chosen is not None
    first = next(iter(chosen.improvements.values()))
    of = f", from {health.rounds:,} rows" if health.rounds != chosen.rounds else ""
    yield f"{chosen.rounds:,} {first.counted}{of}."
    if health.mean_reward is not None:
        verb = "cost" if health.kind == "cost" else "earned"
        yield f"Production {verb} {health.mean_reward:.4g} a round, in the units of {_column(chosen)}.{_share(result)}"
    wrong = f"The chance of any lower bound on an improvement being wrong is at most {plain(chosen.delta)}"
    yield f"{wrong}, were it not for the doubt." if chosen.doubts else f"{wrong}."
    warned = sum(finding.severity == "warn" for finding in health.findings)
    if warned:
        yield f"Mind {warned} {'warning' if warned == 1 else 'warnings'} about the logs, below."
    if len(chosen.improvements) <= MOST_DRAWN:
        yield from (sentence(one) for one in chosen.improvements.values())
    yield from (f"Doubt: {doubt}." for doubt in chosen.doubts)


def _share(result: Report) -> str:
    """What the chosen one adds at least, against what production earned in this log."""
    chosen, earned = result.selection, result.health.mean_reward
    if chosen is None or chosen.chosen is None or earned is None or earned <= 0.0:
        return ""
    if chosen.over != "production" or result.health.kind == "cost":
        return ""
    share = 100.0 * chosen.improvements[chosen.chosen].lower / earned
    return f" What is certified is {rounded(share, 0, towards='down')}% of that." if share >= 1.0 else ""


def _seen(result: Any) -> Iterable[Part]:
    """The picture of a result, with its table."""
    try:
        found = picture(result)
    except UsageError:
        return ()
    return (Part(picture=found, table=table(found)),)


def _tone(result: Any) -> Tone:
    if isinstance(result, Health):
        return "good" if result.ok else "bad"
    if not getattr(getattr(result, "health", result), "ok", True):
        return "bad"
    return "good" if getattr(result, "certified", False) else "open"


def _lead(result: Any) -> Iterable[str]:
    rounds, counted = getattr(result, "rounds", None), getattr(result, "counted", "rounds")
    if rounds is not None:
        yield f"{rounds:,} {counted}."
    if hasattr(result, "promise"):
        promise = _promise(result.promise, result.delta)
        method = f" ({result.method})" if hasattr(result, "method") else ""
        yield f"Each bound {promise.replace('hold', 'holds', 1).replace('aim ', 'aims ', 1)}{method}."


def _promise(promise: str, delta: float) -> str:
    return PROMISES[promise].format(chance(delta)).replace("holds", "hold", 1).replace("aims", "aim", 1)


def _rests_on(assumptions: Iterable[str]) -> Section:
    said = "The guarantee is a theorem. It holds if these are true:"
    return Section("What it rests on", (Part(said), Part(items=tuple(assumptions))))


def _about_logs(health: Health) -> Iterable[str]:
    yield f"{health.rounds:,} rounds."
    if health.mean_reward is not None and health.smallest_propensity is not None:
        verb = "cost" if health.kind == "cost" else "earned"
        yield f"Production {verb} {health.mean_reward:.4g} a round."
        yield f"The smallest propensity is {health.smallest_propensity:.3g}."


def _logs_section(health: Health) -> Section:
    said = tested(health) if health.evidence else "The propensities could not be tested."
    meaning = "In any one place, right propensities ever reach an e-value of 1,000 with a chance of 0.001 at most."
    about = " ".join(_about_logs(health))
    return Section("The logs", (Part(about), Part(f"{said} {meaning}"), *_findings(health.findings)))


def _findings(findings: Iterable[Finding]) -> Iterable[Part]:
    found = list(findings)
    if not found:
        yield Part("Nothing was found that speaks against these logs.")
    for one in found:
        subject = "" if one.says.startswith(one.subject) else f"{one.subject}: "
        yield Part(f"{subject}{one.says.rstrip('.')}. {one.remedy}", kind=one.severity)


def _weights(health: Health, drawn: Sequence[str] = ()) -> list[Section]:
    """The weights of every policy in numbers, and of some in a picture."""
    if not health.weights:
        return []
    shown = [name for name in health.weights if name in drawn] or list(health.weights)[:MOST_DRAWN]
    few = replace(health, weights={name: health.weights[name] for name in shown})
    rows = tuple(
        (
            one.policy, f"{one.mean:.4g}", f"{one.largest:.4g}", f"{one.effective_rounds:,.0f}",
            "unknown" if one.missing_support is None else f"{one.missing_support:.2%}",
            f"{one.heaviest[1]:.0%} by {one.heaviest[0]:.2%}" if one.heaviest[1] else "-",
        )
        for one in health.weights.values()
    )  # fmt: skip
    head = ("policy", "mean weight", "largest", "effective rounds", "missing support", "carried by few")
    parts = [
        Part("A weight says how much more often a candidate would have taken the logged action than production did. Where "
             "few rounds carry most of the weight, an estimate hangs on them, and a bound is wide."),
        Part(table=Table(head, rows)),
    ]  # fmt: skip
    parts += [*_seen(few), Part(table=_heaviest(few))]
    return [Section("The weights", tuple(parts))]


def _heaviest(health: Health) -> Table:
    rows = tuple(
        (policy, f"{one.row:,}", f"{one.weight:.4g}", f"{one.propensity:.4g}", f"{one.reward:.4g}")
        for policy, weights in health.weights.items()
        for one in weights.heaviest_rounds
    )
    note = "the rounds that carry most weight, by their row, counted from 0"
    return Table(("policy", "row", "weight", "propensity", health.kind), rows, note)


def _usual(result: Report) -> Section:
    assert result.selection is not None
    rows = []
    for name, ours in result.selection.improvements.items():
        usual = result.usual[name]
        decimals = decimals_for(min(ours.upper - ours.lower, usual.upper - usual.lower))
        rows.append(
            (
                name,
                *(f"{rounded(one.lower, decimals, towards='down', sign=True)} to "
                  f"{rounded(one.upper, decimals, towards='up', sign=True)}" for one in (ours, usual)),
                _said(usual),
            )
        )  # fmt: skip
    return Section(
        "What a usual interval would have said",
        (
            Part(table=Table(("policy", "this interval", "a usual one", "which says"), tuple(rows))),
            Part("Mean plus or minus a normal quantile of its standard error, at the same level: true only in the limit of "
                 "many rounds, at one look, and wrong more often than it says where few rounds carry the weight."),
        ),
    )  # fmt: skip


def _said(usual: Improvement) -> str:
    """What one would read off a usual interval."""
    if usual.lower > usual.margin:
        return "better" if usual.margin == 0.0 else "yes"
    return "undecided" if usual.upper >= usual.margin else "worse" if usual.margin == 0.0 else "no"


def _certain(result: Report) -> Section:
    assert result.selection is not None
    told = tuple(f"{quoted(name)}: {sentence(one)}" for name, one in result.forecasts.items())
    if not told:
        every = all(one.certified for one in result.selection.improvements.values())
        said = (
            "Every candidate is certified: no more rounds are needed."
            if every
            else "There is no forecast for these logs."
        )
        return Section("What would make it certain", (Part(said),))
    return Section("What would make it certain", (Part(items=told),))


def _certificate(answer: Any) -> Mapping[str, Any] | None:
    """None of what certifies nothing."""
    if getattr(answer, "basis", None) is None:
        return None
    try:
        return Certificate.of(answer).content
    except SureliftError:
        return None


def _words() -> dict[str, str]:
    return {word: WORDS[word] for word in EXPLAINED}
