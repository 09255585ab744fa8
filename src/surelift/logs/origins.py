"""What something was learned from: a memory of rounds by their actions and contexts, which tells that they cannot judge it.

Rewards and propensities are left out, so that another reward of the same rounds, or another declaration, does not hide
them. At most ``MOST`` hashes are kept for each length of a run: about 130 kB in a file. Found are 14 equal rounds that no
others resemble, or 100 consecutive ones; of logs that are longer than ``MOST``, one round in a hundred of the longer log.
Other rounds are taken for the same with the small probabilities of ``logs/seen.py``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from surelift.logs.seen import SeenRounds

if TYPE_CHECKING:
    from surelift.arrays import IntArray
    from surelift.logs.rows import Rows

MOST = 1 << 12
Contexts = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    memories: Mapping[Contexts, SeenRounds] = field(default_factory=dict)
    """By the contexts that were hashed."""

    @classmethod
    def of(cls, rows: "Rows", action: "IntArray", several: Iterable[Contexts]) -> "Origins":
        """The rounds of a batch, remembered by each of several lists of contexts."""
        from surelift.logs.context_words import (
            words_of_contexts,
        )  # reads columns, which a policy that is served does not

        return cls({contexts: SeenRounds.of(words_of_contexts(rows, action, contexts), MOST) for contexts in several})

    def __add__(self, other: "Origins") -> "Origins":
        nothing, every = SeenRounds(), self.memories | other.memories  # type: ignore[operator]
        return Origins({
            contexts: self.memories.get(contexts, nothing) + other.memories.get(contexts, nothing) for contexts in every
        })  # fmt: skip

    def overlaps(self, other: "Origins") -> bool:
        """Whether some rounds are in both, as far as can be told."""
        shared = self.memories.keys() & other.memories.keys()
        return any(self.memories[contexts].overlaps(other.memories[contexts]) for contexts in shared)

    def encode(self) -> list[Any]:
        """As JSON keeps it."""
        return [[list(contexts), seen.encode()] for contexts, seen in self.memories.items()]

    @classmethod
    def decode(cls, content: list[Any]) -> "Origins":
        return cls({tuple(map(str, contexts)): SeenRounds.decode(seen) for contexts, seen in content})
