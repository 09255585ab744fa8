"""What puts a trait of a log to the test: the trait says itself what is counted, and what it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Audit(Statistic):
    """The state is an array of numbers that add up."""

    label: ClassVar[str] = "the test of what was declared"
    slot: str

    def of(self, batch: Batch, groups: Groups) -> Sequence[FloatArray]:
        trait: Any = getattr(batch.declared, self.slot)
        found: Sequence[FloatArray] = trait.audit(batch, groups)
        return found
