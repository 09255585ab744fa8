"""What every question looks at beside its claims: that these rounds may judge, and that what was declared of them is so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from surelift import capabilities
from surelift.controls.model import SAME_ROUNDS
from surelift.engines.collect import EMPTY
from surelift.errors import LogsError, UsageError, printed
from surelift.evidence.propensities import MEAN_WEIGHT, Evidence, mean_weight_evidence
from surelift.logs.decisions import Limits
from surelift.logs.faults import Finding, refuse_faults
from surelift.logs.seen import MOST, Origins
from surelift.policies.policy import origins_of
from surelift.questions.telling import TAKEN, condition_findings, telling_findings, tested_splits
from surelift.statistics.bets import Audit, MeanWeight
from surelift.statistics.memories import IdMemory, RoundMemory
from surelift.statistics.plan import Request
from surelift.statistics.splits import Key, Segment
from surelift.statistics.sums import Sums
from surelift.traits.declaration import Declaration
from surelift.traits.logs import Logs
from surelift.traits.which import REMEDY

if TYPE_CHECKING:
    from surelift.questions.question import Question

LEARNED_FROM = (
    "was learned from these very rounds, or from some of them, so they cannot judge it: use its own certificate, or fresh "
    "rounds."
)
OF_A_PART = ("rounds_before_sampling", "as_of", "logger_rounds")
"""Fields of a declaration in which parts of one log may differ."""
LEVEL = 0.001
"""The chance that right logs are refused by a test of what was declared."""


def tests_of(question: "Question") -> list[Request]:
    """What tests a largest weight that was declared, segments known before the action, and the traits of the log; and what
    remembers rounds that were learned from, and ids that may not come again, also in other parts of the log.
    """
    by = question.by
    key: Key = () if by is None else (by,)
    found = [Request(test, key) for test in weight_tests(question.declaration, question.limits)]
    if by is not None and not capabilities.untested(question.features, "test of segments"):
        found += [Request(TAKEN, (split,)) for split in tested_splits(by)]
    if "where" in question.declaration.features and not capabilities.untested(question.features, "test of segments"):
        found.append(Request(TAKEN))
    for trait in question.declaration.audits:
        found.append(Request(Audit(trait.slot), key if trait.audited_by_segment else ()))
    for _, origins in learned_from(question):
        found += [Request(RoundMemory(contexts, MOST)) for contexts in origins.memories]
    for name, of_units in question.declaration.ids:
        found.append(Request(IdMemory(name, of_clusters=of_units)))
    return found


def learned_from(question: "Question") -> list[tuple[str, Origins]]:
    """What must not have been learned from the rounds that judge, behind what is said where it was."""
    found = []
    for name, policy in question.everyone.items():
        # Columns were learned from nothing that is known here.
        origins = Origins() if policy.recipe else origins_of(policy)
        if origins.memories:
            found.append((f"policy {name!r} {LEARNED_FROM}", origins))
    if question.model is not None:
        found.append((SAME_ROUNDS, origins_of(question.model)))
    return found


def refuse_declared_otherwise(asked: Declaration, found: Declaration) -> None:
    for name in sorted(found.flat.keys() | asked.flat.keys()):
        own, other = asked.flat.get(name), found.flat.get(name)
        if own != other and name not in (*OF_A_PART, "assumes"):
            raise UsageError(
                f"the question was asked of logs with {name}={printed(own)}, but these declare {name}={printed(other)}; "
                "declare them alike, or ask anew."
            )


def refuse_chosen_by_policies(question: "Question", logs: Logs) -> None:
    """Refuse a condition by what a candidate or a reward model says of the action."""
    named = {column for columns in question.columns_of_policies(logs).values() for column in columns}
    if question.model is not None:
        named.update(question.model.needs(logs).read)
    for name in logs.declaration.which.chosen_by:
        if name in named - {*logs.declaration.times, *logs.contexts}:
            raise UsageError(f"where= names {name!r}, a column of a candidate or a reward model: {REMEDY}.")


def refuse_unfit(question: "Question", sums: Sums) -> None:
    if sums.rows == 0:
        raise LogsError(" ".join([EMPTY, *remarks_on(question, sums)]))
    if sums.invalid:
        refuse_faults(sums.invalid, rows=sums.rows)
    for name, of_units in question.declaration.ids:
        memory = IdMemory(name, of_clusters=of_units)
        memory.refuse_again(sums.get(memory))
    for message, origins in learned_from(question):
        judges = {contexts or (): sums.get(RoundMemory(contexts, MOST)) for contexts in origins.memories}
        if origins.overlaps(Origins(judges)):
            raise UsageError(message)


def disproved(question: "Question", sums: Sums) -> Iterator[Finding]:
    """What was declared and these rounds disprove; each test finds it in right logs with probability at most 0.001."""
    declared, by = question.declaration, question.by
    if by is not None and not capabilities.untested(question.features, "test of segments"):
        yield from telling_findings(sums, by)
    if "where" in declared.features:
        yield from condition_findings(sums, declared, LEVEL)
    if declared.audits:
        yield from found_against_traits(question, sums, LEVEL)
    if tests := weight_tests(declared, question.limits):
        evidence = list(weight_evidence(sums, tests, by))
        among = max(len(evidence), len(by.declared or ()) * len(tests) if by is not None else 0)
        yield from weight_findings(found for found in evidence if found.e_value >= among / LEVEL)


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
    declared, audits = question.declaration, {}
    if not (sums.excluded or sums.left_out or declared.audits):
        return ()
    for trait in declared.audits:
        for request, states in sums.states.items():
            if request.statistic == Audit(trait.slot) and states:
                audits[trait.slot] = sum(states.values())
    return declared.remarks(sums.excluded, sums.left_out, sums.rows, audits)


def weight_tests(declared: Declaration, limits: Mapping[str, Limits]) -> list[MeanWeight]:
    """One for each policy with a declared largest weight; how likely a round was to be kept is in no such range."""
    found = []
    for name, limit in limits.items():
        if limit.drop > 0.0 and limit.rise > 0.0 and isfinite(limit.rise):
            found.append(MeanWeight(name, limit.drop, limit.rise))
    return found if found and not capabilities.untested(declared.features, "test of largest weights") else []


def weight_evidence(sums: Sums, tests: Iterable[MeanWeight], by: Segment | None = None) -> Iterator[Evidence]:
    for test in tests:
        for value, state in sums.by(test, *(() if by is None else (by,))).items():
            yield mean_weight_evidence(test, state, f" in segment {value[0]!r}" if value else "")


def weight_findings(wrong: Iterable[Evidence]) -> Iterator[Finding]:
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
