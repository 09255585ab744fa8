"""The exceptions surelift raises.

SureliftError
├── UsageError   an invalid call: an option, a file, a column                  (exit code 2)
└── LogsError    logs that cannot support a guarantee: unreadable, invalid     (exit code 4)
"""

from numbers import Integral, Real


class SureliftError(Exception):
    """An error with a message for the caller."""

    exit_code = 1


class UsageError(SureliftError, ValueError):
    """An invalid call; the message says what to change."""

    exit_code = 2


class LogsError(SureliftError, ValueError):
    """The logs cannot support a guarantee; the message says which rows and what to do."""

    exit_code = 4


def is_number(value: object) -> bool:
    """Whether a value is a real number, Python's or NumPy's; booleans do not count."""
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(name: str, value: object, *, least: int = 1) -> int:
    """Check that an option is a whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}, but is {value!r}.")
    return int(value)


def positive(name: str, value: object) -> float:
    """Check that an option is positive and finite."""
    if not (isinstance(value, Real) and is_number(value) and 0.0 < float(value) < float("inf")):
        raise UsageError(f"{name} must be a positive, finite number, but is {value!r}.")
    return float(value)


def share(name: str, value: object) -> float:
    """Check that an option lies in [0, 1]."""
    if not (isinstance(value, Real) and is_number(value) and 0.0 <= float(value) <= 1.0):
        raise UsageError(f"{name} must be a number in [0, 1], but is {value!r}.")
    return float(value)
