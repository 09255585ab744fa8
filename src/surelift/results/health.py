"""Are the logs fit for a guarantee?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from surelift.errors import UsageError
from surelift.evidence.propensities import Evidence
from surelift.results.result import OMITTED, Result
from surelift.results.weights import WeightHealth, weight_histogram, weight_lines, weight_section
from surelift.views.figures import WeightHistogram
from surelift.views.names import visible
from surelift.views.page import MOST_DRAWN, Page, Paragraph, Section, Tone
from surelift.views.text import lines


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Literal["refuse", "warn"]
    subject: str
    says: str
    remedy: str
    segment: str | None = None
    """Where it was found, such as "day 2024-03-11"; None for the whole log."""
    e_value: float | None = None
    """The evidence, where it was tested: correct logs show so much with probability at most its inverse."""

    @property
    def statement(self) -> str:
        """What it says, with its subject."""
        return self.says if self.says.startswith(self.subject) else f"{self.subject}: {self.says}"


@dataclass(frozen=True, slots=True, repr=False)
class Health(Result):
    """What was found; ``ok`` unless a finding refuses."""

    rounds: int
    findings: tuple[Finding, ...]
    weights: Mapping[str, WeightHealth]
    evidence: tuple[Evidence, ...] = field(metadata=OMITTED)
    """Against the propensities, for every segment that was tested."""
    mean_reward: float | None
    """Production's mean reward per round, in the units of the column."""
    smallest_propensity: float | None
    kind: Literal["reward", "cost"] = field(metadata=OMITTED, default="reward")

    title: ClassVar = "The logs"
    derived: ClassVar = ("ok",)
    rows: ClassVar = "findings"

    @property
    def ok(self) -> bool:
        return all(finding.severity != "refuse" for finding in self.findings)

    def sentence(self) -> str:
        if not self.ok:
            return "Not fit for a guarantee: nothing can be certified from these logs."
        return "Fit for a guarantee; see the warnings." if self.findings else "Fit for a guarantee."

    def text(self) -> str:
        findings = [f"{each.severity.upper()}  {each.statement}\n  {each.remedy}" for each in self.findings]
        tests = self.tests() if self.evidence else ""
        production = ""
        if self.mean_reward is not None and self.smallest_propensity is not None:
            production = f"  production {self.earned()}; smallest propensity {self.smallest_propensity:.3g}"
        head = f"Logs of {self.rounds:,} rounds"
        return lines(head, production, weight_lines(self.weights), findings, tests, self.sentence())

    def earned(self) -> str:
        return f"{'cost' if self.kind == 'cost' else 'earned'} {self.mean_reward:.4g} per round"

    def tests(self) -> str:
        """How the propensities were tested, and the strongest evidence against them."""
        count = len(self.evidence)
        families = dict.fromkeys(evidence.family.name or "overall" for evidence in self.evidence)
        strongest = max(evidence.e_value for evidence in self.evidence)
        return (
            f"{count:,} {'test' if count == 1 else 'tests'} of the propensities ({', '.join(map(visible, families))}); the "
            f"strongest evidence against them is an e-value of {strongest:.3g}."
        )

    def figure(self) -> WeightHistogram:
        if not self.weights:
            raise UsageError(
                "there are no weights to show: the logs are not fit, or check was called without policies; give check the "
                "policies, check(logs, policies)."
            )
        return weight_histogram(self.weights)

    def tone(self) -> Tone:
        return "good" if self.ok else "bad"

    def page(self) -> Page:
        sections = (Section("Findings", self._paragraphs()), *self.weight_sections())
        return Page(self.title, self.tone(), self.sentence(), self.lead(), sections)

    def lead(self) -> tuple[str, ...]:
        count = f"{self.rounds:,} rounds."
        if self.mean_reward is None or self.smallest_propensity is None:
            return (count,)
        smallest = f"The smallest propensity is {self.smallest_propensity:.3g}."
        return count, f"Production {self.earned()}.", smallest

    def section(self) -> Section:
        """The logs, as a section of another result's page."""
        tests = self.tests() if self.evidence else "The propensities could not be tested."
        meaning = (
            "In a single test, correct propensities ever reach an e-value of 1,000 with probability at most 0.001."
        )
        about = Paragraph(" ".join(self.lead())), Paragraph(f"{tests} {meaning}")
        return Section("The logs", (*about, *self._paragraphs()))

    def _paragraphs(self) -> tuple[Paragraph, ...]:
        if not self.findings:
            return (Paragraph("No problems were found in these logs."),)
        return tuple(
            Paragraph(f"{finding.statement.rstrip('.')}. {finding.remedy}", kind=finding.severity)
            for finding in self.findings
        )

    def weight_sections(self, preferred: Collection[str] = ()) -> list[Section]:
        """The weights of every policy; drawn are the preferred ones, or the first few."""
        if not self.weights:
            return []
        names = [name for name in self.weights if name in preferred] or list(self.weights)[:MOST_DRAWN]
        return [weight_section(self.weights, {name: self.weights[name] for name in names}, self.kind)]
