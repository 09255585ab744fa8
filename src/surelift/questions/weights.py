"""Is the mean weight 1, as it must be where a largest weight was declared? If not, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

from surelift import capabilities
from surelift.errors import LogsError
from surelift.evidence.propensities import MEAN_WEIGHT, Evidence, mean_weight_evidence
from surelift.logs.decisions import Limits
from surelift.logs.findings import Finding
from surelift.statistics.mean_weights import MeanWeight
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums
from surelift.traits.declaration import Declaration

LEVEL = 0.001
"""The chance that a right largest weight is refused, over all policies and segments of a question."""


def weight_tests(declared: Declaration, limits: Mapping[str, Limits]) -> list[MeanWeight]:
    """One for each policy with a declared largest weight; how likely a round was to be kept is in no such range."""
    if capabilities.untested(declared.features, "test of largest weights"):
        return []
    return [
        MeanWeight(name, limit.drop, limit.rise)
        for name, limit in limits.items()
        if limit.drop > 0.0 and limit.rise > 0.0 and isfinite(limit.rise)
    ]


def weight_evidence(sums: Sums, tests: Iterable[MeanWeight], by: Segment | None = None) -> Iterator[Evidence]:
    for test in tests:
        for value, state in sums.by(test, *(() if by is None else (by,))).items():
            yield mean_weight_evidence(test, state, f" in segment {value[0]!r}" if value else "")


def refuse_mean_weights(sums: Sums, tests: Sequence[MeanWeight], by: Segment | None) -> None:
    evidence = list(weight_evidence(sums, tests, by))
    among = max(len(evidence), len(by.declared or ()) * len(tests) if by is not None else 0)
    wrong = [found for found in evidence if found.e_value >= among / LEVEL]
    for finding in about_mean_weights(wrong):
        raise LogsError(f"{finding.statement}.\n{finding.remedy}")


def about_mean_weights(wrong: Iterable[Evidence]) -> Iterator[Finding]:
    for found in wrong:
        if found.family == MEAN_WEIGHT:
            yield Finding(
                "refuse", f"policy {found.bet!r}{found.segment}",
                f"its weights average {found.observed:.4g} over {found.rounds:,} rounds, where they must average 1 "
                f"(e-value {found.e_value:.3g})",
                "A declared largest weight, as in bounded(policy, max_weight), rests on three things: right propensities, a "
                "production that could take every action of the policy, and no weight above the largest. One of them is "
                "false, and the weights do not tell which.",
                None, found.e_value,
            )  # fmt: skip
