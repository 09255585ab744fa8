"""What a check found, in words: what is wrong, where, how certain that is, what it usually means, what to do."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from surelift.evidence.propensities import BY_ACTION, OVERALL, TESTED, Evidence, Family
from surelift.logs.faults import Finding, describe_faults
from surelift.logs.rewards import Scale
from surelift.questions.assumptions import doubts_of
from surelift.results.health import HeavyRound, WeightHealth
from surelift.statistics.memories import DuplicateSample
from surelift.statistics.recorded_values import EndCounts, RoundedDigits
from surelift.statistics.single_rounds import TailSums
from surelift.statistics.splits import Segment
from surelift.statistics.sums import COUNT, Sums
from surelift.statistics.totals import PolicyWeights, WeightSums
from surelift.traits.declaration import Declaration
from surelift.views.figures import WeightSize

# Below this effective sample size, or this share of the rounds, a bound is wide; above this share one round decides.
FEW_ROUNDS = 100
SMALL_SHARE = 0.01
LARGE_SHARE = 0.1
HEAVY_SHARE = 0.5
STANDARD_ERRORS = 5.0
COPIES = 0.005
# Rounding matters where it can change a propensity by more than this, relatively.
ROUGH = 0.05
SHOWN = 5
# So many rounds at the end of a continuous range, in number and in share, are no chance.
ENDS_COUNT, ENDS_SHARE = 20, 0.01


def round_findings(declared: Declaration, sums: Sums) -> Iterator[Finding]:
    if sums.rows == 0:
        yield Finding("refuse", "rounds", "the logs are empty", "Check the path or the filter.")
    for said in declared.which.remarks(sums.excluded, sums.left_out + sums.rows):
        yield Finding("warn", "where", said.rstrip("."), "All that is said is about the others.")
    for said in declared.reward.remarks(sums.left_out, sums.rows):
        yield Finding("warn", "time", said.rstrip("."), "Ask again when their rewards are final.")
    for fault, line in describe_faults(sums.invalid, rows=sums.rows):
        yield Finding("refuse", fault.subject, line, fault.reason.remedy)
    for doubt in doubts_of(declared):
        yield Finding("warn", "propensity", doubt, "Log the propensity when the decision is made; see the README.")


def propensity_findings(wrong: Sequence[Evidence], evidence: Sequence[Evidence]) -> Iterator[Finding]:
    """One finding for each family of segments, which names those that are wrong."""
    families: dict[Family, list[Evidence]] = {}
    for segment in (found for found in wrong if found.family.kind in TESTED):
        families.setdefault(segment.family, []).append(segment)
    for family, segments in families.items():
        segments.sort(key=lambda segment: -segment.e_value)
        among = sum(segment.family == family for segment in evidence)
        if len(segments) == among > 1 and OVERALL in families:
            continue  # wrong everywhere, as was said of the whole log
        names = ", ".join(_name(segment) for segment in segments[:SHOWN])
        more = f" and {len(segments) - SHOWN} more" if len(segments) > SHOWN else ""
        where = "" if family == OVERALL else f" in {names}{more} ({len(segments)} of {among})"
        first = segments[0]
        yield Finding(
            "refuse", "propensity", f"the logged propensities are wrong{where}: {_difference(first)}",
            _usual_cause(family, segments, among), None if family == OVERALL else f"{names}{more}", first.e_value,
        )  # fmt: skip


def _name(segment: Evidence) -> str:
    return segment.segment if segment.family == BY_ACTION else f"{segment.family.name} {segment.segment}"


def _difference(segment: Evidence) -> str:
    bet, observed, expected = segment.bet, segment.observed, segment.expected
    e_value = f"(e-value {segment.e_value:.3g})"
    if bet.startswith("weights"):
        return f"the {bet} average {observed:.4g}, where right ones average at most 1 {e_value}"
    if bet.startswith("inverse"):
        return (
            f"1/propensity averages {observed:.4g}, where right ones average at most {expected:.4g}, the number of "
            f"actions {e_value}"
        )
    return (
        f"{bet} was taken in {observed:.2%} of {segment.rounds:,} rounds, where it should have been in {expected:.2%} "
        f"{e_value}"
    )


def _usual_cause(family: Family, wrong: Sequence[Evidence], among: int) -> str:
    first = wrong[0]
    if first.bet.startswith(("weights", "inverse")):
        cause = (
            "They were logged too small: by another model version, or for one action among several drawn. If the weights of "
            "other candidates average 1, the candidate is wrong: its column does not hold probabilities (scores, predicted "
            "rewards?)."
        )
    elif family not in (OVERALL, BY_ACTION) and len(wrong) <= among / 2:
        cause = "Only there: another model version, or other business rules, served these rounds."
    elif first.observed < 0.2 * first.expected:
        cause = f"{first.bet} is hardly ever taken: business rules drop it after the policy drew; log what remains."
    else:
        cause = (
            "They come from the policy before business rules, from another model version, or are rounded: log the "
            "probability of the action really taken, from the version that took it, after all rules."
        )
    known = f"If {family.name!r} tells of the action, it is no segment. Otherwise: " if family.kind == "column" else ""
    return f"{known}{cause} Leave such rounds out only if they are known by their time or version, never by what they show."


def rounding_findings(digits: RoundedDigits, smallest: float) -> Iterator[Finding]:
    decimals = digits.decimals
    if decimals is None:
        return
    off = 0.5 * 10.0**-decimals / smallest
    # A handful of round numbers is a design, such as 0.2 and 0.8; many of them are a column that was cut off.
    if off > ROUGH and len(digits.distinct) > 10:
        yield Finding(
            "warn", "propensity", f"all are rounded to {decimals} decimals, so the smallest, {smallest:g}, may be off by "
            f"{off:.0%}", "Log propensities with all their digits; a bound is only as good as they are.",
        )  # fmt: skip


def duplicate_findings(duplicates: DuplicateSample) -> Iterator[Finding]:
    if duplicates.share > COPIES:
        yield Finding(
            "refuse" if duplicates.none_alone else "warn", "rounds",
            f"{duplicates.share:.1%} of the rows are copies of another, their time included",
            "A join may have multiplied them: join rewards to rounds by a key that is unique, and count each round once.",
        )  # fmt: skip


def end_findings(ends: EndCounts, action: str, rounds: int) -> Iterator[Finding]:
    """Where actions are cut off at a limit, the limit has a probability of its own, which no density tells."""
    for where, value, count in (("smallest", ends.least, ends.at_least), ("largest", ends.most, ends.at_most)):
        if count >= max(ENDS_COUNT, ENDS_SHARE * rounds):
            yield Finding(
                "refuse", f"action {action!r}", f"the {where}, {value:g}, was taken in {count:,} of {rounds:,} rounds",
                "A density has no action twice: these were cut off at a limit, or rounded, and weights of densities are "
                "wrong there. Draw from a law truncated to its limits, or log the limits, and bins between them, with "
                "probabilities.",
            )  # fmt: skip


def weight_health(name: str, sums: WeightSums, rounds: int, tails: TailSums, scale: Scale) -> WeightHealth:
    missing = None if sums.unsupported is None else sums.unsupported / rounds
    sizes = tuple(WeightSize(*size) for size in tails.sizes())
    heavy = tuple(
        HeavyRound(row, weight, propensity, None if reward is None else scale.value(reward))
        for weight, row, propensity, reward in tails.top
    )
    return WeightHealth(
        name, sums.total / rounds, sums.largest, sums.effective_sample_size, missing, tails.heaviest(), sizes, heavy
    )


def policy_findings(healths: Mapping[str, WeightHealth], sums: Sums, declared: Declaration) -> Iterator[Finding]:
    for name, health in healths.items():
        yield from _policy_findings(health, sums.weights(name), sums.units, declared)


def overlap_findings(split: Segment, sums: Sums, policies: Iterable[str], declared: Declaration) -> Iterator[Finding]:
    """Segments in which the log says little about a policy."""
    counts = {value[0]: count for value, count in sums.by(COUNT, split).items()}
    for name in policies:
        found = {value[0]: weights for value, weights in sums.by(PolicyWeights(name), split).items()}
        few = {
            segment: f"{weights.effective_sample_size:,.0f}"
            for segment, weights in found.items()
            if weights.effective_sample_size < max(FEW_ROUNDS, SMALL_SHARE * counts[segment])
        }
        missing = {
            segment: f"{weights.unsupported / counts[segment]:.2%}"
            for segment, weights in found.items()
            if weights.unsupported and weights.unsupported > SMALL_SHARE * counts[segment]
        }
        for segments, says, remedy in (
            (few, "the effective sample size is small", "Bounds by these segments will be wide: join segments, or collect "
             f"more {declared.counted}."),
            (missing, "of its decisions are actions that production could not take", "Their rewards count as nothing; every "
             "bound holds, and lower bounds are that much looser."),
        ):  # fmt: skip
            shown = [f"{segment} ({amount})" for segment, amount in segments.items()]
            more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
            if shown:
                yield Finding(
                    "warn", f"policy {name!r}", f"{says} in {len(shown)} of {len(found)} segments {split.subject}: "
                    f"{', '.join(shown[:SHOWN])}{more}", remedy,
                )  # fmt: skip


def _policy_findings(health: WeightHealth, sums: WeightSums, rounds: int, declared: Declaration) -> Iterator[Finding]:
    subject, counted = f"policy {health.policy!r}", declared.counted
    if health.missing_support:
        yield Finding(
            "warn", subject,
            f"{health.missing_support:.2%} of its decisions are actions that production could not take",
            "Their rewards count as nothing; every bound holds, and lower bounds are that much looser.",
        )  # fmt: skip
    yield from _mean_findings(health, sums, rounds, drawn="wins" in declared.features)
    share = sums.largest / sums.total if sums.total > 0 and counted == "rounds" else 0.0
    few, carried = health.heaviest
    if share > LARGE_SHARE:
        yield Finding(
            "warn", subject, f"one round carries {share:.0%} of its weight (a weight of {health.largest:.4g})",
            "A point estimate depends on that round; the bounds do not, but they will be wide.",
        )  # fmt: skip
    elif carried > HEAVY_SHARE:
        yield Finding(
            "warn", subject, f"{few:.2%} of the rounds carry {carried:.0%} of its weight",
            "A point estimate depends on these rounds; the bounds do not, but they will be wide.",
        )  # fmt: skip
    if health.effective_sample_size < max(FEW_ROUNDS, SMALL_SHARE * rounds):
        yield Finding(
            "warn", subject,
            f"the effective sample size is {health.effective_sample_size:,.0f} of {rounds:,} {counted}",
            "Try a cautious blend, blend(policy, 0.1), or collect more rounds.",
        )  # fmt: skip


def _mean_findings(health: WeightHealth, sums: WeightSums, rounds: int, *, drawn: bool) -> Iterator[Finding]:
    """Missing support lowers the mean weight by as much; the rest of a difference is chance, or wrong propensities."""
    expected = 1.0 - (health.missing_support or 0.0)
    variance = sums.squares / rounds - health.mean**2
    error = math.sqrt(max(variance, 0.0) / rounds)
    if abs(health.mean - expected) <= STANDARD_ERRORS * error + 1e-6:
        return
    if health.mean > expected:
        cause = (
            "Weights that are too large on average mean that propensities were logged too small, or that this column does "
            "not hold probabilities of the logged action: check both."
        )
    elif drawn:
        cause = (
            "Weights from few draws fall short of 1 on average: an action of probability q by (1 - q)^(m + 1) of it, "
            "and one that production never takes by all of it. Every bound holds; more draws make them narrower."
        )
    elif health.missing_support is not None:
        cause = (
            "Production could take the rest of its actions: propensities were logged too large, or large weights are rare "
            "and none came yet. The tests of the propensities tell."
        )
    else:
        cause = (
            f"Either it prefers actions that production never takes, up to {1 - health.mean:.1%} of its decisions, or its "
            "column does not hold probabilities (scores, predicted rewards?), or propensities were logged too large, or "
            "large weights are rare and none came yet. Production's whole distribution, logging=, would tell these apart."
        )
    yield Finding(
        "warn",
        f"policy {health.policy!r}",
        f"its mean weight is {health.mean:.4g}, where {expected:.4g} is expected",
        cause,
    )


def test_findings(evidence: Sequence[Evidence], why: str) -> Iterator[Finding]:
    """Silence about the propensities must not pass for praise; ``why`` they cannot be tested, where a trait says so."""
    if not evidence:
        remedy = "Give production's whole distribution in logging=, a candidate, or action_count=."
        yield Finding(
            "warn", "propensity",
            f"the propensities could not be tested: {why or 'nothing is known to test them against'}",
            "Check a log that was not sampled." if why else remedy,
        )  # fmt: skip
