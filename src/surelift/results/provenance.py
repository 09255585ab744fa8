"""Where an answer comes from: the question, the rounds, and the assumptions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from surelift.bounds.bound import Promise
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.policies import Policy
from surelift.policies.policy import notes_of
from surelift.statistics import Sums
from surelift.version import __version__

SEGMENTS_FIXED = (
    "the segment of a round was known before its action, and the list of segments before looking at the data"
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Enough to ask the same question again, and to recognise the rounds."""

    question: str
    options: Mapping[str, Any]
    logs: Mapping[str, Any]
    policies: Mapping[str, Mapping[str, Any]]
    rounds: int
    fingerprint: Fingerprint
    version: str = __version__


def provenance_of(
    question: str, logs: Logs, policies: Mapping[str, Policy], sums: Sums, options: Mapping[str, Any]
) -> Provenance:
    described = {name: policy.describe() for name, policy in policies.items()}
    return Provenance(question, options, logs.declaration.describe(), described, sums.units, sums.fingerprint)


def within(segment: str | None) -> str:
    return "" if segment is None else f" in segment {segment!r}"


def assumptions_of(
    logs: Logs, promise: Promise, besides: tuple[str, ...], segment: str | None = None
) -> tuple[str, ...]:
    """What must be true for the bound to hold, beyond the mathematics."""
    kind = "costs" if logs.scale.is_cost else "rewards"
    looks = (
        "policies, delta, margin and the options of the method were fixed before looking at these rounds"
        if promise == "any number of looks"
        else "policies, delta, margin, options and the number of rounds were fixed in advance, and this is the only look"
    )
    return (
        f"{kind} lie in [{logs.scale.low:g}, {logs.scale.high:g}] by definition",
        "the propensity model is correct"
        if logs.declaration.propensity_is_estimated
        else "the propensities were recorded when the decisions were made",
        "no policy was fitted on these rounds",
        looks,
        *besides,
        *_about_units(logs),
        *(() if logs.declaration.embedding is None else logs.declaration.embedding.assumes),
        *logs.declaration.assumes,
        *(() if segment is None else (SEGMENTS_FIXED,)),
    )


def _about_units(logs: Logs) -> Iterator[str]:
    declaration = logs.declaration
    if declaration.cluster is not None:
        if declaration.cluster_max is None:
            yield "the size of every cluster was known before its first action"
            yield (
                f"every cluster of {declaration.cluster!r} counts once: a value is the mean over clusters of their average "
                "round, with the other rounds of the cluster as production played them"
            )
        else:
            yield f"no cluster can have more than {declaration.cluster_max} rounds"
            yield (
                f"every cluster of {declaration.cluster!r} counts once, filled up to {declaration.cluster_max} rounds that "
                f"{_filled(logs)}"
            )
    if declaration.rounds_before_sampling is not None:
        yield "every round was kept independently, with the recorded probability, out of rounds_before_sampling"
    elif declaration.keep_probability is not None:
        yield "all rounds were kept with the same probability, and answers are about the rounds that were kept"


def _filled(logs: Logs) -> str:
    """What the rounds that fill up a cluster are worth, and what follows for the whole cluster."""
    count, scale = logs.declaration.cluster_max, logs.scale
    if scale.is_cost:
        return f"cost {scale.high:g}, the maximum; a cluster saves {count} times the improvement"
    if scale.low != 0.0:
        return f"earn {scale.low:g}, the minimum; a cluster gains {count} times the improvement"
    return f"earn nothing; a cluster earns {count} times the value"


def doubts_of(logs: Logs, policies: Mapping[str, Policy] | None = None) -> tuple[str, ...]:
    """What keeps an answer from being certified."""
    estimated = ("conditional on the propensity model: the propensities were estimated",)
    return (*(estimated if logs.declaration.propensity_is_estimated else ()), *_notes(policies or {}, "doubts"))


def assumed_of(policies: Mapping[str, Policy]) -> tuple[str, ...]:
    """What must be true of the policies."""
    return _notes(policies, "assumes")


def _notes(policies: Mapping[str, Policy], kind: Literal["assumes", "doubts"]) -> tuple[str, ...]:
    return tuple(f"policy {name!r}: {note}" for name, policy in policies.items() for note in notes_of(policy, kind))
