"""The propensity slot, where several loggers took the rounds, such as the arms of an A/B test: weighted by their mixture.

With rounds n_j of logger j, and its probability p_j of the logged action in every row, the propensity is the sum of
(n_j / n) p_j. A round of one logger then has another mean than the value, but the mean over all rounds at these counts is
the value, or less, and a bound is about this mean. At other counts, as at an earlier look, it is false. Loggers drawn at
random for each round with known shares are one policy, their mixture, and need no counts.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
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
from surelift.traits.propensity import OneColumn, Propensity
from surelift.traits.trait import column, given, shared

if TYPE_CHECKING:
    from surelift.batch import Batch
    from surelift.statistics.groups import Groups

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
ALONE = "{} cannot be given with loggers=, which determine the propensity of single rounds."


def _by_name(role: str, given: Any, what: str) -> dict[str, Any]:
    """Names as text, as the column of loggers is read: 1 and "1" are one logger."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{role} must give each logger {what}, but is {printed(given)}.")
    named = {str(name): value for name, value in given.items()}
    if len(named) != len(given) or "" in named:
        raise UsageError(f"{role}= names a logger twice, or one without a name: {printed(dict(given))}.")
    return named


def _columns(role: str, given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given.values()):
        raise UsageError(f"loggers must give, for each logger, the column of its probabilities, but is {printed(given)}.")
    named = _by_name(role, given, "a column")
    if len(named) < 2:
        raise UsageError("loggers= names fewer than two loggers; with one, name its probability in propensity=.")
    if len(set(named.values())) != len(named):
        raise UsageError("loggers= names one column for two loggers; give each logger a column of its own.")
    return named


def _rounds(role: str, given: Any) -> dict[str, int]:
    named = _by_name(role, given, "its number of rounds")
    return {name: whole(f"logger_rounds of {name!r}", count) for name, count in named.items()}


def _shares(role: str, given: Any) -> dict[str, float]:
    named = _by_name(role, given, "the probability with which it was drawn")
    if not all(is_number(share) and 0.0 < share < 1.0 for share in named.values()):
        raise UsageError(f"logger_shares must be probabilities above 0 and below 1, but are {printed(given)}.")
    if abs(fsum(named.values()) - 1.0) > 1e-9:
        raise UsageError(f"logger_shares must sum to 1, but sum to {fsum(named.values()):.10g}.")
    return {name: float(share) for name, share in named.items()}


