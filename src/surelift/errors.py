"""The exceptions surelift raises.

SureliftError
├── UsageError   an invalid call: an option, a file, a column                  (exit code 2)
│   └── FitManyError   some of many problems could not be learned, the others are
└── LogsError    logs that cannot support a guarantee: unreadable, invalid     (exit code 4)
"""

import sys
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

# Beyond it float64 skips whole numbers.
MOST_WHOLE = 1 << 53


class SureliftError(Exception):
    """An error with a message for the caller."""

    exit_code = 1


class UsageError(SureliftError, ValueError):
    """An invalid call; the message says what to change."""

    exit_code = 2


class FitManyError(UsageError):
    """Some problems of ``fit_many`` failed, by their numbers in ``failed``; the learners of all others are fitted."""

    def __init__(self, failed: Mapping[int, Exception], problems: int) -> None:
        self.failed, self.problems = dict(sorted(failed.items())), problems
        self.exit_code = max(getattr(error, "exit_code", 1) for error in failed.values())
        lines = [f"{len(failed):,} of {problems:,} problems failed, counting from 0; the others are fitted."]
        lines += [f"- problem {number}: {error}" for number, error in list(self.failed.items())[:5]]
        super().__init__("\n".join(lines + [f"- and {len(failed) - 5:,} more, in .failed"] * (len(failed) > 5)))

    def __reduce__(self) -> tuple[type, tuple[dict[int, Exception], int]]:
        return FitManyError, (self.failed, self.problems)


class LogsError(SureliftError, ValueError):
    """The logs cannot support a guarantee; the message says which rows and what to do."""

    exit_code = 4


def install_extra(extra: str) -> str:
    # From the sources, since the name on a package index may be somebody else's.
    return f"Run pip install '.[{extra}]' in the folder of surelift's sources."


def is_number(value: object) -> bool:
    """A real number, Python's or NumPy's; booleans do not count."""
    return isinstance(value, Real) and not isinstance(value, bool)


def first_line(error: Exception) -> str:
    """What an error of a library says first, where it says anything."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def printed(value: object) -> str:
    if type(value).__name__ in ("str_", "datetime64"):  # of NumPy, whose repr names the type
        value = str(value)
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        text = f"a {type(value).__name__} too long to print"
    return text if len(text) <= 80 else f"{text[:77]}..."


def exact(value: Any) -> float:
    """The number to compare with: an integer stays one, since float() fails on a very large one."""
    return int(value) if isinstance(value, Integral) else float(value)


def whole(name: str, value: Any, *, least: int = 1, most: int = MOST_WHOLE, besides: str = "") -> int:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    limits = f"of at most {most:,}" if isinstance(value, Integral) and int(value) > most else f"of at least {least}"
    _check(is_whole and least <= int(value) <= most, name, f"a whole number {limits}{besides}", value)
    return int(value)


def positive(name: str, value: Any) -> float:
    _check(is_number(value) and 0.0 < exact(value) <= sys.float_info.max, name, "a positive, finite number", value)
    return float(value)


def share(name: str, value: Any) -> float:
    _check(is_number(value) and 0.0 <= exact(value) <= 1.0, name, "a number in [0, 1]", value)
    return float(value)


def _check(fits: bool, name: str, wanted: str, value: object) -> None:
    if not fits:
        raise UsageError(f"{name} must be {wanted}, but is {printed(value)}.")
