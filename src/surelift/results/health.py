"""Are the logs fit for a guarantee, and how are the importance weights distributed over their rounds?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from surelift.errors import UsageError
from surelift.evidence.propensities import Evidence
from surelift.logs.findings import Finding
from surelift.results.result import OMITTED, Result
from surelift.views.figures import MOST_SHOWN, Bar, WeightHistogram
from surelift.views.names import quoted, visible
from surelift.views.page import MOST_DRAWN, Page, Paragraph, Section, Tone, shown
from surelift.views.panels import MOST_GROUPS
from surelift.views.tables import Table
from surelift.views.text import aligned, lines, some


@dataclass(frozen=True, slots=True)
class WeightSize:
    """The rounds whose weight is below a power of two, but not below half of it."""

    below: float
    rounds: float
    """As a share of all rounds; the next as a share of the total weight."""
    weight: float


@dataclass(frozen=True, slots=True)
class HeavyRound:
    """One of the rounds with the largest weights."""

    row: int
    """Counted from 0 over the whole log."""
    weight: float
    propensity: float
    reward: float | None
    """In the units of the column, as is a cost; None where the round was not labelled."""


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
        return (
            f"{self.mean:.4g}", f"{self.largest:.4g}", f"{self.effective_sample_size:,.0f}",
            "unknown" if self.missing_support is None else f"{self.missing_support:.2%}",
        )  # fmt: skip


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
        """Whether no finding refuses an answer."""
        return all(finding.severity != "refuse" for finding in self.findings)

    def sentence(self) -> str:
        refused = {finding.subject for finding in self.findings if finding.severity == "refuse"}
        if len(refused) == 1 and min(refused).startswith("method "):
            return f"Not fit for {min(refused)}, which certifies nothing from these logs."
        if refused:
            return "Not fit for a guarantee: nothing can be certified from these logs."
        return "Fit for a guarantee; see the warnings." if self.findings else "Fit for a guarantee."

    def text(self) -> str:
        findings = (f"{each.severity.upper()}  {each.statement}\n  {each.remedy}" for each in self.findings)
        tests = self.tests() if self.evidence else ""
        production = ""
        if self.mean_reward is not None and self.smallest_propensity is not None:
            production = f"  production {self.earned()}; smallest propensity {self.smallest_propensity:.3g}"
        head = f"Logs of {self.rounds:,} rounds"
        told = some(findings, "findings")
        return lines(head, production, _weight_lines(self.weights), told, tests, self.sentence())

    def earned(self, unit: str = "round") -> str:
        return f"{'cost' if self.kind == 'cost' else 'earned'} {self.mean_reward:.4g} per {unit}"

    def tests(self) -> str:
        """How the propensities were tested, and the strongest evidence against them."""
        count = len(self.evidence)
        families = dict.fromkeys(evidence.family.name or "overall" for evidence in self.evidence)
        strongest = max(evidence.e_value for evidence in self.evidence)
        return (
            f"{count:,} {'test' if count == 1 else 'tests'} of the propensities ({', '.join(map(visible, families))}); the "
            f"strongest evidence against them is an e-value of {strongest:.3g}. {EVIDENCE}"
        )

    def figure(self) -> WeightHistogram:
        if not self.weights:
            raise UsageError(
                "there are no weights to show: the logs are not fit, or check was called without policies; give check the "
                "policies, check(logs, policies)."
            )
        return _weight_histogram(self.weights)

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
        about = Paragraph(" ".join(self.lead())), Paragraph(tests)
        return Section("The logs", (*about, *self._paragraphs()))

    def _paragraphs(self) -> tuple[Paragraph, ...]:
        found = [
            Paragraph(f"{each.statement.rstrip('.')}. {each.remedy}", kind=each.severity)
            for each in self.findings[:MOST_SHOWN]
        ]
        if len(self.findings) > MOST_SHOWN:
            found.append(Paragraph(f"and {len(self.findings) - MOST_SHOWN:,} more findings"))
        return tuple(found) or (Paragraph("No problems were found in these logs."),)

    def weight_sections(self, preferred: Collection[str] = ()) -> list[Section]:
        """The weights of every policy, the preferred ones first; drawn are the first few."""
        if not self.weights:
            return []
        first = [name for name in preferred if name in self.weights]
        ordered = {name: self.weights[name] for name in dict.fromkeys([*first, *self.weights])}
        drawn = (first or list(ordered))[:MOST_DRAWN]
        return [_weight_section(ordered, {name: ordered[name] for name in drawn}, self.kind)]


EVIDENCE = "It counts from about 1,000, which a single test of right ones ever reaches with probability at most 0.001."
HEAD = ("policy", "mean weight", "largest", "effective sample size", "missing support")


def _weight_lines(weights: Mapping[str, WeightHealth]) -> list[str]:
    return aligned([HEAD, *((quoted(each.policy), *each.cells()) for each in weights.values())]) if weights else []


def _weight_histogram(weights: Mapping[str, WeightHealth]) -> WeightHistogram:
    bars = (Bar(each.policy, size.below, size.rounds, size.weight) for each in weights.values() for size in each.sizes)
    return WeightHistogram(tuple(bars))


def _weight_section(weights: Mapping[str, WeightHealth], drawn: Mapping[str, WeightHealth], kind: str) -> Section:
    """The weights of every policy in numbers, and of some in a figure; ``kind`` is reward or cost."""
    rows = tuple((each.policy, *each.cells(), _concentration(each.heaviest)) for each in weights.values())
    meaning = (
        "An importance weight says how much more often the candidate would have taken the logged action than production "
        "did. Where a few rounds carry most of the weight, the estimate depends on them and the bounds are wide. "
        "The last column is the share of the weight in the heaviest rounds, at most 1% of all; a dash where the "
        "largest weights are those of more rounds than that."
    )
    numbers = Paragraph(table=Table((*HEAD, "weight in heaviest"), rows).brief())
    unknown = any(each.missing_support is None for each in weights.values())
    heaviest = Paragraph(table=_heaviest(drawn, kind))
    return Section(
        "Importance weights",
        (
            Paragraph(meaning), numbers, *((Paragraph(UNKNOWN_SUPPORT),) if unknown else ()),
            *shown(_weight_histogram(drawn)), Paragraph(_bars_explained(len(drawn))), heaviest,
        ),
    )  # fmt: skip


UNKNOWN_SUPPORT = (
    "Missing support is the share of a candidate's decisions that production could never take. It is unknown here, because "
    "the propensities of logged actions do not tell what else could have been logged; where actions can be listed, "
    "production's probabilities of all of them would. A mean weight near 1 is what full overlap looks like, one well below "
    "1 a sign of missing support. Bounds hold either way, as a decision without support counts as the worst that the "
    "declared range allows; only a largest weight that was declared assumes that no support is missing."
)


def _bars_explained(policies: int) -> str:
    if 1 < policies <= MOST_GROUPS:
        return "Bars: the share of each candidate's weight in rounds of such a weight."
    return "Grey: the share of the rounds that have such a weight. In colour: the share of the weight they carry."


def _concentration(heaviest: tuple[float, float]) -> str:
    """The share of the weight in the heaviest rounds, and their share of all rounds."""
    rounds, weight = heaviest
    return f"{weight:.{0 if weight >= 0.1 else 1}%} in {rounds:.2%}" if weight else "-"


def _shown(reward: float | None) -> str:
    return "-" if reward is None else f"{reward:.4g}"


def _heaviest(weights: Mapping[str, WeightHealth], kind: str) -> Table:
    rows = tuple(
        (policy, f"{heavy.row:,}", f"{heavy.weight:.4g}", f"{heavy.propensity:.4g}", _shown(heavy.reward))
        for policy, each in weights.items()
        for heavy in each.heaviest_rounds
    )
    note = "the rounds with the largest weights, by row number, counted from 0"
    return Table(("policy", "row", "weight", "propensity", kind), rows, note, fold=True)
