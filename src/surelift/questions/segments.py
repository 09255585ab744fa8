"""Splits of the rounds into segments: columns known before the action, checked before anything is read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surelift.errors import UsageError, printed
from surelift.logs.segments import MISSING, Bins, SegmentColumn, column_name, segment_name, segment_texts
from surelift.questions.claims import Place
from surelift.results.provenance import Provenance
from surelift.results.segments import Segments
from surelift.statistics.splits import Segment
from surelift.statistics.sums import COUNT, Sums
from surelift.traits.declaration import Declaration

if TYPE_CHECKING:
    from surelift.questions.question import Question

BEFORE = "a segment must be known before the action, such as a country or a device"
ALLOWED = ("time", "cluster", "cluster_size", "contexts", "action_count", "where")
# What does not depend on the action, and why it is no column of segments.
KNOWN_BEFORE = {
    "id": "which tells rounds apart: every segment would be a single round",
    "position": "which numbers the rounds of a cluster, but a cluster lies whole in one segment",
    "logger": "which names who decided, but the propensity of a round is that of all loggers together, not of one",
    "logging": "the probabilities of production, and not a segment",
    "the density of production": "and is not a segment",
}


def parts_of(by: Any) -> tuple[SegmentColumn, ...]:
    """The columns of segments, or what cuts them."""
    parts = (by,) if isinstance(by, str | Bins) else tuple(by) if isinstance(by, Sequence) else ()
    if not parts or not all(isinstance(part, str | Bins) for part in parts):
        raise UsageError(
            "by must name a column of segments, cut one into bins, such as bins('column', [18, 30, 50]), or list several "
            f"for their combinations, but is {printed(by)}."
        )
    return parts


def split_by(by: Any, segments: Any) -> Segment:
    """A split from what a user writes, before there is a log."""
    if by is None:
        raise UsageError("segments= lists the segments of a column; name it in by=.")
    parts = parts_of(by)
    if segments is None:
        return Segment(parts)
    listed = () if isinstance(segments, str) or not isinstance(segments, Iterable) else segments
    return Segment(parts, tuple(_declared(parts, given) for given in listed))


def check_roles(declared: Declaration, split: Segment, policies: Mapping[str, Iterable[str]] = {}) -> None:
    """Refuse segments that were not known before the action; ``policies`` are the columns that say what each does."""
    allowed = {column for role, column in declared.columns if role in ALLOWED}
    reasons = {
        column: f"is what policy {name!r} does; {BEFORE}"
        for name, columns in policies.items()
        for column in set(columns) - allowed
    }
    for role, column in declared.columns:
        if column not in allowed:
            reason = KNOWN_BEFORE.get(role, f"which may depend on the action or its reward; {BEFORE}")
            argument = "propensity" if role == "wins" else role
            reasons[column] = f"is declared in {argument}{'=' if argument.isidentifier() else ''}, {reason}"
    for name in split.columns():
        if name in reasons:
            raise UsageError(f"by {name!r} {reasons[name]}.")


def _declared(parts: tuple[SegmentColumn, ...], given: Any) -> str:
    """The name of a segment that was declared by it, or by a text for each column."""
    if isinstance(given, str):
        texts = segment_texts(given, len(parts))
    else:
        texts = tuple(map(str, given)) if isinstance(given, tuple | list) else (str(given),)
    name = segment_name(texts) if texts else ""
    if len(texts) != len(parts) or segment_texts(name, len(parts)) != texts:
        columns = ", ".join(repr(column_name(part)) for part in parts)
        raise UsageError(f"segments must give a text for each of {columns}, but one is {printed(given)}.")
    for part, text in zip(parts, texts, strict=True):
        if isinstance(part, Bins) and text not in (*part.names, MISSING):
            raise UsageError(
                f"segments has {text!r}, which is no bin of {part.column!r}; they are {', '.join(map(repr, part.names))}, "
                f"and {MISSING!r} where the column is null."
            )
    return name


def answer_by_segment(question: "Question", by: Segment, sums: Sums, provenance: Provenance) -> Any:
    """One result for each segment, at delta divided by their number."""
    names = by.sorted(sums.by(COUNT, by))
    share = question.delta / len(by.declared or names)
    splits = {name: replace(by, only=name) if question.counts_rounds else by for name in names}
    parts, results = sums.parts(*splits.values()), {}
    for name, split in splits.items():
        place = Place(share, replace(provenance, segment=name), name)
        results[name] = question.found(parts[split, name], place)
    answer = Segments.of(results, by, question.delta, sums.units, provenance)
    listed = replace(question, by=replace(by, declared=tuple(names))).promise
    if question.promise != "one look" or listed != "any number of looks" or not answer.answers():
        return answer
    hint = "With all segments listed in advance, these bounds hold at any number of looks."
    return replace(answer, provenance=replace(provenance, notes=(*provenance.notes, hint)))
