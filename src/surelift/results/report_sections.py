"""The sections that only the page of a report has."""

from collections.abc import Iterator, Mapping

from surelift.results.evaluation import Evaluation
from surelift.results.forecast import Forecast
from surelift.results.health import Health
from surelift.results.improvement import Improvement
from surelift.results.selection import Selection
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import decimals_for, plain, rounded
from surelift.views.page import MOST_DRAWN, Paragraph, Section, shown
from surelift.views.tables import Table
from surelift.views.text import all_hold, doubt_lines


def column_of(selection: Selection) -> str:
    logs = selection.provenance.question["declaration"]
    return quoted(logs.get("reward") or logs.get("cost"))


def lead_of(selection: Selection, health: Health) -> Iterator[str]:
    """What the page says right below the verdict."""
    rows = f", from {health.rounds:,} rows" if health.rounds != selection.rounds else ""
    yield f"{selection.rounds:,} {selection.first.counted}{rows}."
    if health.mean_reward is not None:
        verb = "cost" if health.kind == "cost" else "earned"
        share = _certified_share(selection, health)
        yield f"Production {verb} {health.mean_reward:.4g} per round, in the units of {column_of(selection)}.{share}"
    risk = f"The probability that any lower bound on an improvement is wrong is at most {plain(selection.delta)}"
    yield f"{risk}, apart from the doubt stated below." if selection.doubts else f"{risk}."
    warnings = sum(finding.severity == "warn" for finding in health.findings)
    if warnings:
        yield f"Note the {'warning' if warnings == 1 else f'{warnings} warnings'} about the logs, below."
    if len(selection.improvements) <= MOST_DRAWN:
        yield from (improvement.sentence() for improvement in selection.improvements.values())
    yield from doubt_lines(selection.doubts)


def _certified_share(selection: Selection, health: Health) -> str:
    """The certified improvement as a share of what production earned in this log."""
    earned = health.mean_reward
    if selection.chosen is None or earned is None or earned <= 0.0:
        return ""
    if selection.over != "production" or health.kind == "cost":
        return ""
    share = 100.0 * selection.improvements[selection.chosen].lower / earned
    return f" The certified improvement is {rounded(share, 0, towards='down')}% of that." if share >= 1.0 else ""


def improvement_section(selection: Selection) -> Section:
    together = all_hold(selection.first.promise, selection.delta)
    doubtful = f" All of this is in doubt: {'; '.join(selection.doubts)}." if selection.doubts else ""
    meaning = (
        f"Each line runs from the lower to the upper bound on the improvement per round, in the units of "
        f"{column_of(selection)}; the dot is the estimate. A candidate is certified when its whole line lies to the right "
        f"of {plain(selection.margin)}{', without a doubt' if selection.doubts else ''}. Together, all lower bounds "
        f"{together}.{doubtful}"
    )
    heading = f"The improvement over {baseline_name(selection.over)}"
    return Section(heading, (*shown(selection.figure_or_none()), Paragraph(meaning)))


def value_section(values: Evaluation, selection: Selection) -> Section:
    together = all_hold(selection.first.promise, selection.delta)
    meaning = (
        f"Per round, in the units of {column_of(selection)}. All of these bounds together {together}, separately from those "
        "above. Production is one of the policies, so each gets a smaller share of delta than without it. To compare two "
        "policies, use the improvement: it is bounded on the same rounds, and much sharper than the distance between two "
        "intervals."
    )
    return Section("What each policy is worth", (*shown(values.figure_or_none()), Paragraph(meaning)))


def normal_section(improvements: Mapping[str, Improvement], normal: Mapping[str, Improvement]) -> Section:
    rows = []
    for name, certified in improvements.items():
        asymptotic = normal[name]
        decimals = decimals_for(min(certified.upper - certified.lower, asymptotic.upper - asymptotic.lower))
        intervals = (
            f"{rounded(each.lower, decimals, towards='down', sign=True)} to "
            f"{rounded(each.upper, decimals, towards='up', sign=True)}"
            for each in (certified, asymptotic)
        )
        rows.append((name, *intervals, _conclusion(asymptotic)))
    caveat = (
        "A normal interval is the mean plus or minus a normal quantile of its standard error, at the same level. It is "
        "valid only for very many rounds and a single look, and is wrong more often than it says where a few rounds carry "
        "most of the weight."
    )
    table = Table(("policy", "this interval", "normal interval", "its conclusion"), tuple(rows))
    return Section("What a normal interval would have said", (Paragraph(table=table), Paragraph(caveat)))


def _conclusion(normal: Improvement) -> str:
    """What one would conclude from a normal interval alone."""
    if normal.lower > normal.margin:
        return "better" if normal.margin == 0.0 else "yes"
    return "undecided" if normal.upper >= normal.margin else "worse" if normal.margin == 0.0 else "no"


def forecast_section(forecasts: Mapping[str, Forecast], selection: Selection) -> Section:
    items = tuple(f"{quoted(name)}: {forecast.sentence()}" for name, forecast in forecasts.items())
    if items:
        return Section(Forecast.title, (Paragraph(items=items),))
    certified = all(improvement.certified for improvement in selection.improvements.values())
    needless = "Every candidate is certified: no more rounds are needed."
    return Section(Forecast.title, (Paragraph(needless if certified else "There is no forecast for these logs."),))
