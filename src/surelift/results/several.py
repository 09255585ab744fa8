"""Results of several policies, outcomes or segments, by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from surelift.results.result import Result
from surelift.views.text import some

R = TypeVar("R", bound=Result)


class Several(Result, Generic[R]):
    """A result of several parts of one kind, by name, in the field that ``held_in`` names."""

    __slots__ = ()
    held_in: ClassVar[str] = "results"

    @property
    def members(self) -> Mapping[str, R]:
        members: Mapping[str, R] = getattr(self, self.held_in)
        return members

    @property
    def first(self) -> R:
        return next(iter(self.members.values()))

    def __getitem__(self, name: str) -> R:
        return self.members[name]

    def lead(self) -> tuple[str, ...]:
        return self.first.lead()

    def records(self) -> list[dict[str, Any]]:
        return [self.record_of(name, record) for name, result in self.members.items() for record in result.records()]

    def record_of(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        """A record of the part with this name, with what tells it from the others."""
        return record


class ByName(Several[R], Mapping[str, R]):
    """Results of several policies, by name."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __bool__(self) -> bool:
        return bool(self.members)

    def sentence(self) -> str:
        return " ".join(some((result.sentence() for result in self.values()), "policies"))

    def parts(self) -> Iterable[Result]:
        return [part for result in self.values() for part in result.parts()]

    def bounded(self) -> Mapping[str, Any]:
        return {name: part for name, result in self.items() for part in result.bounded().values()}
