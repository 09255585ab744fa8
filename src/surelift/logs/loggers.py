"""Several loggers, such as the arms of an A/B test or the versions of a model: one log, weighted by their mixture.

With rounds n_j of logger j, and its probability p_j of the logged action in every row, the propensity is the sum of
(n_j / n) p_j. A round of one logger then has another mean than the value, but the mean over all rounds at these counts is
the value, or less, and a bound is about this mean. At other counts, as at an earlier look, it is false. Loggers drawn at
random for each round with known shares are one policy, their mixture, and need no counts.
"""

from collections.abc import Mapping
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError, is_number, printed, whole
from surelift.logs import faults
from surelift.logs.columns import texts_and_codes
from surelift.logs.faults import Reason

if TYPE_CHECKING:
    from surelift.logs.declaration import Declaration
    from surelift.logs.rounds import Rounds

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


def probability_columns(loggers: Any) -> dict[str, str] | None:
    """The column of each logger's probability of the logged action, by the logger's name."""
    if loggers is None:
        return None
    if not isinstance(loggers, Mapping) or not all(isinstance(column, str) for column in loggers.values()):
        raise UsageError(
            f"loggers must give, for each logger, the column of its probabilities, but is {printed(loggers)}."
        )
    named = _by_name(loggers, "loggers")
    if len(named) < 2:
        raise UsageError("loggers= names fewer than two loggers; with one, name its probability in propensity=.")
    if len(set(named.values())) != len(named):
        raise UsageError("loggers= names one column for two loggers; give each logger a column of its own.")
    return named


def counts(logger_rounds: Any, loggers: Mapping[str, str] | None) -> dict[str, int] | None:
    if logger_rounds is None:
        return None
    named = _of_the_same(logger_rounds, loggers, "logger_rounds", "its number of rounds")
    return {name: whole(f"logger_rounds of {name!r}", count) for name, count in named.items()}


def shares(logger_shares: Any, loggers: Mapping[str, str] | None) -> dict[str, float] | None:
    if logger_shares is None:
        return None
    named = _of_the_same(logger_shares, loggers, "logger_shares", "the probability with which it was drawn")
    if not all(is_number(share) and 0.0 < share < 1.0 for share in named.values()):
        raise UsageError(f"logger_shares must be probabilities above 0 and below 1, but are {printed(logger_shares)}.")
    if abs(fsum(named.values()) - 1.0) > 1e-9:
        raise UsageError(f"logger_shares must sum to 1, but sum to {fsum(named.values()):.10g}.")
    return {name: float(share) for name, share in named.items()}


def _of_the_same(given: Any, loggers: Mapping[str, str] | None, role: str, what: str) -> dict[str, Any]:
    if loggers is None:
        raise UsageError(f"{role}= is about several loggers; declare them in logger= and loggers=.")
    if not isinstance(given, Mapping):
        raise UsageError(f"{role} must give each logger {what}, but is {printed(given)}.")
    named = _by_name(given, role)
    if named.keys() != loggers.keys():
        raise UsageError(f"{role}= names {', '.join(map(repr, named))}, but loggers= {', '.join(map(repr, loggers))}.")
    return {name: named[name] for name in loggers}


def _by_name(given: Mapping[Any, Any], role: str) -> dict[str, Any]:
    """Names as text, as the column of loggers is read: 1 and "1" are one logger."""
    named = {str(name): value for name, value in given.items()}
    if len(named) != len(given) or "" in named:
        raise UsageError(f"{role}= names a logger twice, or one without a name: {printed(dict(given))}.")
    return named


def check_loggers(declared: "Declaration") -> None:
    if (declared.logger is None) != (declared.loggers is None):
        raise UsageError(
            "several loggers need both: logger=, who took each row, and loggers=, the columns of probabilities."
        )
    if declared.loggers is None:
        return
    if declared.logger_rounds is not None and declared.logger_shares is not None:
        raise UsageError(
            "give logger_rounds=, of planned counts, or logger_shares=, of loggers drawn at random, not both."
        )
    refused = {
        "propensity=": declared.propensity, "log_propensity=": declared.log_propensity, "logging=": declared.logging,
        "embedding=": declared.embedding, "cluster=": declared.cluster,
    }  # fmt: skip
    if declared.balances_counts:
        refused |= {"keep_probability=": declared.keep_probability}
    for role, value in refused.items():
        if value is not None:
            raise UsageError(f"{role} cannot be given with loggers=, which determine the propensity of single rounds.")


def read_loggers(rounds: "Rounds") -> IntArray:
    """The place of each row's logger among those declared."""
    declared = rounds.declaration
    assert declared.logger is not None
    assert declared.loggers is not None
    subject, column = f"logger {declared.logger!r}", rounds.table[declared.logger]
    texts, codes = texts_and_codes(column)
    known = {name: place for place, name in enumerate(declared.loggers)}
    missing = np.array([*(text is None for text in texts), True])[codes]
    places = np.array([*(known.get(text or "", UNKNOWN) for text in texts), UNKNOWN], dtype=np.int64)[codes]
    rounds.refuse(subject, faults.NULL, missing, None)
    rounds.refuse(subject, UNKNOWN_LOGGER, (places == UNKNOWN) & ~missing, column)
    rounds.hashes.mix(places.astype(np.float64))
    return places


def balanced_propensity(rounds: "Rounds") -> FloatArray:
    """The probability of the logged action under the mixture of the loggers, checked."""
    declared = rounds.declaration
    assert declared.loggers is not None
    assert rounds.logger is not None
    mixed, shares = np.zeros(rounds.size), shares_of(declared)
    for place, (name, column) in enumerate(declared.loggers.items()):
        subject = f"loggers, {name!r}: {column!r}"
        values, tolerance = rounds.numbers(column, subject)
        most = np.inf if declared.density else 1.0 + tolerance
        rounds.refuse_outside(subject, LOGGER_PROBABILITY, values, 0.0, most)
        mixed += shares[name] * values
        rounds.refuse(subject, IMPOSSIBLE, (rounds.logger == place) & (values == 0.0), values)
    rounds.refuse("loggers", IMPOSSIBLE, rounds.usable & (mixed <= 0.0), mixed)  # an underflow
    return mixed


def shares_of(declared: "Declaration") -> Mapping[str, float]:
    if declared.logger_shares is not None:
        return declared.logger_shares
    if declared.logger_rounds is None:
        raise UsageError(COUNTS_NEEDED)
    total = sum(declared.logger_rounds.values())
    return {name: count / total for name, count in declared.logger_rounds.items()}
