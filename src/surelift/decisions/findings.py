"""What an examination found, in words: what is wrong, where, how sure that is, what it usually means, what to do."""

import math
from collections.abc import Iterator, Mapping, Sequence

from surelift.evidence.oddities import Copies, DailyRewards, Rounding, Tails
from surelift.evidence.propensities import BY_ACTION, OVERALL, Evidence, Family
from surelift.logs.faults import describe_faults
from surelift.logs.logs import Logs
from surelift.logs.scale import Scale
from surelift.results.health import Finding
from surelift.results.provenance import doubts_of
from surelift.results.weights import HeavyRound, WeightHealth, WeightSize
from surelift.statistics import Sums, WeightSums

# Below such an effective sample size, or such a share of the rounds, a bound is wide; above such a share one round decides.
FEW_ROUNDS = 100
SMALL_SHARE = 0.01
LARGE_SHARE = 0.1
HEAVY_SHARE = 0.5
STANDARD_ERRORS = 5.0
COPIES = 0.005
# A rounding matters where it can change a propensity by more than this, relatively.
ROUGH = 0.05
SHOWN = 5


def about_rounds(logs: Logs, sums: Sums) -> Iterator[Finding]:
    if sums.rows == 0:
        yield Finding("refuse", "rounds", "the logs are empty", "Check the path or the filter.")
    ordered = sorted(sums.invalid.items(), key=lambda item: -item[1].count)
    for (fault, _), line in zip(ordered, describe_faults(sums.invalid, rows=sums.rows), strict=True):
        yield Finding("refuse", fault.subject, line, fault.reason.remedy)
    for doubt in doubts_of(logs):
        yield Finding("warn", "propensity", doubt, "Log the propensity when the decision is made; see the README.")


def about_propensities(found: Sequence[Evidence], everything: Sequence[Evidence]) -> Iterator[Finding]:
    """One finding for each family of segments, which names those that are wrong."""
    families: dict[Family, list[Evidence]] = {}
    for one in found:
        families.setdefault(one.family, []).append(one)
    for family, wrong in families.items():
        wrong.sort(key=lambda one: -one.e_value)
        among = sum(one.family == family for one in everything)
        if len(wrong) == among > 1 and OVERALL in families:
            continue  # wrong everywhere, as was said of the whole log
        names = ", ".join(_place(one) for one in wrong[:SHOWN])
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        where = "" if family == OVERALL else f" in {names}{more} ({len(wrong)} of {among})"
        first = wrong[0]
        yield Finding(
            "refuse", "propensity", f"the logged propensities are wrong{where}: {_difference(first)}",
            _usually(family, wrong, among), None if family == OVERALL else f"{names}{more}", first.e_value,
        )  # fmt: skip


def _place(one: Evidence) -> str:
    return one.segment if one.family == BY_ACTION else f"{one.family.name} {one.segment}"


def _difference(one: Evidence) -> str:
    if one.bet.startswith("weights"):
        return (
            f"the {one.bet} average {one.observed:.4g}, where right ones average at most 1 (e-value {one.e_value:.3g})"
        )
    if one.bet.startswith("inverse"):
        return (
            f"1/propensity averages {one.observed:.4g}, where right ones average at most {one.expected:.4g}, the number of "
            f"actions (e-value {one.e_value:.3g})"
        )
    return (
        f"{one.bet} was taken in {one.observed:.2%} of {one.rounds:,} rounds, where it should have been in "
        f"{one.expected:.2%} (e-value {one.e_value:.3g})"
    )


def _usually(family: Family, wrong: Sequence[Evidence], among: int) -> str:
    """What it usually means."""
    first = wrong[0]
    if first.bet.startswith(("weights", "inverse")):
        means = (
            "They were logged too small: of another model version, or of one action among several drawn. If the weights of "
            "other candidates average 1, the candidate is wrong: its column holds no probabilities (scores, predicted "
            "rewards?)."
        )
    elif family not in (OVERALL, BY_ACTION) and len(wrong) <= among / 2:
        means = "Only there: another model version, or other business rules, served these rounds than logged them."
    elif first.observed < 0.2 * first.expected:
        means = (
            f"{first.bet} is hardly ever taken: business rules keep it out after the policy drew; log what they leave."
        )
    else:
        means = (
            "They are of the policy before business rules, of another model version, or rounded: log the probability of the "
            "action really taken, from the version that took it, after all rules."
        )
    return f"{means} Leave such rounds out only if they are known by their time or version, never by what they show."


def about_rounding(rounding: Rounding, smallest: float) -> Iterator[Finding]:
    decimals = rounding.decimals
    if decimals is None:
        return
    off = 0.5 * 10.0**-decimals / smallest
    # A handful of round numbers is a design, such as 0.2 and 0.8; many of them are a column that was cut off.
    if off > ROUGH and len(rounding.distinct) > 10:
        yield Finding(
            "warn", "propensity", f"all are rounded to {decimals} decimals, so that the smallest, {smallest:g}, may be off "
            f"by {off:.0%}", "Log propensities with all their digits; a bound is worth as much as they are.",
        )  # fmt: skip


