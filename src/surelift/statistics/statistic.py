"""What a statistic is: something that adds up over rounds, in every group they are split into."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from surelift.batch import Batch
    from surelift.statistics.groups import Groups


class Statistic:
    """Frozen and hashable: a statistic is the key under which its states are kept.

    A state is a frozen value with ``+``, small whatever the number of rounds: an array, or a dataclass of numbers.
    """

    __slots__ = ()
    label: ClassVar[str]
    """How people call it, for an engine that cannot add it up."""
    needs_order: ClassVar[bool] = False
    """Whether it needs the whole log in its order, in one process."""
    works_with: ClassVar[type | None] = None
    """Those that are made sooner together."""
    looks_at_rows: ClassVar[bool] = False
    """Whether it looks at the columns of the rows alone, and at no number that is made of them."""
    optional: ClassVar[bool] = False
    """Whether an answer does without it, where an engine cannot add it up or a state was saved before it was kept."""
    state: ClassVar[type | None] = None
    """The dataclass of its states; None where they are arrays."""

    def of(self, batch: "Batch", groups: "Groups") -> Sequence[Any]:
        """The state of every group of a batch without faults."""
        raise NotImplementedError

    def columns(self) -> tuple[str, ...]:
        """The columns it looks at beside those of the log and the policies."""
        return ()

    @classmethod
    def of_all(cls, statistics: "Sequence[Any]", batch: "Batch", groups: "Groups") -> list[Sequence[Any]]:
        """Those of several statistics of one kind."""
        return [statistic.of(batch, groups) for statistic in statistics]

    def absent(self) -> Any:
        """Of an optional one, the state where it was not kept."""
        raise NotImplementedError

    def encode(self, state: Any) -> Any:
        """A state as JSON keeps it, to the last bit."""
        if isinstance(state, np.ndarray):
            return state.tolist()
        if isinstance(state, int):
            return state
        return [_finite(getattr(state, field.name)) for field in fields(state)]

    def decode(self, content: Any) -> Any:
        """The state that was encoded."""
        if self.state is None:
            return np.array(content, dtype=np.float64)
        if self.state is int:
            return int(content)
        assert is_dataclass(self.state)
        names = [field.name for field in fields(self.state)]
        values = zip(names, content, strict=True)
        return self.state(**{name: _or_infinite(name, value) for name, value in values})


def _finite(number: Any) -> Any:
    return None if number == float("inf") else number


def _or_infinite(name: str, number: Any) -> Any:
    return float("inf") if number is None and name.startswith("smallest") else number
