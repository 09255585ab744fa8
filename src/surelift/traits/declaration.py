"""``Declaration``: what the columns of a log mean, as one trait in each of five slots, and what tells its rounds apart."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

from surelift import capabilities
from surelift.errors import UsageError
from surelift.logs.batch import TableBatch
from surelift.logs.decisions import Limits
from surelift.logs.rows import Rows
from surelift.logs.scale import Scale
from surelift.logs.where import Condition
from surelift.traits.distribution import Distribution
from surelift.traits.draws import Drawn
from surelift.traits.kept import All, Sampled
from surelift.traits.labels import Labels
from surelift.traits.loggers import Loggers
from surelift.traits.propensity import NO_PROPENSITY, Logarithm, Propensity, Recorded
from surelift.traits.reward import Reward
from surelift.traits.trait import FieldOfTrait, Trait, fields_of, given, one_column
from surelift.traits.units import Clusters, EachRow, Steps
from surelift.traits.which import REMEDY, Every, Where

SLOTS: Mapping[str, tuple[type[Any], ...]] = {
    "propensity": (Loggers, Drawn, Distribution, Recorded, Logarithm),
    "reward": (Labels, Reward),
    "unit": (Steps, Clusters, EachRow),
    "kept": (Sampled, All),
    "which": (Where, Every),
}
"""The traits of each slot; the first that fits what was given is meant."""


def _column_names(name: str, columns: Any) -> tuple[str, ...]:
    if isinstance(columns, set | frozenset):
        raise UsageError(f"{name} must be a list: a {type(columns).__name__} has no order, but vectors and models do.")
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _texts(name: str, texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise UsageError("assumes must be a list of strings, one per assumption.")
    return tuple(texts)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Everything known about a log before reading it."""

    propensity: Propensity
    reward: Reward
    unit: EachRow = EachRow()
    kept: All = All()
    which: Every = Every()
    contexts: tuple[str, ...] | None = given(
        "Columns known before the action.",
        "COL,COL,...",
        _column_names,
        read="split",
        role="contexts",
        before=True,
        array=True,
    )
    time: str | None = given("Column of the time of the decision.", "COL", one_column, role="time", before=True, array=True)
    id: str | None = given("Column that tells rounds apart: no id may come twice.", "COL", one_column, role="id", array=True)
    assumes: tuple[str, ...] = given(
        "Assumptions of your own, which every answer then states.", "", _texts, default=(), read=""
    )

    @classmethod
    def of(cls, **flat: Any) -> "Declaration":
        """Fill the slots from the keywords of ``Logs``."""
        left = {name: value for name, value in flat.items() if value is not None and value is not False}
        own = {name: OWN[name].check(name, left.pop(name)) for name in OWN if name in left}
        slots = {slot: _filled(kinds, left, own) for slot, kinds in SLOTS.items()}
        if left:
            _refuse_stray(next(iter(left)), slots)
        return cls(**slots, **own)

    def __post_init__(self) -> None:
        capabilities.check(self.features)
        known_before = {about.role for about in FLAT.values() if about.before} | {"where"}
        roles = {column: role for role, column in self.columns() if role not in known_before}
        for name in self.which.chosen_by:
            if name in roles:
                raise UsageError(f"where= names {name!r}, declared as {roles[name]}: {REMEDY}.")
        self.require_visible(self.contexts or (), "contexts=")

    @property
    def traits(self) -> tuple[Trait, ...]:
        return self.propensity, self.reward, self.unit, self.kept, self.which

    @cached_property
    def features(self) -> frozenset[str]:
        """What the table of capabilities knows these logs by."""
        own = {"time": self.time is not None, "id": self.id is not None}
        found = frozenset(name for name, is_so in own.items() if is_so).union(*(trait.features for trait in self.traits))
        return found | {"filled-up costs"} if {"cost", "filled-up clusters"} <= found else found

    def has(self, feature: str) -> bool:
        return feature in self.features

    @property
    def plain(self) -> bool:
        """Whether every row is a unit that stands for itself, and carries its reward."""
        return self.unit.cuts and not self.kept.scales and self.reward.known

    @property
    def scale(self) -> Scale:
        return self.reward.scale

    @property
    def counted(self) -> Literal["rounds", "clusters"]:
        """The unit a bound counts in these logs."""
        return self.unit.counted

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every column with a role, as (role, column) pairs."""
        for name in OWN:
            value, about = getattr(self, name), OWN[name]
            if about.role and value is not None:
                yield from ((about.role, each) for each in ((value,) if isinstance(value, str) else value))
        for trait in self.traits:
            yield from trait.columns()

    @cached_property
    def hidden(self) -> dict[str, str]:
        """The columns that a function must not see, each with its role: they tell of the outcome, or of what was drawn."""
        return {name: role for trait in self.traits for name, role in trait.hidden().items()}

    @property
    def times(self) -> tuple[str, ...]:
        """The column of times, where there is one."""
        return () if self.time is None else (self.time,)

    @property
    def telling_apart(self) -> tuple[str, ...]:
        """The columns that tell rounds apart which are alike in all that is read of them."""
        return tuple(name for name in (self.time, self.id) if name is not None)

    @property
    def dealt_by(self) -> tuple[str, ...]:
        """The column by which units are dealt into blocks, where not by the number of their row."""
        return tuple(name for name, of_units in self.ids() if of_units or self.unit.cuts)

    @property
    def identifying(self) -> tuple[str, ...]:
        """The columns whose entries are told apart: they must be of one kind throughout."""
        named = (self.id, self.time, *(name for name, _ in self.unit.ids()), *self.which.chosen_by)
        return tuple(name for name in named if name is not None)

    @property
    def identifying_roles(self) -> Iterator[tuple[str, str]]:
        """The columns without which a row is refused, each with its role."""
        return ((role, name) for role, name in (("time", self.time), ("id", self.id)) if name is not None)

    def identify(self, rows: Rows) -> None:
        """Refuse rows without a time, or without an id."""
        for role, name in self.identifying_roles:
            rows.refuse_missing(name, f"{role} {name!r}")

    def require_visible(self, names: Iterable[str], subject: str) -> None:
        for name in names:
            if name in self.hidden:
                raise UsageError(
                    f"{subject} names {name!r}, the {self.hidden[name]}; a policy decides without it, and must not see it."
                )

    def ids(self) -> Iterator[tuple[str, bool]]:
        """The columns of ids that may not come again, and whether they are those of units."""
        if self.id is not None:
            yield self.id, False
        yield from self.unit.ids()

    def limits(self, limits: Limits) -> Limits:
        """How far weights can lie from 1 in these logs, given how far those of a policy's decisions can."""
        return self.unit.limits(self.propensity.limits(limits))

    @property
    def audits(self) -> Iterator[Trait]:
        """The traits that are put to the test by what was counted of them."""
        return (trait for trait in self.traits if hasattr(trait, "audit"))

    def units_of(self, rows: Callable[[], int]) -> int | None:
        """How many units there are, where the number of rows tells; None where they have to be counted."""
        before = self.kept.before
        return before if before is not None else None if self.features & UNCOUNTED else rows()

    def batches(self, batches: Iterator[TableBatch]) -> Iterator[TableBatch]:
        """The rounds that are asked about, with their units whole."""
        whole = self.unit.whole(batches)
        return self.reward.settled(self.which.chosen(whole, next((name for name, _ in self.unit.ids()), None)))

    @property
    def pushed(self) -> Condition | None:
        """The condition by which a source may leave rows out."""
        return self.which.pushed() if self.unit.cuts else None

    def judged_by(self, column: str, reward_range: tuple[float, float], *, is_cost: bool) -> "Declaration":
        """The same decisions, judged by another outcome column, which every round has."""
        return replace(self, reward=self.reward.of_column(column, reward_range, is_cost=is_cost))

    def declared(self, **changes: Any) -> "Declaration":
        """The same with other values of these keywords."""
        return Declaration.of(**{**self.flat(), **changes})

    @property
    def is_complete(self) -> bool:
        """Whether nothing has to be found in a first pass."""
        return self.reward.is_complete and self.propensity.is_complete

    def found_in(self, known: "Declaration", *, counts: bool = True) -> "Declaration":
        """With what a first pass found of the same logs; of their loggers only if ``counts``."""
        awaited = {"as_of": not self.reward.is_complete, "logger_rounds": counts and not self.propensity.is_complete}
        found = known.flat()
        more = {name: found[name] for name, is_so in awaited.items() if is_so and name in found}
        return self.declared(**more) if more else self

    def completed(self, newest: Callable[[str], str], audited: Callable[["Declaration"], Any]) -> "Declaration":
        """With what a first pass finds: the newest time of a column, or what was counted for the propensities."""
        whole = replace(self, reward=self.reward.completed(newest))
        propensity = whole.propensity.completed(lambda trait: audited(replace(whole, propensity=trait)))
        return replace(whole, propensity=propensity)

    def remarks(self, excluded: int, left_out: int, judged: int, audits: Mapping[str, Any]) -> tuple[str, ...]:
        """What is said of rounds that were left out, and by traits of what they counted."""
        of_traits = (text for trait in self.audits if trait.slot in audits for text in trait.told(audits[trait.slot]))
        met = left_out + judged
        return (*self.which.remarks(excluded, met), *self.reward.remarks(left_out, judged), *of_traits)

    def assumptions(self) -> Iterator[str]:
        for trait in self.traits:
            yield from trait.assumes()

    def flat(self) -> dict[str, Any]:
        """As ``Logs`` takes it."""
        own = {name: value for name, about in OWN.items() if (value := getattr(self, name)) not in (None, ())}
        return {name: value for part in (*(trait.flat() for trait in self.traits), own) for name, value in part.items()}

    def describe(self) -> dict[str, Any]:
        """The declaration as JSON-ready values; ``from_description`` reads them back."""

        def plain(value: Any) -> Any:
            if hasattr(value, "describe"):
                return value.describe()
            return list(value) if isinstance(value, tuple) else value

        flat = {**self.flat(), "reward_range": self.reward.reward_range}
        return {name: plain(flat[name]) for name in FLAT if name in flat}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> "Declaration":
        unknown = description.keys() - FLAT.keys()
        if unknown:
            raise ValueError(f"unknown fields in a description of logs: {', '.join(sorted(unknown))}")
        return cls.of(**description)


