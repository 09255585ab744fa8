"""What every question looks at beside its claims: that these rounds may judge, and that what was declared of them is so."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from surelift import capabilities
from surelift.controls.model import SAME_ROUNDS
from surelift.engines.collect import EMPTY
from surelift.errors import LogsError, UsageError
from surelift.logs.faults import refuse_faults
from surelift.logs.findings import Finding
from surelift.logs.origins import MOST, Origins
from surelift.policies.policy import origins_of
from surelift.questions.telling import TAKEN, about_condition, condition_requests, refuse_told, tested_splits
from surelift.questions.weights import refuse_mean_weights, weight_tests
from surelift.statistics.audits import Audit
from surelift.statistics.memories import IdMemory, RoundMemory
from surelift.statistics.plan import Request
from surelift.statistics.sums import Sums

if TYPE_CHECKING:
    from surelift.questions.question import Question

LEARNED_FROM = (
    "was learned from these very rounds, or from some of them, so they cannot judge it: use its own certificate, or fresh "
    "rounds."
)
LEVEL = 0.001
"""The chance that right logs are refused by a test of what was declared."""


def tests_of(question: "Question") -> Iterator[Request]:
    """What tests a largest weight that was declared, segments known before the action, and the traits of the log."""
    key = () if question.by is None else (question.by,)
    for test in weight_tests(question.declaration, question.limits):
        yield Request(test, key)
    if question.by is not None and not capabilities.untested(question.features, "test of segments"):
        for split in tested_splits(question.by):
            yield Request(TAKEN, (split,))
    yield from condition_requests(question.declaration)
    for trait in question.declaration.audits:
        yield Request(Audit(trait.slot), key if trait.audited_by_segment else ())


def memories_of(question: "Question") -> Iterator[Request]:
    """What remembers rounds that were learned from, and ids that may not come again, also in other parts of the log."""
    yield from (Request(memory) for _, origins in _learned_from(question) for memory in _memories(origins))
    yield from map(Request, _ids(question))


def _ids(question: "Question") -> Iterator[IdMemory]:
    return (IdMemory(name, of_clusters=of_units) for name, of_units in question.declaration.ids())


def _learned_from(question: "Question") -> Iterator[tuple[str, Origins]]:
    """What must not have been learned from the rounds that judge, with what is said where it was."""
    for name, policy in question.everyone.items():
        yield f"policy {name!r} {LEARNED_FROM}", origins_of(policy)
    yield SAME_ROUNDS, origins_of(question.model)


def _memories(origins: Origins) -> list[RoundMemory]:
    return [RoundMemory(contexts, MOST) for contexts in origins.memories]


def refuse_unfit(question: "Question", sums: Sums) -> None:
    if sums.rows == 0:
        raise LogsError(" ".join([EMPTY, *remarks_on(question, sums)]))
    refuse_faults(sums.invalid, rows=sums.rows)
    for memory in _ids(question):
        memory.refuse_again(sums.get(memory))
    for message, origins in _learned_from(question):
        judges = {memory.contexts or (): sums.get(memory) for memory in _memories(origins)}
        if origins.overlaps(Origins(judges)):
            raise UsageError(message)


def refuse_disproved(question: "Question", sums: Sums) -> None:
    """Refuse what was declared and these rounds disprove; each test refuses right logs with probability at most 0.001."""
    if question.by is not None and not capabilities.untested(question.features, "test of segments"):
        refuse_told(sums, question.by)
    for finding in (*about_condition(sums, question.declaration, LEVEL), *found_against_traits(question, sums, LEVEL)):
        raise LogsError(f"{finding.statement}.\n{finding.remedy}")
    refuse_mean_weights(sums, weight_tests(question.declaration, question.limits), question.by)


def found_against_traits(question: "Question", sums: Sums, level: float) -> Iterator[Finding]:
    for trait in question.declaration.audits:
        by = question.by if trait.audited_by_segment else None
        states = sums.by(Audit(trait.slot), *(() if by is None else (by,)))
        among = max(len(states), len((by and by.declared) or ()))
        for value, state in states.items():
            for finding in trait.judge(state, level / among):
                where = f" in segment {value[0]!r}" if value else ""
                yield replace(finding, subject=f"{finding.subject}{where}", segment=value[0] if value else None)


def remarks_on(question: "Question", sums: Sums) -> tuple[str, ...]:
    """What is said of rounds that were left out, and by traits of what they counted."""
    declared = question.declaration
    audits = {
        trait.slot: sum(states.values())
        for trait in declared.audits
        for request, states in sums.states.items()
        if request.statistic == Audit(trait.slot) and states
    }
    return declared.remarks(sums.excluded, sums.left_out, sums.rows, audits)
