"""Logs drawn from laws whose truth is known: does every bound hold as often as it promises?

A case is some logs of one law, at one delta. A claim of a law is wrong if it missed more often than a valid one does with
probability ``CHANCE``, shared over all claims of all laws: the tail of the binomial distribution.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from scipy import stats

from campaigns.campaign import Case, Told
from campaigns.laws import blocks, choices, growing, learned, plain, sequences, spaces, units, vectors, worst
from campaigns.laws.law import LAWS

MODULES = (plain, vectors, growing, units, spaces, choices, worst, learned, blocks, sequences)  # which fill LAWS
CHANCE = 1e-4
DELTAS = (0.05, 0.2)
NAMES = tuple(LAWS)
SLICE, FULL = len(NAMES), 25 * len(NAMES)


def case(case: Case) -> Told:
    name = NAMES[case.number % len(NAMES)]
    law, turn = LAWS[name], case.number % len(NAMES) + case.number // len(NAMES)
    delta = DELTAS[turn % len(DELTAS)]
    made, missed = Counter[tuple[str, float]](), Counter[tuple[str, float]]()
    for _ in range(law.logs):
        for claim in law.draw(case.rng, delta):
            made[claim.name, claim.level] += 1
            missed[claim.name, claim.level] += claim.missed
    return Told(name, {key: (missed[key], made[key]) for key in made}, law.logs)


def judge(told: Sequence[Told]) -> Iterator[str]:
    logs, missed = Counter[tuple[str, str, float]](), Counter[tuple[str, str, float]]()
    for seen in told:
        for (claim, level), (count, of) in seen.value.items():
            missed[seen.key, claim, level] += count
            logs[seen.key, claim, level] += of
    shown: dict[str, list[str]] = {}
    for name, claim, level in sorted(logs):
        key = name, claim, level
        shown.setdefault(name, []).append(f"{claim} at {level:g}: {missed[key]:,}/{logs[key]:,}")
        most = allowed(logs[key], level, claims=len(logs))
        if missed[key] > most:
            yield f"{name}: {claim} at {level:g} missed in {missed[key]:,} of {logs[key]:,} logs, {most:,} allowed"
    for name, counts in shown.items():
        print(f"  {name}: {'; '.join(counts)}")


def allowed(logs: int, level: float, *, claims: int) -> int:
    """A claim that misses with probability ``level`` exceeds this with probability at most CHANCE/claims."""
    return int(stats.binom.isf(CHANCE / claims, logs, level))
