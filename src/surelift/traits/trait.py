"""What a trait of a log is: one value in one of five slots, which says all there is to say about itself.

Its fields are declared once, each with its check, its help and the shape of its flag; ``Logs`` takes them as keywords, the
command line makes its flags of them, and a certificate stores them under their names.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from surelift.errors import UsageError, is_number, printed, whole
from surelift.logs.findings import Finding

Check = Callable[[str, Any], Any]
"""From the name of a field and what was given for it to the form in which it is kept; raises where it is wrong."""


@dataclass(frozen=True, slots=True)
class FieldOfTrait:
    """What a field says of itself."""

    help: str
    shape: str
    """Of a flag's value: COL, N|COL; nothing for a switch."""
    check: Check
    rare: bool = False
    """Whether help lists it among the less usual."""
    read: str = "text"
    """How a flag's text becomes the value: a name in ``cli.flag``; empty where there is no flag."""
    role: str = ""
    """What the columns it names are called; empty where it names none."""
    hidden: str = ""
    """What a function must not see there; empty where it may."""
    before: bool = False
    """Whether its columns are known before the action."""
    array: bool = False
    """Whether it may be given as an array, without a source."""
    flag: str = ""
    """What its flag is called, where that is not its own name."""


def given(help: str, shape: str, check: Check, *, default: Any = None, **about: Any) -> Any:
    """A field that says of itself what ``FieldOfTrait`` holds."""
    return field(default=default, metadata={"given": FieldOfTrait(help, shape, check, **about)})


def shared(default: Any = None) -> Any:
    """A field of the declaration itself that a trait needs to know."""
    return field(default=default, metadata={"shared": True})


def column(role: str, help: str, *, rare: bool = False, hidden: bool = False, before: bool = False) -> Any:
    """A field that names a column."""
    return given(help, "COL", one_column, rare=rare, role=role, hidden=role if hidden else "", before=before, array=True)


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
    audited_by_segment: ClassVar[bool] = False
    """Whether what puts it to the test is counted in each segment."""
    refuses: ClassVar[Mapping[str, str]] = {}
    """Of fields of other traits in its slot, why they cannot be given beside it."""

    def __post_init__(self) -> None:
        for name, about in fields_of(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, about.check(name, value))
        self.check()

    def check(self) -> None:
        """Refuse fields that do not go together."""

    @classmethod
    def fits(cls, given: Mapping[str, Any]) -> bool:
        """Whether this is the trait that someone means who gave these fields."""
        return True

    @property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows it by."""
        return frozenset()

    def columns(self) -> Iterator[tuple[str, str]]:
        """The columns it reads, each with its role."""
        for name, about in fields_of(type(self)).items():
            value = getattr(self, name)
            if about.role and value is not None:
                several = value if isinstance(value, tuple) else (value,)
                yield from ((about.role, each) for each in several if isinstance(each, str))

    def hidden(self) -> dict[str, str]:
        """The columns that a function must not see, each with what it is."""
        found = fields_of(type(self)).items()
        return {
            value: about.hidden for name, about in found if about.hidden and isinstance(value := getattr(self, name), str)
        }

    def assumes(self) -> Iterator[str]:
        """What has to be true for an answer about such a log."""
        yield from ()

    def judge(self, state: Any, level: float) -> Iterator[Finding]:
        """What speaks against it in what was counted to put it to the test."""
        yield from ()

    def told(self, state: Any) -> Iterator[str]:
        """What is said of what was counted to put it to the test."""
        yield from ()

    def flat(self) -> dict[str, Any]:
        """Its fields as ``Logs`` takes them; not those at their defaults."""
        own = [item for item in fields(self) if "given" in item.metadata]
        return {item.name: value for item in own if (value := getattr(self, item.name)) != item.default}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a loop over plain columns, or a database, makes a number of a column: from ``least`` to ``most``, and scaled."""

    column: str
    least: float = 0.0
    most: float = 1.0
    zero: float = 0.0
    divisor: float = 1.0
    """(value - zero) / divisor."""


def fields_of(kind: type[Trait]) -> dict[str, FieldOfTrait]:
    return {item.name: item.metadata["given"] for item in fields(kind) if "given" in item.metadata}
