"""Several loggers: what cannot be asked of them, their counts, whether they met the same contexts, and what is assumed."""

from collections.abc import Iterator, Mapping
from math import inf

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.errors import LogsError, UsageError
from surelift.evidence.contexts import context_contrast, shares_e_value
from surelift.logs.declaration import Declaration
from surelift.policies import Policy
from surelift.questions.method import Method
from surelift.results.health import Finding
from surelift.statistics.loggers import ContextCounts, LoggerCounts
from surelift.statistics.plan import Request
from surelift.statistics.splits import Segment
from surelift.statistics.sums import Sums

LEVEL = 0.001
"""The chance that loggers that met the same contexts are refused."""
ASYMPTOTIC = ("normal", "bootstrap")
"""For comparison only: they do not certify anything."""
BY_SEGMENT = (
    "balanced weights hold at the counts of the whole log, not at those of a segment: leave by= out, or declare "
    "logger_shares= if the logger of each round was drawn at random."
)
NO_MONITOR = (
    "balanced weights hold at the rounds of each logger in the whole log: an earlier look is false. If the logger of each "
    "round was drawn at random, declare the chances in logger_shares=; otherwise ask once, when the log is complete."
)


def check_balanced(
    declared: Declaration, method: Method, policies: Mapping[str, Policy], by: Segment | None = None
) -> None:
    """Refuse what is not proved for balanced weights."""
    if not declared.balances_counts:
        return
    able = [name for name, bound in BOUNDS.items() if bound.any_units and not bound.in_blocks]
    if method.name not in (*able, *ASYMPTOTIC):
        raise UsageError(f"method {method.name!r} does not support several loggers; use one of {', '.join(able)}.")
    if method.control not in ("auto", "none"):
        problem = "does not support several loggers: a weight averages 1 over all of them, not over the rounds of each"
        raise UsageError(f"control={method.control!r} {problem}. Leave control= out.")
    if by is not None:
        raise UsageError(BY_SEGMENT)
    for name, policy in policies.items():
        if 0.0 < policy.limits.rise < inf:
            raise UsageError(
                f"policy {name!r} has a declared largest weight; leave bounded(...) out for several loggers."
            )


def logger_requests(declared: Declaration) -> Iterator[Request]:
    if declared.loggers is not None:
        yield Request(_counts(declared))
        yield from map(Request, _contexts(declared))


def _counts(declared: Declaration) -> LoggerCounts:
    return LoggerCounts(len(declared.loggers or ()))


def _contexts(declared: Declaration) -> list[ContextCounts]:
    tested = declared.contexts if declared.balances_counts else None
    return [ContextCounts(name, len(declared.loggers or ())) for name in tested or ()]


def refuse_other_counts(declared: Declaration, sums: Sums) -> None:
    """At other counts than those the weights were balanced for, the bound is not loose but false."""
    request = Request(_counts(declared))
    if not declared.balances_counts or not sums.rows or sums.invalid or request not in sums.states:
        return
    assert declared.logger_rounds is not None
    found = dict(zip(declared.logger_rounds, map(int, sums.get(request.statistic)), strict=True))
    if found != declared.logger_rounds:
        raise LogsError(
            f"the loggers took {told(found)}, but {told(declared.logger_rounds)} are declared: weights that are balanced "
            "for other counts, as at an earlier look or for a part of the log, give a false bound.\nAsk when all rounds "
            "are there, or declare in logger_rounds= the counts that were planned for these."
        )


def told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) + " rounds"


def about_contexts(declared: Declaration, sums: Sums, level: float = LEVEL) -> Iterator[Finding]:
    """Loggers that met the same contexts are refused with a chance of at most ``level``, over all columns."""
    contexts = _contexts(declared)
    for statistic in contexts:
        contrast = context_contrast(sums.get(statistic))
        if contrast.chance * len(contexts) > level:
            continue
        logger, chance = list(declared.loggers or ())[contrast.logger], max(contrast.chance, 1e-300)
        yield Finding(
            "refuse", f"context {statistic.column!r}",
            f"the loggers saw different contexts: {contrast.share:.1%} of the rounds of logger {logger!r} are in a group of "
            f"its values that holds {contrast.overall:.1%} of all rounds (chance at most {chance:.2g})",
            "Balanced weights need one law of contexts for all loggers. Take rounds of the same period and traffic, or "
            "judge by the propensity of each row's own logger, propensity=, which has no such need.",
        )  # fmt: skip


def about_shares(declared: Declaration, sums: Sums, level: float = LEVEL) -> Iterator[Finding]:
    """Right shares are refused with a chance of at most ``level``, at any number of looks."""
    if declared.logger_shares is None or declared.is_sampled:
        return
    counts: FloatArray = sums.get(_counts(declared))
    e_value = shares_e_value(counts, np.array(list(declared.logger_shares.values())))
    if e_value >= 1.0 / level:
        taken = dict(zip(declared.logger_shares, map(int, counts), strict=True))
        yield Finding(
            "refuse", f"logger {declared.logger!r}",
            f"the loggers took {told(taken)}, which the declared shares do not give (e-value {e_value:.3g})",
            "Loggers that were not drawn at random for each round, or with other probabilities, are no mixture with these "
            "shares. If their counts were planned, leave logger_shares= out.", None, e_value,
        )  # fmt: skip


def refuse_other_loggers(declared: Declaration, sums: Sums) -> None:
    for finding in (*about_contexts(declared, sums), *about_shares(declared, sums)):
        raise LogsError(f"{finding.statement}.\n{finding.remedy}")


def assumed_of_loggers(declared: Declaration) -> Iterator[str]:
    if declared.loggers is None:
        return
    yield f"the loggers {', '.join(declared.loggers)} took all rounds, and the probabilities of each are known in every row"
    if declared.logger_shares is not None:
        drawn = ", ".join(f"{name} {share:g}" for name, share in declared.logger_shares.items())
        yield f"the logger of every round was drawn at random, whatever its context, with probability {drawn}"
        return
    yield (
        f"the loggers are fixed policies, and their counts ({told(declared.logger_rounds or {})}) are fixed or independent "
        "of what was logged"
    )
    tested = f"tested in {', '.join(declared.contexts or ())}, where they are single values"
    untested = "not tested: no contexts= are declared"
    one_law = "rounds are independent, with one law of contexts and rewards for all loggers, without drift between them"
    yield f"{one_law} ({tested if declared.contexts else untested})"
    yield "production is the mix of the loggers as it ran"
