"""Are the logs fit for a guarantee, and how are the importance weights distributed over their rounds?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from surelift.evidence.propensities import Evidence
from surelift.logs.faults import Finding
from surelift.results.result import OMITTED, Result
from surelift.views.charts import MOST_GROUPS
from surelift.views.figures import MOST_SHOWN, Figure, WeightHistogram, WeightSize
from surelift.views.formats import quoted, visible
from surelift.views.page import MOST_DRAWN, Page, Paragraph, Section, Tone, shown
from surelift.views.tables import Table
from surelift.views.text import aligned, lines, some

HEAD = ("policy", "mean weight", "largest", "effective sample size", "missing support")
EVIDENCE = (
    "It counts from about {least:,.3g}, which a single test of right ones ever reaches with probability at most {level:g}."
)
MEANING = (
    "An importance weight says how much more often the candidate would have taken the logged action than production did. "
    "Where a few rounds carry most of the weight, the estimate depends on them and the bounds are wide. The last column is "
    "the share of the weight in the heaviest rounds, at most 1% of all; a dash where the largest weights are those of more "
    "rounds than that."
)
UNKNOWN_SUPPORT = (
    "Missing support is the share of a candidate's decisions that production could never take. It is unknown here, because "
    "the propensities of logged actions do not tell what else could have been logged; where actions can be listed, "
    "production's probabilities of all of them would. A mean weight near 1 is what full overlap looks like, one well below "
    "1 a sign of missing support. Bounds hold either way, as a decision without support counts as the worst that the "
    "declared range allows; only a largest weight that was declared assumes that no support is missing."
)


@dataclass(frozen=True, slots=True)
class HeavyRound:
    """One of the rounds with the largest weights."""

    row: int
    """The number of the row, from 0 over the whole log."""
    weight: float
    propensity: float
    reward: float | None
    """The reward in the units of the column, as is a cost; None where the round was not labelled."""


@dataclass(frozen=True, slots=True)
class WeightHealth:
    """How the weights of one policy are distributed over the rounds."""

    policy: str
    mean: float
    """Close to 1 where production could take every action of the policy."""
    largest: float
    effective_sample_size: float
    """The number of equally weighted rounds that carry about as much information."""
    missing_support: float | None
    """The share of the policy's decisions that production could never take; None without whole distributions."""
    heaviest: tuple[float, float]
    """The share of rounds with the largest weights, at most 1%, and the share of the weight they carry."""
    sizes: tuple[WeightSize, ...]
    heaviest_rounds: tuple[HeavyRound, ...]

    def cells(self) -> tuple[str, ...]:
        """Its numbers under ``HEAD``."""
        missing = "unknown" if self.missing_support is None else f"{self.missing_support:.2%}"
        return f"{self.mean:.4g}", f"{self.largest:.4g}", f"{self.effective_sample_size:,.0f}", missing


