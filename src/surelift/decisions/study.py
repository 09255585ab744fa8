"""All that whoever decides will ask of some candidates: the answer, what it rests on, and what would make it certain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from surelift.decisions.asking import Progress, before_sampling, count_rounds, require_logs
from surelift.decisions.check import Health, check
from surelift.decisions.comparison import Comparison, comparison_of
from surelift.decisions.course import POINTS, Course, collect_course, course_of
from surelift.decisions.evaluate import evaluate
from surelift.decisions.evaluation import Evaluation
from surelift.decisions.findings import Finding
from surelift.decisions.improvement import Improvement
from surelift.decisions.method import check_delta, choose_method
from surelift.decisions.power import Forecast, power
from surelift.decisions.result import Result
from surelift.decisions.select import Selection, selection_of
from surelift.errors import LogsError
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION, name_policies
from surelift.statistics import Plan


@dataclass(frozen=True, slots=True, repr=False)
class Study(Result):
    """The material of a report. Without a selection, where the logs are not fit for a guarantee."""

    health: Health
    selection: Selection | None
    values: Evaluation | None
    """Of every candidate and of production, at a delta of their own."""
    course: Course | None
    usual: Mapping[str, Improvement]
    """What a usual asymptotic interval says, by name; empty where there is none, for clusters and sampled rounds."""
    forecasts: Mapping[str, Forecast]
    """For the candidates that are not certified, by name; empty where rounds forecast nothing: sampled, or only one."""
    source: str = ""
    """What the log is called, where it has a name."""

    @property
    def certified(self) -> bool:
        return self.selection is not None and self.selection.certified

    def to_dict(self) -> dict[str, Any]:
        return {
            "certified": self.certified, "health": self.health.to_dict(),
            "selection": None if self.selection is None else self.selection.to_dict(),
            "values": None if self.values is None else self.values.to_dict(),
            "usual": {name: one.to_dict() for name, one in self.usual.items()},
            "forecasts": {name: one.to_dict() for name, one in self.forecasts.items()},
            "course": None if self.course is None else self.course.to_dict(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return self.health.records() if self.selection is None else self.selection.records()


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
) -> Study:
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
        return Study(health, None, None, None, {}, {}, _called(logs))
    try:
        return _fit(asked, health, delta=delta, options=options, progress=progress)
    except LogsError as error:
        said, _, remedy = str(error).partition("\n")
        finding = Finding("refuse", "bounds", said.rstrip("."), remedy)
        return Study(replace(health, findings=(*health.findings, finding)), None, None, None, {}, {}, _called(logs))


def _fit(
    asked: Comparison, health: Health, *, delta: float, options: Mapping[str, Any], progress: Progress | None
) -> Study:
    """Of logs that are fit, unless their bounds contradict each other."""
    logs, named = asked.logs, asked.policies
    each = delta / len(named)
    usual = _usual(asked)
    plan = asked.plan(lambda: count_rounds(logs))
    beside = None if usual is None else usual.plan(lambda: count_rounds(logs))
    both = Plan(plan.policies, (*plan.terms, *(() if beside is None else beside.terms)), plan.model)
    # Of a part of a sampled log it is not known how many rounds it stands for.
    followed = logs.rounds_before_sampling is None
    parts = collect_course(logs, both, points=POINTS if followed else 1, progress=progress)
    whole = before_sampling(logs, parts[-1])
    found = asked.answer(plan, whole, delta=each)
    production: dict[str, Policy | str] = {PRODUCTION: PRODUCTION, **asked.everyone}
    foreseen = logs.keep_probability is None and whole.units > 1
    return Study(
        health=health,
        selection=selection_of(found, many="simultaneous", delta=delta),
        values=evaluate(logs, production, delta=delta, progress=progress, **options),
        course=course_of(asked, plan, parts, delta=each, last=found) if followed else None,
        usual={} if usual is None or beside is None else usual.answer(beside, whole, delta=each),
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
    if asked.logs.cluster is not None or asked.logs.keep_probability is not None:
        return None
    return replace(asked, method=choose_method("normal", control="auto"), known=frozenset())
