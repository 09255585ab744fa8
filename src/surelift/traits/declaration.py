"""``Declaration``: what the columns of a log mean, as one trait in each of five slots, and what tells its rounds apart."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from surelift import capabilities
from surelift.errors import UsageError
from surelift.logs.batch import TableBatch
from surelift.logs.chosen import chosen
from surelift.logs.ids import whole_clusters
from surelift.logs.rewards import Scale
from surelift.logs.where import Condition
from surelift.logs.wins import Wins
from surelift.traits.distribution import Distribution
from surelift.traits.draws import Drawn, law_from
from surelift.traits.kept import All, Sampled
from surelift.traits.labels import Labels
from surelift.traits.loggers import Loggers
from surelift.traits.propensity import Propensity
from surelift.traits.reward import Reward
from surelift.traits.trait import FieldOfTrait, Fields, Trait, column, derived, fields_of, given, read_back, texts
from surelift.traits.units import Clusters, EachRow, Steps
from surelift.traits.which import REMEDY, Every, Where

SLOTS: Mapping[str, tuple[type[Any], ...]] = {
    "propensity": (Loggers, Drawn, Distribution, Propensity),
    "reward": (Labels, Reward),
    "unit": (Steps, Clusters, EachRow),
    "kept": (Sampled, All),
    "which": (Where, Every),
}
"""The traits of each slot: the first of which a naming field was given is meant, or else the last."""
EACH_ROW, ALL, EVERY = EachRow(), All(), Every()
SHARED = ("contexts", "time")
"""Fields of the declaration itself, which are told to the traits that have a field of this name."""


def column_names(name: str, columns: Any) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else texts(name, columns)


@dataclass(frozen=True, kw_only=True)
class Declaration(Fields):
    """Everything known about a log before reading it."""

    propensity: Propensity
    reward: Reward
    unit: EachRow = EACH_ROW
    kept: All = ALL
    which: Every = EVERY
    contexts: tuple[str, ...] | None = given(
        "Columns known before the action.", "COL,COL,...", column_names, read="split", role="contexts", before=True,
        array=True,
    )  # fmt: skip
    time: str | None = column("time", "Column of the time of the decision.", feature="time", before=True)
    id: str | None = column("id", "Column that tells rounds apart: no id may come twice.", feature="id")
    assumes: tuple[str, ...] = given(
        "Assumptions of your own, which every answer then states.", "", texts, default=(), read=""
    )

    traits: tuple[Trait, ...] = derived()
    audits: tuple[Trait, ...] = derived()  # the traits that are put to the test by what was counted of them
    scale: Scale = derived()
    counted: Literal["rounds", "clusters"] = derived()  # the unit a bound counts in these logs
    plain: bool = derived()  # every row is a unit that stands for itself, and carries its reward
    is_complete: bool = derived()  # nothing has to be found in a first pass
    assumptions: tuple[str, ...] = derived()
    amounts: tuple[str, ...] = derived()  # what amounts are about, where that is not a round
    times: tuple[str, ...] = derived()  # the column of times, where there is one
    identifying_roles: tuple[tuple[str, str], ...] = derived()
    """The columns without which a row is refused, and which tell rounds apart that are alike otherwise."""
    ids: tuple[tuple[str, bool], ...] = derived()  # the columns of ids that may not come again; true for those of units
    identifying: tuple[str, ...] = derived()  # the columns whose entries are told apart: they must be of one kind throughout
    dealt_by: tuple[str, ...] = derived()
    """The column by which units are dealt into blocks, where not by the number of their row."""
    pushed: Condition | None = derived()
    """The condition by which a source may leave rows out: not before clusters are put together."""

    @classmethod
    def of(cls, **flat: Any) -> "Declaration":
        """Fill the slots from the keywords of ``Logs``."""
        left = {name: value for name, value in flat.items() if value is not None and value is not False}
        if isinstance(left.get("propensity"), Mapping):
            left["propensity"] = read_back("propensity", "density, nor wins", law_from, left["propensity"])
        own: dict[str, Any] = {}
        for name, about in OWN.items():
            if name in left and (value := left.pop(name)) is not about.default:
                own[name] = about.check(name, value)
        slots, are_draws = dict[str, Any](), isinstance(left.get("propensity"), Wins)
        for slot, kinds in SLOTS.items():
            named = [each for each in kinds if left.keys() & set(each.named_by) or (each is Drawn and are_draws)]
            kind = [*named, kinds[-1]][0]
            if kind not in DEFAULTS:
                # Of defaults there is one of each.
                known = {name: left.pop(name) for name in fields_of(kind).keys() & left.keys() - kind.refuses.keys()}
                slots[slot] = kind(**known, **{name: own[name] for name in SHARED if name in own and hasattr(kind, name)})
        declared = cls(**slots, **own)
        for name in left:
            if name not in FLAT:
                raise TypeError(f"Logs has no argument {name!r}.")
            owners = ", ".join([kind.__name__ for kinds in SLOTS.values() for kind in kinds if name in fields_of(kind)])
            belongs = f"{name}= belongs to {owners}, which these logs do not declare."
            raise UsageError(next((each.refuses[name] for each in declared.traits if name in each.refuses), belongs))
        return declared

    def derive(self) -> None:
        own, traits = vars(self), (self.propensity, self.reward, self.unit, self.kept, self.which)
        unit, identifying = self.unit.column, [named for named in self.columns if named[0] != "contexts"]
        units, ids, times = (() if name is None else (name,) for name in (unit, self.id, self.time))
        own.update(
            traits=traits, audits=tuple([trait for trait in traits if trait.is_audited]), scale=self.reward.scale,
            counted=self.unit.counted, plain=unit is None and not self.kept.scales and self.reward.known,
            is_complete=self.reward.is_complete and self.propensity.is_complete, assumptions=(), times=times,
            amounts=self.unit.amounts(self.reward.scale) if units else (), identifying_roles=tuple(identifying),
            identifying=(*ids, *times, *units, *self.which.chosen_by), pushed=None if units else self.which.condition,
            dealt_by=units or ids, ids=(*[(name, False) for name in ids], *[(name, True) for name in units]),
        )  # fmt: skip
        for trait in traits:
            own["assumptions"] += trait.assumes
            for merged in ("flat", "features", "hidden"):
                own[merged] |= getattr(trait, merged)
            own["columns"] += trait.columns
        if {"cost", "filled-up clusters"} <= self.features:
            own["features"] |= {"filled-up costs"}
        if capabilities.refusals(self.features):
            capabilities.check(self.features)
        for role, name in self.columns if self.which.chosen_by else ():
            if name in self.which.chosen_by and role not in KNOWN_BEFORE:
                raise UsageError(f"where= names {name!r}, declared as {role}: {REMEDY}.")
        if self.contexts:
            self.require_visible(self.contexts, "contexts=")

    def require_visible(self, names: Iterable[str], subject: str) -> None:
        for name in names:
            if name in self.hidden:
                raise UsageError(
                    f"{subject} names {name!r}, the {self.hidden[name]}; a policy decides without it, and must not see it."
                )

    def units_of(self, rows: Callable[[], int]) -> int | None:
        """How many units there are, where the number of rows tells; None where they have to be counted."""
        if self.kept.scales:
            return int(self.flat["rounds_before_sampling"])
        return None if self.features & UNCOUNTED else rows()

    def batches(self, batches: Iterator[TableBatch]) -> Iterator[TableBatch]:
        """The rounds that are asked about, with their units whole."""
        unit, condition = self.unit.column, self.which.condition
        whole = batches if unit is None else whole_clusters(batches, unit)
        asked = whole if condition is None else chosen(whole, condition, unit)
        return asked if self.reward.settled_after is None else self.reward.settled(asked)

    def row_by_row(self) -> "Declaration":
        """The same rows, each by itself."""
        return replace(self, unit=EACH_ROW)

    def judged_by(self, column: str, reward_range: tuple[float, float], *, is_cost: bool) -> "Declaration":
        """The same decisions, judged by another outcome column, which every round has."""
        own = self.reward
        role: Any = {"cost" if is_cost else "reward": column}
        settled: Any = {"settled_after": own.settled_after, "as_of": own.as_of, "time": self.time}
        return replace(self, reward=Reward(**role, reward_range=reward_range, **settled))

    def declared(self, **changes: Any) -> "Declaration":
        """The same with other values of these keywords."""
        return Declaration.of(**{**self.flat, **changes})

    def found_in(self, known: "Declaration", *, counts: bool = True) -> "Declaration":
        """The same with what a first pass found of these logs; of their loggers only if ``counts``."""
        awaited = {"as_of": not self.reward.is_complete, "logger_rounds": counts and not self.propensity.is_complete}
        more = {name: known.flat[name] for name, is_awaited in awaited.items() if is_awaited and name in known.flat}
        return self.declared(**more) if more else self

    def completed(self, newest: Callable[[str], str], audited: Callable[["Declaration"], Any]) -> "Declaration":
        """The same with what a first pass finds: the newest time of a column, or what was counted for the propensities."""
        whole = replace(self, reward=self.reward.completed(newest))
        propensity = whole.propensity.completed(lambda trait: audited(replace(whole, propensity=trait)))
        return replace(whole, propensity=propensity)

    def remarks(self, excluded: int, left_out: int, judged: int, audits: Mapping[str, Any]) -> tuple[str, ...]:
        """What is said of rounds that were left out, and by traits of what they counted."""
        found = self.which.remarks(excluded, left_out + judged) if excluded else ()
        found += self.reward.remarks(left_out, judged) if left_out else ()
        for trait in self.audits:
            if trait.slot in audits:
                found += trait.remarks_on(audits[trait.slot])
        return found

    def describe(self) -> dict[str, Any]:
        """The declaration as JSON-ready values; ``from_description`` reads them back."""
        flat, found = {**self.flat, "reward_range": self.reward.reward_range}, {}
        for name in FLAT:
            if name in flat:
                value = flat[name]
                plain = list(value) if isinstance(value, tuple) else value
                found[name] = value.describe() if hasattr(value, "describe") else plain
        return found

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> "Declaration":
        unknown = description.keys() - FLAT.keys()
        if unknown:
            raise ValueError(f"unknown fields in a description of logs: {', '.join(sorted(unknown))}")
        return cls.of(**description)


UNCOUNTED = frozenset({"clusters", "where", "settled rewards"})
"""Features of logs whose units are not their rows."""
DEFAULTS = (EachRow, All, Every)
OWN: Mapping[str, FieldOfTrait] = fields_of(Declaration)


def fields_of_all_traits() -> Iterator[tuple[str, FieldOfTrait]]:
    """Every field with what it says of itself; what is known of rewards first."""
    for slot in ("reward", "propensity", "unit", "kept", "which"):
        for kind in reversed(SLOTS[slot]):
            yield from fields_of(kind).items()
    yield from OWN.items()


FLAT: dict[str, FieldOfTrait] = {}
"""Every keyword of ``Logs``, with what is said of it: by the simplest trait that takes it."""
for _name, _about in fields_of_all_traits():
    FLAT.setdefault(_name, _about)
KNOWN_BEFORE = {about.role for about in FLAT.values() if about.before} | {"where"}
