"""What a trait of a log is: one value in one of five slots, which says all there is to say about itself.

Its fields are declared once, each with its check, its help and the shape of its flag; ``Logs`` takes them as keywords, the
command line makes its flags of them, and a certificate stores them under their names.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, ClassVar, cast

from surelift.errors import UsageError, is_number, printed, whole
from surelift.logs.faults import Finding

Check = Callable[[str, Any], Any]
"""From the name of a field and what was given for it to the form in which it is kept; raises where it is wrong."""


@dataclass(frozen=True, slots=True)
class FieldOfTrait:
    """What a field says of itself."""

    help: str
    shape: str
    """Of a flag's value: COL, N|COL; nothing for a switch."""
    check: Check
    default: Any = None
    feature: str = ""
    """As which the table of capabilities knows logs that declare it."""
    rare: bool = False
    """Listed by help among the less usual."""
    read: str = "text"
    """How a flag's text becomes the value: a name in ``cli.flag``; empty where there is no flag."""
    role: str = ""
    """What the columns it names are called; empty where it names none."""
    hidden: str = ""
    """What a function must not see there; empty where it may."""
    before: bool = False
    """Its columns are known before the action."""
    array: bool = False
    """It may be given as an array, without a source."""
    flag: str = ""
    """What its flag is called, where that is not its own name."""


def given(help: str, shape: str, check: Check, *, default: Any = None, **more: Any) -> Any:
    """A field that says of itself what ``FieldOfTrait`` holds."""
    return field(default=default, metadata={"given": FieldOfTrait(help, shape, check, default, **more)})


def shared() -> Any:
    """A field of the declaration itself that a trait needs to know."""
    return field(default=None, metadata={"shared": True})


def column(role: str, help: str, *, hidden: bool = False, **more: Any) -> Any:
    """A field that names a column."""
    return given(help, "COL", one_column, role=role, hidden=role if hidden else "", array=True, **more)


def one_column(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(
            f"{name} must name a column of the source, but is a {type(value).__name__}; to pass arrays, leave out the "
            "source: Logs(reward=..., propensity=...)."
        )
    return value


def count_or_column(name: str, value: Any) -> int | str:
    return value if isinstance(value, str) else whole(name, value, besides=", or a column")


def whole_number(name: str, value: Any) -> int:
    return whole(name, value)


def probability_or_column(name: str, value: Any) -> float | str:
    if isinstance(value, str):
        return value
    if not (is_number(value) and 0.0 < value <= 1.0):
        raise UsageError(f"{name} must lie in (0, 1], or name a column, but is {printed(value)}.")
    return float(value)


def switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False, but is {printed(value)}.")
    return value


def anything(name: str, value: Any) -> Any:
    return value


@dataclass(frozen=True, kw_only=True)
class Trait:
    """The base of all traits. A subclass has fields, and says what it makes of the rows."""

    slot: ClassVar[str]
    named_by: ClassVar[tuple[str, ...]] = ()
    """The fields of which one must be given for this trait to be meant; none for what is meant otherwise."""
    refuses: ClassVar[Mapping[str, str]] = {}
    """Why fields of other traits in its slot cannot be given beside it."""
    is_audited: ClassVar[bool] = False
    """It is put to the test by what ``audit`` counts, which ``judge`` reads."""
    audited_by_segment: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, about in fields_of(type(self)).items():
            value = getattr(self, name)
            if value is not None and value is not about.default:
                object.__setattr__(self, name, about.check(name, value))
        self.check()

    def check(self) -> None:
        """Refuse fields that do not go together."""

    @cached_property
    def features(self) -> frozenset[str]:
        """As which the table of capabilities knows it, beside the features of its fields."""
        return frozenset()

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """Each column that it reads, behind its role."""
        found: list[tuple[str, str]] = []
        for name, about in fields_of(type(self)).items():
            value = getattr(self, name) if about.role else None
            several = value if isinstance(value, tuple) else (value,)
            found += [(about.role, each) for each in several if isinstance(each, str)]
        return found

    def hidden(self) -> dict[str, str]:
        """The columns that a function must not see, each with what it is."""
        found = fields_of(type(self)).items()
        return {
            value: about.hidden for name, about in found if about.hidden and isinstance(value := getattr(self, name), str)
        }

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        """What has to be true for an answer about such a log."""
        return ()

    def judge(self, state: Any, level: float) -> Iterator[Finding]:
        """What speaks against it in what was counted to put it to the test."""
        yield from ()

    def remarks_on(self, state: Any) -> tuple[str, ...]:
        """What an answer says of what was counted to put it to the test."""
        return ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a loop over plain columns, or a database, makes a number of a column: from ``least`` to ``most``, and scaled."""

    column: str
    least: float = 0.0
    most: float = 1.0
    zero: float = 0.0
    divisor: float = 1.0
    """(value - zero) / divisor."""


def _fields_of(kind: type[Any]) -> Mapping[str, FieldOfTrait]:
    return {item.name: item.metadata["given"] for item in fields(kind) if "given" in item.metadata}


def _shared_by(kind: type[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if "shared" in item.metadata)


fields_of = cast(Callable[[type[Any]], Mapping[str, FieldOfTrait]], cache(_fields_of))
shared_by = cast(Callable[[type[Any]], tuple[str, ...]], cache(_shared_by))
"""The fields of the declaration itself that a trait is told."""
