"""How flags are written down, grouped and read."""

from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.logs.wins import Wins

# Shown in this order by --help.
COUNTING = Group.create_ordered("The counting")
LOG = Group.create_ordered("The log")
POLICIES = Group.create_ordered("The policies")
QUESTION = Group.create_ordered("The question")
LEARNING = Group.create_ordered("The learning")
ANSWER = Group.create_ordered("The answer")
MORE_OF_THE_LOG = Group.create_ordered("The log, more")
OUTPUT = Group.create_ordered("Output")

# Not cyclopts' own conversion, which rounds 2.5.
WHOLE = Parameter(converter=lambda _, tokens: int(tokens[0].value))


def flag(shape: str, text: str, **options: Any) -> Parameter:
    """A flag without a default to show, and the shape of its value: COL, FILE; nothing for a switch."""
    return Parameter(help=text, metavar=shape, show_default=False, **options)


def split(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")


def columns(text: str | None) -> Any:
    """A column, or several separated by commas, for a vector over actions."""
    return text.split(",") if text is not None and "," in text else text


def number_or_column(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 100 else text


def wins(text: str, name: str = "--propensity-wins") -> "Wins":
    """Counts of draws, as K,M or K,M,played."""
    from surelift.logs.wins import wins as counted

    k, *rest = (part.strip() for part in text.split(","))
    if not k or not rest or not rest[0] or rest[1:] not in ([], ["played"]):
        raise UsageError(f"{name} takes K,M, or K,M,played where the logged action is one of the M, not {text!r}.")
    m: Any = number_or_column(rest[0])
    return counted(k, m, includes_played=len(rest) == 2)


def probability_or_column(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def two_numbers(text: str) -> tuple[float, float]:
    """A range, as LOW,HIGH."""
    parts = text.split(",")
    if len(parts) != 2:
        raise UsageError(f"--reward-range takes two numbers separated by a comma, such as 0,80, not {text!r}.")
    return number(parts[0], "--reward-range"), number(parts[1], "--reward-range")


def pairs(text: str) -> dict[str, str]:
    """NAME=VALUE, several separated by commas, each name once."""
    parts = [part.partition("=") for part in text.split(",")]
    found = {name.strip(): value.strip() for name, _, value in parts}
    if not all(name and value for name, value in found.items()) or len(found) != len(parts):
        raise UsageError(f"{text!r} must be NAME=VALUE,NAME=VALUE with each name once, such as a=p_a,b=p_b.")
    return found


def numbers_by_name(text: str) -> dict[str, float]:
    return {name: int(value) if value.isdigit() else number(value, text) for name, value in pairs(text).items()}


def number(text: str, subject: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{subject}: {text!r} is not a number.") from error
