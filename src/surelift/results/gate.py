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
from surelift.views.formats import baseline_name, between, decimals_for, plain, quoted
from surelift.views.page import Page, Section, Tone, shown
from surelift.views.text import lines

# Of logs that were not looked at yet.
UNCHECKED = Health(0, (), {}, (), None, None)


@dataclass(frozen=True, slots=True, repr=False)
class Gate(Result):
    """A candidate can be launched, and which claims are certified."""

    certified: bool
    """The logs are fit, the improvement exceeds its margin, and every guardrail holds."""
    health: Health = field(metadata=OMITTED)
    improvement: Improvement | None
    """None where the logs are not fit."""
    guardrails: Mapping[str, Improvement]
    """The guardrails by column; each is certified where its claim holds."""
    delta: float
    """The probability that any of these bounds fails: it is split evenly over them."""
    provenance: Provenance | None = field(compare=False)

    title: ClassVar = "Can it be launched?"
    derived: ClassVar = ("fit",)

    @property
    def fit(self) -> bool:
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
        claims, guardrails = 1 + len(self.guardrails), []
        for column, each in self.guardrails.items():
            holds = "holds" if each.certified else "is not shown to hold"
            interval = between(each.lower, each.upper, decimals_for(each.upper - each.lower))
            guardrails.append(
                f"Guardrail {quoted(column)} {holds}: better by {interval}, more than {plain(each.margin)} required"
            )
        head = f"{claims} claims, each at delta {self.delta / claims:g}. {self.together()}"
        return lines(warnings, head, self.improvement.text(), guardrails, self.sentence())

    def bounded(self) -> Mapping[str, Improvement]:
        return {} if self.improvement is None else {self.improvement.policy: self.improvement, **self.guardrails}

    def figure(self) -> Figure:
        if self.improvement is None:
            return self.health.figure()
        return claims_figure(self.bounded()) if self.guardrails else self.improvement.figure()

    def tone(self) -> Tone:
        return Result.tone(self) if self.fit else "bad"

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
