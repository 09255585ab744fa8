"""All that whoever decides will ask of some candidates: the answer, what it rests on, and what would make it certain."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surelift.decisions.asking import Progress, before_sampling, count_rounds, require_logs
from surelift.decisions.check import check
from surelift.decisions.comparison import Comparison, comparison_of
from surelift.decisions.course import POINTS, collect_course, course_of
from surelift.decisions.evaluate import evaluate
from surelift.decisions.method import check_delta, choose_method
from surelift.decisions.power import power
from surelift.decisions.select import selection_of
from surelift.errors import LogsError
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION, name_policies
from surelift.results.health import Finding, Health
from surelift.results.report import Report
from surelift.statistics import Plan


def study(
    logs: Logs,
    policies: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    control: Any = "auto",
    grid: str | Grid = "anytime",
    progress: Progress | None = None,
) -> Report:
    """Check the logs, select among the policies, and gather what a report shows beside: ``study(...).to_html(path)``.

    The improvements are those of ``select``, and hold together with probability 1 - delta; so do the values, for
    themselves. The log is read several times.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> study(logs, {"new": [0.4, 0.6] * 500}).certified
    True
    """
    require_logs(logs)
    named = name_policies(policies)
    options: dict[str, Any] = {"control": control, "grid": grid}
    asked = comparison_of(
        logs, named, over=over, margin=margin, method=choose_method("mixture", **options), question="select",
        options={"delta": check_delta(delta), "many": "simultaneous"},
    )  # fmt: skip
    health = check(logs, asked.everyone, progress=progress)
    if not health.ok:
        return Report(health, None, None, None, {}, {}, _called(logs))
    try:
        return _fit(asked, health, delta=delta, options=options, progress=progress)
    except LogsError as error:
        said, _, remedy = str(error).partition("\n")
        finding = Finding("refuse", "bounds", said.rstrip("."), remedy)
        return Report(replace(health, findings=(*health.findings, finding)), None, None, None, {}, {}, _called(logs))


def _fit(
    asked: Comparison, health: Health, *, delta: float, options: Mapping[str, Any], progress: Progress | None
) -> Report:
    """Of logs that are fit, unless their bounds contradict each other."""
    logs, named = asked.logs, asked.policies
    each = delta / len(named)
    usual = _usual(asked)
    plan = asked.plan(lambda: count_rounds(logs))
    beside = None if usual is None else usual.plan(lambda: count_rounds(logs))
    both = Plan(plan.policies, (*plan.terms, *(() if beside is None else beside.terms)), plan.model)
    # Of a part of a sampled log it is not known how many rounds it stands for.
    followed = logs.declaration.rounds_before_sampling is None
    parts = collect_course(logs, both, points=POINTS if followed else 1, progress=progress)
    whole = before_sampling(logs, parts[-1])
    found = asked.answer(plan, whole, delta=each)
    production: dict[str, Policy | str] = {PRODUCTION: PRODUCTION, **asked.everyone}
    foreseen = logs.declaration.keep_probability is None and whole.units > 1
    return Report(
        health=health,
        selection=selection_of(found, many="simultaneous", delta=delta),
        values=evaluate(logs, production, delta=delta, progress=progress, **options),
        history=course_of(asked, plan, parts, delta=each, last=found) if followed else None,
        normal_intervals={} if usual is None or beside is None else usual.answer(beside, whole, delta=each),
        forecasts={
            name: power(
                logs, {name: policy}, over={asked.over: asked.baseline}, delta=each, margin=asked.margin,
                progress=progress, **options,
            )
            for name, policy in named.items()
            if foreseen and not found[name].certified
        },
        source=_called(logs),
    )  # fmt: skip


def _called(logs: Logs) -> str:
    return str(getattr(logs.source, "called", ""))


def _usual(asked: Comparison) -> Comparison | None:
    """The same question by the usual interval, which knows rounds alone."""
    if asked.logs.declaration.cluster is not None or asked.logs.declaration.keep_probability is not None:
        return None
    return replace(asked, method=choose_method("normal", control="auto"), known=frozenset())