@dataclass(frozen=True, kw_only=True)
class Loggers(OneColumn):
    named_by = ("logger", "loggers", "logger_rounds", "logger_shares")
    is_audited = True
    logger: str | None = column(
        "logger", "Column of the logger that took the row, where there are several.", rare=True, hidden=True
    )
    loggers: Mapping[str, str] | None = given(
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
    contexts: tuple[str, ...] | None = shared()
    """Those that the loggers must all have met alike."""
    refuses: ClassVar[Mapping[str, str]] = {
        name: ALONE.format(f"{name}=") for name in ("propensity", "log_propensity", "logging", "embedding")
    }

    def check(self) -> None:
        super().check()
        for role in ("logger_rounds", "logger_shares"):
            named = getattr(self, role)
            if named is None:
                continue
            if self.loggers is None:
                raise UsageError(f"{role}= is about several loggers; declare them in logger= and loggers=.")
            if named.keys() != self.loggers.keys():
                raise UsageError(
                    f"{role}= names {', '.join(map(repr, named))}, but loggers= {', '.join(map(repr, self.loggers))}."
                )
            object.__setattr__(self, role, {name: named[name] for name in self.loggers})
        if self.logger is None or self.loggers is None:
            raise UsageError(
                "several loggers need both: logger=, who took each row, and loggers=, the columns of probabilities."
            )
        if self.logger_rounds is not None and self.logger_shares is not None:
            raise UsageError(
                "give logger_rounds=, of planned counts, or logger_shares=, of loggers drawn at random, not both."
            )
        object.__setattr__(self, "tested_contexts", (self.contexts or ()) if self.balanced else ())

    @property
    def balanced(self) -> bool:
        """Weights are balanced by the rounds of each logger: they hold at these counts, and at no earlier look."""
        return self.logger_shares is None

    @cached_property
    def features(self) -> frozenset[str]:
        return super().features | ({"balanced loggers"} if self.balanced else set())

    @property
    def names(self) -> list[str]:
        return list(self.loggers or ())

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        return [*super().columns, *((f"loggers, {name!r}", column) for name, column in (self.loggers or {}).items())]

    def hidden(self) -> dict[str, str]:
        of_each = {column: f"propensity of logger {name!r}" for name, column in (self.loggers or {}).items()}
        return {**super().hidden(), **of_each}

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        took = f"the loggers {', '.join(self.names)} took all rounds, and the probabilities of each are known in every row"
        if self.logger_shares is not None:
            drawn = ", ".join(f"{name} {share:g}" for name, share in self.logger_shares.items())
            by_chance = f"the logger of every round was drawn at random, whatever its context, with probability {drawn}"
            return (*super().assumes, took, by_chance)
        tested = f"tested in {', '.join(self.contexts or ())}, where they are single values"
        return (
            *super().assumes, took,
            f"the loggers are fixed policies, and their counts ({_counted(self.logger_rounds or {})}) are fixed or "
            "independent of what was logged",
            "rounds are independent, with one law of contexts and rewards for all loggers, without drift between them "
            f"({tested if self.contexts else 'not tested: no contexts= are declared'})",
            "production is the mix of the loggers as it ran",
        )  # fmt: skip

    @property
    def is_complete(self) -> bool:  # type: ignore[override]
        return not self.balanced or self.logger_rounds is not None

    def completed(self, audited: Callable[[Propensity], FloatArray | None]) -> "Loggers":
        """With the rounds of each logger, which a first pass counts."""
        if self.is_complete:
            return self
        any_shares = replace(self, logger_shares=dict.fromkeys(self.names, 1.0 / len(self.names)), contexts=None)
        counts = audited(any_shares)
        if counts is None:
            return replace(self, logger_rounds=dict.fromkeys(self.names, 1))  # the log will be refused, for a better reason
        found = dict(zip(self.names, map(int, counts), strict=True))
        for name, count in found.items():
            if not count:
                raise LogsError(
                    f"logger {name!r} took none of the {sum(found.values()):,} rounds; leave it out of loggers=."
                )
        return replace(self, logger_rounds=found)

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        took = decisions.aside = self._took(rows)
        mixed, shares = np.zeros(rows.size), self._mixture()
        for place, (name, own) in enumerate((self.loggers or {}).items()):
            subject = f"loggers, {name!r}: {own!r}"
            values, tolerance = rows.numbers(own, subject)
            rows.refuse_outside(subject, LOGGER_PROBABILITY, values, 0.0, self.largest + tolerance)
            mixed += shares[name] * values
            rows.refuse(subject, IMPOSSIBLE, (took == place) & (values == 0.0), values)
        rows.refuse("loggers", IMPOSSIBLE, rows.usable & (mixed <= 0.0), mixed)  # an underflow
        return mixed

    def _took(self, rows: Rows) -> IntArray:
        """The place of each row's logger among those declared."""
        subject, column = f"logger {self.logger!r}", rows.table[str(self.logger)]
        texts, codes = texts_and_codes(column)
        known = {name: place for place, name in enumerate(self.names)}
        missing = np.array([*(text is None for text in texts), True])[codes]
        places = np.array([*(known.get(text or "", UNKNOWN) for text in texts), UNKNOWN], dtype=np.int64)[codes]
        rows.refuse(subject, faults.NULL, missing, None)
        rows.refuse(subject, UNKNOWN_LOGGER, (places == UNKNOWN) & ~missing, column)
        rows.hashes.mix(places.astype(np.float64))
        return places

    def _mixture(self) -> Mapping[str, float]:
        if self.logger_shares is not None:
            return self.logger_shares
        if self.logger_rounds is None:
            raise UsageError(COUNTS_NEEDED)
        total = sum(self.logger_rounds.values())
        return {name: count / total for name, count in self.logger_rounds.items()}

    def audit(self, batch: "Batch", groups: "Groups") -> list[FloatArray]:
        """The rounds of each logger; and where they are balanced, in each bin of each context."""
        took, count = batch.decisions.aside, len(self.names)
        parts = [np.stack([np.bincount(part, minlength=count) for part in groups.split(took)])]
        for name in self.tested_contexts:
            cells = groups.split(took * BINS + context_bins(batch.rows, name))
            parts.append(np.stack([np.bincount(part, minlength=count * BINS) for part in cells]))
        return list(np.hstack(parts).astype(np.float64))

    def judge(self, state: FloatArray, level: float) -> Iterator[Finding]:
        """Loggers that met the same contexts, or were drawn with these shares, are refused with a chance of at most
        ``level``. At other counts than those the weights were balanced for, the bound is not loose but false.
        """
        counts, cells = np.split(state, [len(self.names)])
        took, bins = dict(zip(self.names, map(int, counts), strict=True)), cells.reshape(-1, len(self.names), BINS)
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
                f"{self.names[contrast.logger]!r} are in a group of its values that holds {contrast.overall:.1%} of all "
                f"rounds (chance at most {max(contrast.chance, 1e-300):.2g})",
                "Balanced weights need one law of contexts for all loggers. Take rounds of the same period and traffic, or "
                "judge by the propensity of each row's own logger, propensity=, which has no such need.",
            )  # fmt: skip
        if self.logger_shares is None:
            return
        e_value = shares_e_value(counts, np.array(list(self.logger_shares.values())))
        if e_value >= 1.0 / level:
            yield Finding(
                "refuse", f"logger {self.logger!r}",
                f"the loggers took {_counted(took)}, which the declared shares do not give (e-value {e_value:.3g})",
                "Loggers that were not drawn at random for each round, or with other probabilities, are no mixture with "
                "these shares. If their counts were planned, leave logger_shares= out.", None, e_value,
            )  # fmt: skip


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) + " rounds"