def about_copies(copies: Copies) -> Iterator[Finding]:
    if copies.share > COPIES:
        yield Finding(
            "warn", "rounds", f"{copies.share:.1%} of the rows are copies of another, their time included",
            "A join may have multiplied them: join rewards to rounds by a key that is unique, and count each round once.",
        )  # fmt: skip


def about_drift(course: DailyRewards) -> Iterator[Finding]:
    if course.surprise > STANDARD_ERRORS:
        means = course.means()
        low, high = min(means, key=lambda day: means[day]), max(means, key=lambda day: means[day])
        yield Finding(
            "warn", "rounds", f"what a round earns differs from day to day by more than chance: {means[low]:.4g} on {low}, "
            f"{means[high]:.4g} on {high} (scaled to [0, 1])",
            "Bounds stay true, and speak of the average over these rounds: mind that tomorrow may be like the last of them.",
        )  # fmt: skip


def weight_health(name: str, sums: WeightSums, rounds: int, tails: Tails, scale: Scale) -> WeightHealth:
    effective = sums.total * sums.total / sums.squares if sums.squares > 0.0 else 0.0
    missing = None if sums.unsupported is None else sums.unsupported / rounds
    sizes = tuple(WeightSize(*one) for one in tails.sizes())
    heavy = tuple(
        HeavyRound(row, weight, propensity, scale.value(reward)) for weight, row, propensity, reward in tails.top
    )
    return WeightHealth(name, sums.total / rounds, sums.largest, effective, missing, tails.heaviest(), sizes, heavy)


def about_weights(health: WeightHealth, sums: WeightSums, rounds: int, counted: str) -> Iterator[Finding]:
    subject = f"policy {health.policy!r}"
    if health.missing_support:
        yield Finding(
            "warn", subject,
            f"{health.missing_support:.2%} of its decisions are actions that production could not take",
            "What they would earn is counted as nothing; every bound stays true, the lower ones are loose by as much.",
        )  # fmt: skip
    yield from _about_mean(health, sums, rounds)
    share = sums.largest / sums.total if sums.total > 0 and counted == "rounds" else 0.0
    few, carried = health.heaviest
    if share > LARGE_SHARE:
        yield Finding(
            "warn", subject, f"one round carries {share:.0%} of its weight (a weight of {health.largest:.4g})",
            "A point estimate hangs on that round; the bounds do not, but they will be wide.",
        )  # fmt: skip
    elif carried > HEAVY_SHARE:
        yield Finding(
            "warn", subject, f"{few:.2%} of the rounds carry {carried:.0%} of its weight",
            "A point estimate hangs on these rounds; the bounds do not, but they will be wide.",
        )  # fmt: skip
    if health.effective_sample_size < max(FEW_ROUNDS, SMALL_SHARE * rounds):
        yield Finding(
            "warn", subject,
            f"its effective sample size is only {health.effective_sample_size:,.0f}, of {rounds:,} {counted}",
            "Try a blend with production, blend(policy, 0.1), or collect more rounds.",
        )  # fmt: skip


def _about_mean(health: WeightHealth, sums: WeightSums, rounds: int) -> Iterator[Finding]:
    """Missing support lowers the mean weight by as much; the rest of a difference is chance, or wrong propensities."""
    expected = 1.0 - (health.missing_support or 0.0)
    variance = sums.squares / rounds - health.mean**2
    error = math.sqrt(max(variance, 0.0) / rounds)
    if abs(health.mean - expected) <= STANDARD_ERRORS * error + 1e-6:
        return
    if health.mean > expected:
        means = (
            "Weights that are too large on average say that propensities were logged too small, or that this column holds "
            "no probabilities of the logged action: check both."
        )
    elif health.missing_support is not None:
        means = (
            "Production could take the rest of its actions: propensities were logged too large, or large weights are rare "
            "and none came yet. The tests of the propensities tell."
        )
    else:
        means = (
            "Either it prefers actions that production never takes, up to "
            f"{1 - health.mean:.1%} of its decisions, or its column holds no probabilities (scores, predicted rewards?), or "
            "propensities were logged too large, or large weights are rare and none came yet. Production's "
            "whole distribution, logging=, would tell these apart."
        )
    yield Finding(
        "warn",
        f"policy {health.policy!r}",
        f"its mean weight is {health.mean:.4g}, where {expected:.4g} is expected",
        means,
    )


def all_about_weights(healths: Mapping[str, WeightHealth], sums: Sums, counted: str) -> Iterator[Finding]:
    for name, health in healths.items():
        yield from about_weights(health, sums.weights[name], sums.units, counted)


def about_tests(evidence: Sequence[Evidence], *, sampled: bool) -> Iterator[Finding]:
    """Silence about the propensities must not pass for praise."""
    if not evidence:
        why = "the rounds were kept by chances of their own" if sampled else "nothing is known to hold them against"
        yield Finding(
            "warn", "propensity", f"the propensities could not be tested: {why}",
            "Check a log that was not sampled." if sampled
            else "Give production's whole distribution in logging=, a candidate, or action_count=.",
        )  # fmt: skip
