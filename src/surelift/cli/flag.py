"""How flags are written down, grouped and read."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform

from cyclopts import Group, Parameter

from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.logs.wins import Wins

T = TypeVar("T")

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


def flag(
    shape: str | None, text: str, *, default: Any = None, read: Callable[[Any], Any] | None = lambda given: given,
    **options: Any,
) -> Any:  # fmt: skip
    """A field that is a flag, with the shape of its value (COL, FILE; nothing for a switch) and what help says of it.

    ``read`` makes the argument of a verb of it; None where it is of the command alone.
    """
    shown: dict[str, Any] = {"show_default": default is not None and default is not False, "show_choices": False}
    parameter = Parameter(help=text, metavar=shape, **{**shown, **options})
    return field(default=default, metadata={"flag": parameter, "read": read})


@dataclass(frozen=True)
class Flags:
    """A group of flags, and the arguments of a verb that they stand for."""

    def arguments(self) -> dict[str, Any]:
        found = dict[str, Any]()
        for item in fields(self):
            value, read = getattr(self, item.name), item.metadata["read"]
            if value is not None and read is not None and (argument := read(value)) is not None:
                found[item.name] = argument
        return found


@dataclass_transform(kw_only_default=True, frozen_default=True)
def flags(group: Group | None = None) -> Callable[[type[T]], type[T]]:
    """A dataclass of flags, which help shows in this group unless they name another."""

    def decorated(kind: type[T]) -> type[T]:
        for name, value in kind.__annotations__.items():
            written = vars(kind).get(name)
            if isinstance(written, Field) and "flag" in written.metadata:
                whole = (WHOLE,) if value in (int, int | None) else ()
                kind.__annotations__[name] = Annotated[(value, *whole, written.metadata["flag"])]
        made = dataclass(frozen=True, kw_only=True)(kind)
        # Else --help would parse the source of every group, in search of docstrings that no flag has.
        made.__module__ = f"{__name__}.{kind.__name__}"
        return Parameter(name="*", group=group)(made)

    return decorated


def refuse_first(wrong: Mapping[str, object]) -> None:
    """Refuse the first thing that is so, by the message it is listed under."""
    for message, is_so in wrong.items():
        if is_so:
            raise UsageError(message)


def columns(text: str) -> Any:
    """A column, or several separated by commas, for a vector over actions."""
    return text.split(",") if "," in text else text


def split(text: str) -> list[str]:
    return text.split(",")


def number_or_column(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 100 else text


def number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def wins(text: str, name: str = "--propensity-wins") -> "Wins":
    """Counts of draws, as K,M or K,M,played."""
    from surelift.logs.wins import wins as counted

    k, *rest = (part.strip() for part in text.split(","))
    if not k or not rest or not rest[0] or rest[1:] not in ([], ["played"]):
        raise UsageError(f"{name} takes K,M, or K,M,played where the logged action is one of the M, not {text!r}.")
    m: Any = number_or_column(rest[0])
    return counted(k, m, includes_played=len(rest) == 2)


def two_numbers(text: str, name: str = "--reward-range") -> tuple[float, float]:
    """A range, as LOW,HIGH."""
    parts = text.split(",")
    if len(parts) != 2:
        raise UsageError(f"{name} takes two numbers separated by a comma, such as 0,80, not {text!r}.")
    return number(parts[0], name), number(parts[1], name)


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
