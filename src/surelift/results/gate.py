"""Can the candidate be launched?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.health import Health
from surelift.results.improvement import Improvement
from surelift.results.outcomes import claims_figure
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Figure
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import between, decimals_for, plain
from surelift.views.page import Page, Section, Tone, shown
from surelift.views.text import all_hold, lines

UNCHECKED = Health(0, (), {}, (), None, None)
"""Of logs that were not looked at yet."""


@dataclass(frozen=True, slots=True, repr=False)
class Gate(Result):
    """Whether a candidate can be launched, and which claims are certified."""

    certified: bool
    """The logs are fit, the improvement exceeds its margin, and every guardrail holds."""
    health: Health = field(metadata=OMITTED)
    improvement: Improvement | None
    """None where the logs are not fit."""
    guardrails: Mapping[str, Improvement]
    """By column; certified where its claim holds."""
    delta: float
    """The probability that any of these bounds fails: it is split evenly over them."""
    provenance: Provenance | None = field(compare=False)

    title: ClassVar = "Can it be launched?"
    derived: ClassVar = ("fit",)

    @property
    def fit(self) -> bool:
        """Whether the logs are fit for a guarantee."""
        return self.health.ok

    def sentence(self) -> str:
        if self.improvement is None:
            return self.health.sentence()
        if not self.guardrails:
            return self.improvement.sentence()
        name, over = quoted(self.improvement.policy), baseline_name(self.improvement.over)
        if self.certified:
            return f"Certified: {name} is better than {over}, and every guardrail holds."
        return f"Not certified: the evidence is not enough to launch {name}."

    def text(self) -> str:
        if self.improvement is None:
            return self.health.text()
        warnings = [f"Warning: {finding.statement}." for finding in self.health.findings]
        if not self.guardrails:
            return lines(warnings, self.improvement.text())
        claims = 1 + len(self.guardrails)
        together = all_hold(self.improvement.promise, self.delta)
        head = f"{claims} claims, each at delta {self.delta / claims:g}. Together, all lower bounds {together}."
        guardrails = [_guardrail_line(column, improvement) for column, improvement in self.guardrails.items()]
        return lines(warnings, head, self.improvement.text(), guardrails, self.sentence())

    def bounded(self) -> Mapping[str, Improvement]:
        return {} if self.improvement is None else {self.improvement.policy: self.improvement, **self.guardrails}

    def figure(self) -> Figure:
        if self.improvement is None:
            return self.health.figure()
        if not self.guardrails:
            return self.improvement.figure()
        return claims_figure(self.bounded(), over=self.improvement.over)

    def tone(self) -> Tone:
        return "bad" if not self.fit else "good" if self.certified else "open"

    def page(self) -> Page:
        if self.improvement is None:
            return replace(self.health.page(), title=self.title)
        page = self.improvement.page()
        claims = Section("The claims", shown(self.figure_or_none()))
        return replace(
            page, title=self.title, tone=self.tone(), verdict=self.sentence(), certificate=self.certificate_content(),
            sections=(claims, *page.sections[1:], self.health.section()),
        )  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        claims = {} if self.improvement is None else {"": self.improvement, **self.guardrails}
        return [{"guardrail": column, **record} for column, claim in claims.items() for record in claim.records()]


def _guardrail_line(column: str, improvement: Improvement) -> str:
    interval = between(improvement.lower, improvement.upper, decimals_for(improvement.upper - improvement.lower))
    holds = "holds" if improvement.certified else "is not shown to hold"
    return f"Guardrail {quoted(column)} {holds}: better by {interval}, more than {plain(improvement.margin)} required"
