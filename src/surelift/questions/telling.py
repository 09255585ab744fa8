"""A column of segments that tells of the action, found and refused by name."""

from collections.abc import Iterable, Iterator

from surelift.errors import LogsError
from surelift.evidence.propensities import TELLING, Evidence, Family, telling_evidence
from surelift.logs.faults import Finding
from surelift.statistics.plan import Request
from surelift.statistics.restricted import TakenActions
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums
from surelift.traits.declaration import Declaration

TAKEN, LEVEL = TakenActions(), 0.001
"""What is added up, and the chance that a right column is refused."""


def tested_splits(by: Segment) -> tuple[Segment, ...]:
    """The segments, and those of each of several columns alone."""
    alone = [Segment((part,), tears_clusters=True) for part in by.by] if len(by.by) > 1 else []
    return by, *alone


def evidence_of_segments(sums: Sums, by: Segment, level: float = LEVEL, among: int | None = None) -> Evidence:
    states = {value[0]: taken for value, taken in sums.by(TAKEN, by).items()}
    return telling_evidence(", ".join(by.columns()), states, level=level, among=among)


def refuse(findings: Iterable[Finding]) -> None:
    """Raise the first of these findings, if there is any."""
    for finding in findings:
        raise LogsError(f"{finding.statement}.\n{finding.remedy}")


def telling_findings(sums: Sums, by: Segment) -> Iterator[Finding]:
    """Segments that tell of the action, also by one of several columns alone."""
    splits = tested_splits(by)
    for split in splits:
        own = [dict(zip(by.by, by.texts(name), strict=True)) for name in by.declared or ()]
        among = len({tuple(texts[part] for part in split.by) for texts in own}) or None
        evidence = evidence_of_segments(sums, split, LEVEL / len(splits), among)
        if evidence.e_value >= len(splits) / LEVEL:
            yield from segment_findings([evidence])


def condition_findings(sums: Sums, declared: Declaration, level: float = LEVEL) -> Iterator[Finding]:
    """Only some actions were taken in the rounds that meet ``where=``, where that was counted."""
    if "where" not in declared.features or Request(TAKEN) not in sums.states:
        return
    words = declared.which.words
    found = telling_evidence("where", {"": sums.get(TAKEN)}, level=level)
    if found.e_value >= 1.0 / level:
        yield Finding(
            "refuse", "where",
            f"`{words}` tells of actions or rewards: {found.bet} taken in {found.rounds:,} rounds that meet it, where the "
            f"propensities give that a chance of {found.expected:.3g} a round (e-value {found.e_value:.3g})",
            "Rounds must be chosen by what was known before the action, such as a country or a day. If this was, the "
            "logged propensities are wrong in these rounds.", None, found.e_value,
        )  # fmt: skip


def without_telling(wrong: Iterable[Evidence], evidence: Iterable[Evidence]) -> tuple[list[Evidence], list[Evidence]]:
    """What was refuted, and all evidence against the propensities, without columns that tell of the action.

    Those are columns that do so throughout. Where only a few segments do, the column may well have been known before, and
    the propensities of these segments are what is wrong.
    """
    telling = [found for found in wrong if found.family.kind == TELLING and found.observed > 0.5]
    columns = [family for found in telling for family in (found.family, Family("column", found.family.name))]
    kept = [found for found in evidence if found.family not in columns]
    return telling + [one for one in wrong if one.family not in columns and one.family.kind != TELLING], kept


def segment_findings(wrong: Iterable[Evidence]) -> Iterator[Finding]:
    for found in wrong:
        if found.family.kind == TELLING:
            yield Finding(
                "refuse", f"by {found.family.name!r}",
                f"it tells of the action: in segment {found.segment!r} only {found.bet} taken in {found.rounds:,} rounds, "
                f"where the propensities give that a chance of {found.expected:.3g} a round (e-value {found.e_value:.3g})",
                "A segment must be known before the action, such as a country or a device: leave this column out of by=. If "
                "it was known before, the logged propensities are wrong in that segment.",
                None, found.e_value,
            )  # fmt: skip