UNCOUNTED = frozenset({"clusters", "where", "settled rewards"})
"""Features of logs whose units are not their rows."""
OWN: Mapping[str, FieldOfTrait] = {
    item.name: item.metadata["given"] for item in fields(Declaration) if "given" in item.metadata
}
FLAT: Mapping[str, FieldOfTrait] = {
    **{name: about for kinds in SLOTS.values() for kind in kinds for name, about in fields_of(kind).items()},
    **OWN,
}
"""Every keyword of ``Logs``, with what is said of it."""


def fields_of_all_traits() -> Iterator[tuple[str, FieldOfTrait, Any]]:
    """Every field with what it says of itself, and its default; what is known of rewards first."""
    for slot in ("reward", "propensity", "unit", "kept", "which"):
        for kind in reversed(SLOTS[slot]):
            yield from (
                (item.name, item.metadata["given"], item.default) for item in fields(kind) if "given" in item.metadata
            )
    yield from (
        (item.name, item.metadata["given"], item.default) for item in fields(Declaration) if "given" in item.metadata
    )


def _filled(kinds: Sequence[type[Any]], left: dict[str, Any], own: Mapping[str, Any]) -> Any:
    """The trait that is meant, made of its own fields, which are taken from what is left."""
    kind = next((kind for kind in kinds if kind.fits(left)), None)
    if kind is None:
        raise UsageError(NO_PROPENSITY)
    shared = {item.name: own[item.name] for item in fields(kind) if item.metadata.get("shared") and item.name in own}
    return kind(**{name: left.pop(name) for name in fields_of(kind) if name in left}, **shared)


def _refuse_stray(name: str, slots: Mapping[str, Trait]) -> None:
    """Refuse what belongs to no trait of these logs."""
    for trait in slots.values():
        if name in trait.refuses:
            raise UsageError(trait.refuses[name])
    if name not in FLAT:
        raise TypeError(f"Logs has no argument {name!r}.")
    owners = [kind for kinds in SLOTS.values() for kind in kinds if name in fields_of(kind)]
    raise UsageError(f"{name}= belongs to {', '.join(kind.__name__ for kind in owners)}, which these logs do not declare.")
