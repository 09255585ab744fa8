"""The propensity slot, where several loggers took the rounds, such as the arms of an A/B test: weighted by their mixture.

With rounds n_j of logger j, and its probability p_j of the logged action in every row, the propensity is the sum of
(n_j / n) p_j. A round of one logger then has another mean than the value, but the mean over all rounds at these counts is
the value, or less, and a bound is about this mean. At other counts, as at an earlier look, it is false. Loggers drawn at
random for each round with known shares are one policy, their mixture, and need no counts.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import LogsError, UsageError, is_number, printed, whole
from surelift.logs import faults
from surelift.logs.columns import texts_and_codes
from surelift.logs.decisions import Decisions
from surelift.logs.faults import Finding, Reason
from surelift.logs.rows import Rows
from surelift.traits.logger_tests import BINS, context_bins, context_contrast, shares_e_value
from surelift.traits.propensity import Propensity
from surelift.traits.trait import column, derived, given

if TYPE_CHECKING:
    from surelift.batch import Batch
    from surelift.statistics.statistic import Groups

UNKNOWN = -1
UNKNOWN_LOGGER = Reason(
    "are not among the declared loggers", "Declare every logger in loggers=, with the column of its probabilities."
)
LOGGER_PROBABILITY = Reason(
    "lie outside [0, 1]", "Give that logger's probability of the logged action in every row, whoever took it."
)
IMPOSSIBLE = Reason(
    "are zero, though this logger took the row",
    "It could not have taken the logged action: check that every column belongs to the logger it is declared for.",
)
COUNTS_NEEDED = "logger_rounds= is needed here, the rounds of every logger in the whole log: a part does not tell them."


def _by_name(name: str, given: Any, what: str, is_one: Callable[[Any], bool]) -> dict[str, Any]:
    """Names as text, as the column of loggers is read: 1 and "1" are one logger."""
    if not isinstance(given, Mapping) or not all(map(is_one, given.values())):
        raise UsageError(f"{name} must give each logger {what}, but is {printed(given)}.")
    named = {str(logger): value for logger, value in given.items()}
    if len(named) != len(given) or "" in named:
        raise UsageError(f"{name}= names a logger twice, or one without a name: {printed(dict(given))}.")
    return named


def _columns(name: str, given: Any) -> dict[str, str]:
    return _by_name(name, given, "the column of its probabilities", lambda column: isinstance(column, str))


def _rounds(name: str, given: Any) -> dict[str, int]:
    named = _by_name(name, given, "its number of rounds", lambda count: True)
    return {logger: whole(f"{name} of {logger!r}", count) for logger, count in named.items()}


def _shares(name: str, given: Any) -> dict[str, float]:
    what = "the probability with which it was drawn, above 0 and below 1"
    named = _by_name(name, given, what, lambda share: is_number(share) and 0.0 < share < 1.0)
    return {logger: float(share) for logger, share in named.items()}


@dataclass(frozen=True, kw_only=True)
class Loggers(Propensity):
    named_by = ("logger", "loggers", "logger_rounds", "logger_shares")
    is_audited = True
    is_recorded = False
    logger: str | None = column(
        "logger", "Column of the logger that took the row, where there are several.", rare=True, hidden=True
    )
    loggers: Mapping[str, str] = given(
        "Each logger's column of its probability of the logged action, whoever took the row.", "A=COL,B=COL", _columns,
        rare=True, read="pairs", array=True, feature="loggers",
    )  # fmt: skip
    logger_rounds: Mapping[str, int] | None = given(
        "The rounds of each logger in the whole log; counted, if left out.", "A=N,B=N", _rounds, rare=True,
        read="numbers_by_name",
    )  # fmt: skip
    logger_shares: Mapping[str, float] | None = given(
        "The chances with which the logger of each round was drawn, if it was.", "A=P,B=P", _shares, rare=True,
        read="numbers_by_name",
    )  # fmt: skip
    contexts: tuple[str, ...] | None = None  # those that the loggers must all have met alike
    refuses: ClassVar[Mapping[str, str]] = {
        name: f"{name}= cannot be given with loggers=, which determine the propensity of single rounds."
        for name in ("propensity", "log_propensity", "logging", "embedding")
    }
    balanced: bool = derived()
    """Weights are balanced by the rounds of each logger: they hold at these counts, and at no earlier look."""

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if self.logger is None or self.loggers is None:
            yield "several loggers need both: logger=, who took each row, and loggers=, the columns of probabilities."
        if len(self.loggers) < 2:
            yield "loggers= names fewer than two loggers; with one, name its probability in propensity=."
        if len(set(self.loggers.values())) != len(self.loggers):
            yield "loggers= names one column for two loggers; give each logger a column of its own."
        if self.logger_rounds is not None and self.logger_shares is not None:
            yield "give logger_rounds=, of planned counts, or logger_shares=, of loggers drawn at random, not both."
        for role, named in (("logger_rounds", self.logger_rounds), ("logger_shares", self.logger_shares)):
            if named is not None and named.keys() != self.loggers.keys():
                yield f"{role}= names {', '.join(map(repr, named))}, but loggers= {', '.join(map(repr, self.loggers))}."
        if self.logger_shares is not None and abs(fsum(self.logger_shares.values()) - 1.0) > 1e-9:
            yield f"logger_shares must sum to 1, but sum to {fsum(self.logger_shares.values()):.10g}."

    def derive(self) -> None:
        super().derive()
        own = vars(self)
        for role in ("logger_rounds", "logger_shares"):
            if own[role] is not None:
                own[role] = own["flat"][role] = {name: own[role][name] for name in self.loggers}
        own["balanced"] = self.logger_shares is None
        if self.balanced:
            own["features"] |= {"balanced loggers"}
            own["tested_contexts"], own["is_complete"] = self.contexts or (), self.logger_rounds is not None
        own["columns"] += tuple([(f"loggers, {name!r}", column) for name, column in self.loggers.items()])
        own["hidden"] |= {column: f"propensity of logger {name!r}" for name, column in self.loggers.items()}
        took = f"the loggers {', '.join(self.loggers)} took all rounds, and the probabilities of each are known in every row"
        own["assumes"] += (took, *self._mixture_assumed())

    def _mixture_assumed(self) -> tuple[str, ...]:
        if self.logger_shares is not None:
            drawn = ", ".join([f"{name} {share:g}" for name, share in self.logger_shares.items()])
            return (f"the logger of every round was drawn at random, whatever its context, with probability {drawn}",)
        tested = f"tested in {', '.join(self.tested_contexts)}, where they are single values"
        return (
            f"the loggers are fixed policies, and their counts ({_counted(self.logger_rounds or {})}) are fixed or "
            "independent of what was logged",
            "rounds are independent, with one law of contexts and rewards for all loggers, without drift between them "
            f"({tested if self.tested_contexts else 'not tested: no contexts= are declared'})",
            "production is the mix of the loggers as it ran",
        )

    def completed(self, audited: Callable[[Propensity], FloatArray | None]) -> "Loggers":
        """The trait with the rounds of each logger, which a first pass counts."""
        if self.is_complete:
            return self
        counts = audited(replace(self, logger_shares=dict.fromkeys(self.loggers, 1.0 / len(self.loggers)), contexts=None))
        if counts is None:
            return replace(self, logger_rounds=dict.fromkeys(self.loggers, 1))  # will be refused, for a better reason
        found = dict(zip(self.loggers, map(int, counts), strict=True))
        for name in [name for name, count in found.items() if not count]:
            raise LogsError(f"logger {name!r} took none of the {sum(found.values()):,} rounds; leave it out of loggers=.")
        return replace(self, logger_rounds=found)

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        if not self.is_complete:
            raise UsageError(COUNTS_NEEDED)
        took = decisions.aside = self._took(rows)
        mixed, counts = np.zeros(rows.size), self.logger_shares or self.logger_rounds or {}
        total = 1.0 if self.logger_shares is not None else sum(counts.values())
        for place, (name, own) in enumerate(self.loggers.items()):
            subject = f"loggers, {name!r}: {own!r}"
            values, tolerance = rows.numbers(own, subject)
            rows.refuse_outside(subject, LOGGER_PROBABILITY, values, 0.0, self.largest + tolerance)
            mixed += counts[name] / total * values
            rows.refuse(subject, IMPOSSIBLE, (took == place) & (values == 0.0), values)
        rows.refuse("loggers", IMPOSSIBLE, rows.usable & (mixed <= 0.0), mixed)  # an underflow
        return mixed

    def _took(self, rows: Rows) -> IntArray:
        """The place of each row's logger among those declared."""
        subject, column = f"logger {self.logger!r}", rows.table[str(self.logger)]
        texts, codes = texts_and_codes(column)
        known = {name: place for place, name in enumerate(self.loggers)}
        missing = np.array([*(text is None for text in texts), True])[codes]
        places = np.array([*(known.get(text or "", UNKNOWN) for text in texts), UNKNOWN], dtype=np.int64)[codes]
        rows.refuse(subject, faults.NULL, missing, None)
        rows.refuse(subject, UNKNOWN_LOGGER, (places == UNKNOWN) & ~missing, column)
        rows.hashes.mix(places.astype(np.float64))
        return places

    def audit(self, batch: "Batch", groups: "Groups") -> list[FloatArray]:
        """The rounds of each logger; and where they are balanced, in each bin of each context."""
        took, count = batch.decisions.aside, len(self.loggers)
        parts = [np.stack([np.bincount(part, minlength=count) for part in groups.split(took)])]
        for name in self.tested_contexts:
            cells = groups.split(took * BINS + context_bins(batch.rows, name))
            parts.append(np.stack([np.bincount(part, minlength=count * BINS) for part in cells]))
        return list(np.hstack(parts).astype(np.float64))

    def judge(self, state: FloatArray, level: float) -> Iterator[Finding]:
        """Loggers that met the same contexts, or were drawn with these shares, are refused with a chance of at most
        ``level``. At other counts than those the weights were balanced for, the bound is not loose but false.
        """
        counts, cells = np.split(state, [len(self.loggers)])
        took, bins = dict(zip(self.loggers, map(int, counts), strict=True)), cells.reshape(-1, len(self.loggers), BINS)
        if self.balanced and took != self.logger_rounds:
            yield Finding(
                "refuse", f"logger {self.logger!r}",
                f"the loggers took {_counted(took)}, but {_counted(self.logger_rounds or {})} are declared: weights that "
                "are balanced for other counts, as at an earlier look or for a part of the log, give a false bound",
                "Ask when all rounds are there, or declare in logger_rounds= the counts that were planned for these.",
            )  # fmt: skip
        for context, found in zip(self.tested_contexts, bins, strict=True):
            contrast = context_contrast(found)
            if contrast.chance * len(self.tested_contexts) > level:
                continue
            yield Finding(
                "refuse", f"context {context!r}",
                f"the loggers saw different contexts: {contrast.share:.1%} of the rounds of logger "
                f"{list(self.loggers)[contrast.logger]!r} are in a group of its values that holds "
                f"{contrast.overall:.1%} of all rounds (chance at most {max(contrast.chance, 1e-300):.2g})",
                "Balanced weights need one law of contexts for all loggers. Take rounds of the same period and traffic, or "
                "judge by the propensity of each row's own logger, propensity=, which has no such need.",
            )  # fmt: skip
        shares = self.logger_shares
        e_value = 0.0 if shares is None else shares_e_value(counts, np.array(list(shares.values())))
        if e_value >= 1.0 / level:
            yield Finding(
                "refuse", f"logger {self.logger!r}",
                f"the loggers took {_counted(took)}, which the declared shares do not give (e-value {e_value:.3g})",
                "Loggers that were not drawn at random for each round, or with other probabilities, are no mixture with "
                "these shares. If their counts were planned, leave logger_shares= out.", None, e_value,
            )  # fmt: skip


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) + " rounds"
