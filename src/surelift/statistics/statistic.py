"""What a statistic is: something that adds up over rounds, in every group they are split into."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, get_origin

import numpy as np

from surelift.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from surelift.batch import Batch
    from surelift.statistics.groups import Groups

INFINITE = float("inf")


class Statistic(Protocol):
    """Frozen and hashable: a statistic is the key under which its states are kept.

    A state is a frozen value with ``+``, small whatever the number of rounds: an array, or a dataclass.
    """

    label: ClassVar[str]
    """Its name, for an engine that cannot add it up."""
    needs_order: ClassVar[bool] = False
    """It needs the whole log in its order, in one process."""
    works_with: ClassVar[type | None] = None
    """Those that are made sooner together."""
    looks_at_rows: ClassVar[bool] = False
    """It looks at the columns of the rows alone, and at no number that is made of them."""
    optional: ClassVar[bool] = False
    """An answer does without it, where an engine cannot add it up or a state was saved before it was kept."""
    state: ClassVar[Any] = FloatArray
    columns: ClassVar[tuple[str, ...]] = ()
    """Those it looks at beside those of the log and the policies."""

    def of(self, batch: "Batch", groups: "Groups") -> Sequence[Any]:
        """The state of every group of a batch without faults."""

    @classmethod
    def of_all(cls, statistics: "Sequence[Any]", batch: "Batch", groups: "Groups") -> list[Sequence[Any]]:
        return [statistic.of(batch, groups) for statistic in statistics]

    def absent(self) -> Any:
        """The state where it was not kept, of an optional one."""
        return None

    def encode(self, state: Any) -> Any:
        """A state as JSON keeps it, to the last bit."""
        return _encoded(state)

    def decode(self, content: Any) -> Any:
        return _decoded(self.state, content)


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return value.encode() if hasattr(value, "encode") else [_encoded(getattr(value, of.name)) for of in fields(value)]
    if isinstance(value, frozenset):
        return sorted(value)
    return None if value == INFINITE else value


def _decoded(kind: Any, content: Any) -> Any:
    if is_dataclass(kind):
        if hasattr(kind, "decode"):
            return kind.decode(content)
        pairs = zip(fields(kind), content, strict=True)
        return kind(*(_decoded(of.type, each) for of, each in pairs))  # type: ignore[operator]
    if kind in (FloatArray, IntArray):
        return np.array(content, dtype=np.float64 if kind == FloatArray else np.int64)
    if kind is float and content is None:
        return INFINITE
    if isinstance(content, list):
        return frozenset(content) if get_origin(kind) is frozenset else tuple(content)
    return content
