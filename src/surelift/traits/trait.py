"""What a trait of a log is: one value in one of five slots, which says all there is to say about itself.

Its fields are declared once, each with its check, its help and the shape of its flag; ``Logs`` takes them as keywords, the
command line makes its flags of them, and a certificate stores them under their names.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, ClassVar, cast

from surelift.errors import UsageError, printed, whole
from surelift.logs.faults import Finding

Check = Callable[[str, Any], Any]
"""Takes the name of a field and what was given for it, and returns what is kept; raises where it is wrong."""


@dataclass(frozen=True, slots=True)
class FieldOfTrait:
    """What a field says of itself."""

    help: str
    shape: str  # of a flag's value: COL, N|COL; nothing for a switch
    check: Check  # not asked of a text where the field names a column
    default: Any = None
    feature: str = ""  # as which the table of capabilities knows logs that declare it
    rare: bool = False  # listed by help among the less usual
    read: str = "text"  # how a flag's text becomes the value: a name in ``cli.flag``; empty where there is no flag
    role: str = ""  # what the columns it names are called; empty where it names none
    hidden: str = ""  # what a function must not see there; empty where it may
    before: bool = False  # its columns are known before the action
    array: bool = False  # it may be given as an array, without a source
    flag: str = ""  # what its flag is called, where that is not its own name


def given(help: str, shape: str, check: Check, *, default: Any = None, **more: Any) -> Any:
    """A field that says of itself what ``FieldOfTrait`` holds."""
    return field(default=default, metadata={"given": FieldOfTrait(help, shape, check, default, **more)})


def derived(default: Any = None) -> Any:
    """What follows from the other fields."""
    return field(default=default, init=False, compare=False, repr=False)


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


count_or_column = partial(whole, besides=", or a column")


def in_order(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | set | frozenset) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise UsageError(f"{name} must be a list: a {kind} {'is none' if isinstance(values, str) else 'has no order'}.")
    return tuple(values)


def texts(name: str, values: Any) -> tuple[str, ...]:
    found = in_order(name, values)
    if not all(isinstance(each, str) for each in found):
        raise UsageError(f"{name} must be a list of strings, but is {printed(values)}.")
    return found


def one_of_two(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False, but is {printed(value)}.")
    return value


def switch(help: str, feature: str) -> Any:
    """A field that is declared or not."""
    return given(help, "", one_of_two, default=False, rare=True, read="switch", feature=feature)


def anything(name: str, value: Any) -> Any:
    return value


def read_back(name: str, what: str, read: Callable[[Any], Any], description: Any) -> Any:
    """The object that describes itself so in a file."""
    try:
        return read(description)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{name}= is not a valid {what} ({error}).") from error


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Fields that are checked when they are given, and what follows from them."""

    flat: dict[str, Any] = derived()  # as ``Logs`` takes them; without what is at its default
    features: frozenset[str] = derived()  # what the table of capabilities knows them by
    columns: tuple[tuple[str, str], ...] = derived()  # every column that is named, behind its role
    hidden: dict[str, str] = derived()
    """The columns that a function must not see, each with what it is: they tell of the outcome, or of what was drawn."""

    def __post_init__(self) -> None:
        own, flat, features, columns, hidden = vars(self), dict[str, Any](), set[str](), list[Any](), dict[str, str]()
        for name, about in fields_of(type(self)).items():
            value = own[name]
            if value is None or value is about.default:
                continue
            if not (about.role and isinstance(value, str)):
                value = own[name] = about.check(name, value)
            if value != about.default:
                flat[name] = value
                features.add(about.feature)
                several = value if isinstance(value, tuple) else (value,)
                columns += [(about.role, each) for each in several if about.role and isinstance(each, str)]
                if about.hidden and isinstance(value, str):
                    hidden[value] = about.hidden
        own.update(flat=flat, features=frozenset(features - {""}), columns=tuple(columns), hidden=hidden)
        for problem in self.problems():
            raise UsageError(problem)
        self.derive()

    def problems(self) -> Iterable[str]:
        """Fields that are missing, or contradict each other."""
        return ()

    def derive(self) -> None:
        """Fill in what follows from the fields."""


@dataclass(frozen=True, kw_only=True)
class Trait(Fields):
    """The base of all traits. A subclass has fields, and says what it makes of the rows."""

    slot: ClassVar[str]
    named_by: ClassVar[tuple[str, ...]] = ()
    """The fields of which one must be given for this trait to be meant; none for what is meant otherwise."""
    refuses: ClassVar[Mapping[str, str]] = {}
    """Why some fields, its base's or those of other traits in its slot, cannot be given with it."""
    is_audited: ClassVar[bool] = False  # it is put to the test by what ``audit`` counts, which ``judge`` reads
    audited_by_segment: ClassVar[bool] = False
    assumes: tuple[str, ...] = derived(())  # what has to be true for an answer about such a log

    def judge(self, state: Any, level: float) -> Iterable[Finding]:
        """What speaks against it in what was counted to put it to the test."""
        return ()

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
    divisor: float = 1.0  # (value - zero) / divisor


def _fields_of(kind: type[Any]) -> Mapping[str, FieldOfTrait]:
    return {item.name: item.metadata["given"] for item in fields(kind) if "given" in item.metadata}


fields_of = cast(Callable[[type[Any]], Mapping[str, FieldOfTrait]], cache(_fields_of))