@dataclass(frozen=True, slots=True, repr=False)
class Health(Result):
    """What was found; ``ok`` unless a finding refuses."""

    rounds: int
    findings: tuple[Finding, ...]
    weights: Mapping[str, WeightHealth]
    evidence: tuple[Evidence, ...] = field(metadata=OMITTED)
    """The evidence against the propensities, for every segment that was tested."""
    mean_reward: float | None
    """Production's mean reward per round, in the units of the column."""
    smallest_propensity: float | None
    kind: Literal["reward", "cost"] = field(metadata=OMITTED, default="reward")
    level: float = field(metadata=OMITTED, default=0.001)
    """The chance of a false alarm, over all tests of the propensities."""

    title: ClassVar = "The logs"
    derived: ClassVar = ("ok",)
    rows: ClassVar = "findings"
    without_figure: ClassVar = (
        "there are no weights to show: the logs are not fit, or check was called without policies; give check the policies, "
        "check(logs, policies)."
    )

    @property
    def ok(self) -> bool:
        """No finding refuses an answer."""
        return all(finding.severity != "refuse" for finding in self.findings)

    def sentence(self) -> str:
        refused = {finding.subject for finding in self.findings if finding.severity == "refuse"}
        if len(refused) == 1 and min(refused).startswith("method "):
            return f"Not fit for {min(refused)}, which certifies nothing from these logs."
        if refused:
            return "Not fit for a guarantee: nothing can be certified from these logs."
        return "Fit for a guarantee; see the warnings." if self.findings else "Fit for a guarantee."

    def text(self) -> str:
        production = ""
        if self.mean_reward is not None and self.smallest_propensity is not None:
            production = f"  production {self.earned()}; smallest propensity {self.smallest_propensity:.3g}"
        weights = [(quoted(each.policy), *each.cells()) for each in self.weights.values()]
        findings = (f"{each.severity.upper()}  {each.statement}\n  {each.remedy}" for each in self.findings)
        return lines(
            f"Logs of {self.rounds:,} rounds",
            production,
            aligned([HEAD, *weights]) if weights else "",
            some(findings, "findings"),
            self.tests(),
            self.sentence(),
        )

    def earned(self, unit: str = "round") -> str:
        return f"{'cost' if self.kind == 'cost' else 'earned'} {self.mean_reward:.4g} per {unit}"

    def tests(self) -> str:
        """How the propensities were tested, and the strongest evidence against them; empty where they were not."""
        if not self.evidence:
            return ""
        count = f"{len(self.evidence):,} {'test' if len(self.evidence) == 1 else 'tests'}"
        families = dict.fromkeys(evidence.family.name or "overall" for evidence in self.evidence)
        tested = f"{count} of the propensities ({', '.join(map(visible, families))})"
        counts = EVIDENCE.format(least=1.0 / self.level, level=self.level)
        strongest = max(evidence.e_value for evidence in self.evidence)
        return f"{tested}; the strongest evidence against them is an e-value of {strongest:.3g}. {counts}"

    def figure(self) -> Figure:
        return self._histogram(self.weights) if self.weights else Result.figure(self)

    def _histogram(self, policies: Collection[str]) -> WeightHistogram:
        return WeightHistogram({name: self.weights[name].sizes for name in policies})

    def tone(self) -> Tone:
        return "good" if self.ok else "bad"

    def page(self) -> Page:
        sections = (Section("Findings", self._paragraphs()), *self.weight_sections())
        return Page(self.title, self.tone(), self.sentence(), self.lead(), sections)

    def lead(self) -> tuple[str, ...]:
        count = f"{self.rounds:,} rounds."
        if self.mean_reward is None or self.smallest_propensity is None:
            return (count,)
        return count, f"Production {self.earned()}.", f"The smallest propensity is {self.smallest_propensity:.3g}."

    def section(self) -> Section:
        """The logs, as a section of another result's page."""
        tests = self.tests() or "The propensities could not be tested."
        return Section("The logs", (Paragraph(" ".join(self.lead())), Paragraph(tests), *self._paragraphs()))

    def _paragraphs(self) -> tuple[Paragraph, ...]:
        found = [Paragraph(f"{each.statement.rstrip('.')}. {each.remedy}", kind=each.severity) for each in self.findings]
        if len(found) > MOST_SHOWN:
            found[MOST_SHOWN:] = [Paragraph(f"and {len(found) - MOST_SHOWN:,} more findings")]
        return tuple(found) or (Paragraph("No problems were found in these logs."),)

    def weight_sections(self, preferred: Collection[str] = ()) -> list[Section]:
        """The weights of every policy in numbers, the preferred ones first; drawn are the first few."""
        if not self.weights:
            return []
        first = [name for name in preferred if name in self.weights]
        drawn = (first or list(self.weights))[:MOST_DRAWN]
        bars = "Grey: the share of the rounds that have such a weight. In colour: the share of the weight they carry."
        if 1 < len(drawn) <= MOST_GROUPS:
            bars = "Bars: the share of each candidate's weight in rounds of such a weight."
        numbers = []
        for name in dict.fromkeys([*first, *self.weights]):
            rounds, weight = self.weights[name].heaviest
            heaviest = f"{weight:.{0 if weight >= 0.1 else 1}%} in {rounds:.2%}" if weight else "-"
            numbers.append((name, *self.weights[name].cells(), heaviest))
        paragraphs = [Paragraph(MEANING), Paragraph(table=Table((*HEAD, "weight in heaviest"), tuple(numbers)).brief())]
        if any(each.missing_support is None for each in self.weights.values()):
            paragraphs.append(Paragraph(UNKNOWN_SUPPORT))
        largest = []
        for name in drawn:
            for heavy in self.weights[name].heaviest_rounds:
                reward = "-" if heavy.reward is None else f"{heavy.reward:.4g}"
                largest.append((name, f"{heavy.row:,}", f"{heavy.weight:.4g}", f"{heavy.propensity:.4g}", reward))
        head = ("policy", "row", "weight", "propensity", self.kind)
        note = "the rounds with the largest weights, by row number, counted from 0"
        paragraphs += [*shown(self._histogram(drawn)), Paragraph(bars)]
        paragraphs.append(Paragraph(table=Table(head, tuple(largest), note, fold=True)))
        return [Section("Importance weights", tuple(paragraphs))]
