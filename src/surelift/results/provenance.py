"""What an answer rests on: what was asked, of which rounds, under which assumptions."""

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

SEGMENTS_FIXED = "the segment of a round was known before its action, and the list of segments before looking"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Enough to ask the same question again, and to know the rounds again."""

    question: str
    options: Mapping[str, Any]
    logs: Mapping[str, Any]
    policies: Mapping[str, Mapping[str, Any]]
    rounds: int
    fingerprint: Fingerprint
    version: str = __version__


def basis_of(
    question: str, logs: Logs, policies: Mapping[str, Policy], sums: Sums, options: Mapping[str, Any]
) -> Provenance:
    described = {name: policy.describe() for name, policy in policies.items()}
    return Provenance(question, options, logs.declaration.describe(), described, sums.units, sums.fingerprint)


def within(segment: str | None) -> str:
    return "" if segment is None else f" in segment {segment!r}"


def assumptions_of(
    logs: Logs, promise: Promise, besides: tuple[str, ...], segment: str | None = None
) -> tuple[str, ...]:
    """What has to be true for the bound to hold, beyond the mathematics."""
    kind = "costs" if logs.scale.is_cost else "rewards"
    looks = (
        "policies, delta, margin and the options of the method were fixed before looking at these rounds"
        if promise == "any number of looks"
        else "policies, delta, margin, options and the number of rounds were fixed beforehand, and this is the only look"
    )
    return (
        f"{kind} lie in [{logs.scale.low:g}, {logs.scale.high:g}] by their nature",
        "the model of the propensities is right"
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
    if logs.declaration.cluster is not None:
        if logs.declaration.cluster_max is None:
            yield "the size of every cluster was known before its first action"
            yield (
                f"every cluster of {logs.declaration.cluster!r} counts once: values are means over clusters of their average round, the "
                "other rounds of the cluster being as production played them"
            )
        else:
            yield f"no cluster can have more than {logs.declaration.cluster_max} rounds"
            yield (
                f"every cluster of {logs.declaration.cluster!r} counts once, filled up to {logs.declaration.cluster_max} rounds that {_filled(logs)}"
            )
    if logs.declaration.rounds_before_sampling is not None:
        yield "every round was kept by its own coin, with the probability recorded, out of rounds_before_sampling"
    elif logs.declaration.keep_probability is not None:
        yield "answers are about the rounds that were kept, all with the same probability"


def _filled(logs: Logs) -> str:
    """What the rounds that fill up a cluster are worth, and what follows for the whole of it."""
    count, scale = logs.declaration.cluster_max, logs.scale
    if scale.is_cost:
        return f"cost {scale.high:g}, the most there is; {count} times an improvement is what a cluster saves"
    if scale.low != 0.0:
        return f"earn {scale.low:g}, the least there is; {count} times an improvement is what a cluster gains"
    return f"earn nothing: {count} times the value is what a cluster earns"


def doubts_of(logs: Logs, policies: Mapping[str, Policy] | None = None) -> tuple[str, ...]:
    """What keeps an answer from being certified."""
    estimated = ("conditional on the propensity model: the propensities were estimated",)
    return (*(estimated if logs.declaration.propensity_is_estimated else ()), *_notes(policies or {}, "doubts"))


def assumed_of(policies: Mapping[str, Policy]) -> tuple[str, ...]:
    """What has to be true of the policies."""
    return _notes(policies, "assumes")


def _notes(policies: Mapping[str, Policy], kind: Literal["assumes", "doubts"]) -> tuple[str, ...]:
    return tuple(f"policy {name!r}: {note}" for name, policy in policies.items() for note in notes_of(policy, kind))
