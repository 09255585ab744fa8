"""The kept slot: what of the log is here? All of it, or what was kept of it by chance."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError, whole
from surelift.logs import faults
from surelift.logs.rows import Rows
from surelift.logs.units import Units
from surelift.traits.propensity import SMALLEST
from surelift.traits.trait import Trait, column, derived, given

ONCE = "no round comes twice, and none was left out because of its action or its reward"
NEED_CHANCE = (
    "rounds_before_sampling= means that rounds were dropped, so keep_probability= must name the column with the probability "
    "of keeping each round."
)


@dataclass(frozen=True, kw_only=True)
class All(Trait):
    slot = "kept"
    assumes: tuple[str, ...] = derived((ONCE,))

    scales: bool = derived(False)  # a unit stands for all of its kind, those that were dropped too

    def read(self, rows: Rows, units: Units) -> FloatArray | None:
        """How likely each unit was to be kept; None where all were."""
        return None

    def count(self, kept: int, production: Any) -> int:
        """How many units there were, given how many are here."""
        return kept


@dataclass(frozen=True, kw_only=True)
class Sampled(All):
    named_by = ("keep_probability", "rounds_before_sampling")
    keep_probability: str = column(
        "keep_probability", "Column of the probability with which a round was kept, if the log was sampled.", rare=True,
        hidden=True, feature="sampled",
    )  # fmt: skip
    rounds_before_sampling: int | None = given(
        "Number of rounds before sampling.", "N", whole, rare=True, read="whole", feature="counted before sampling"
    )

    def problems(self) -> Iterator[str]:
        if self.keep_probability is None:
            yield NEED_CHANCE

    def derive(self) -> None:
        # With the number of rounds before sampling lost, those kept are a log as they stand.
        is_known = self.rounds_before_sampling is not None
        chance = (
            "every round was kept independently, with the recorded probability, out of rounds_before_sampling"
            if is_known
            else "all rounds were kept with the same probability, and answers are about the rounds that were kept"
        )
        vars(self).update(scales=is_known, assumes=(f"{ONCE}, but by keep_probability", chance))

    def read(self, rows: Rows, units: Units) -> FloatArray | None:
        subject = f"keep_probability {self.keep_probability!r}"
        kept, tolerance = rows.numbers(self.keep_probability, subject)
        rows.refuse_outside(subject, faults.KEEP_PROBABILITY, kept, SMALLEST, 1.0 + tolerance)
        starts = units.starts
        if starts is not None:
            first = np.repeat(kept[starts[:-1]], np.diff(starts))
            rows.refuse(subject, faults.CLUSTER_VARIES, rows.usable & (kept != first), kept)
        return np.asarray(np.minimum(units.first(kept), 1.0))

    def count(self, kept: int, production: Any) -> int:
        before = self.rounds_before_sampling
        least, most = production.smallest_keep, production.largest_keep
        if before is None and least != most:
            raise LogsError(
                f"keep_probability {self.keep_probability!r} varies from {least:.4g} to {most:.4g}, and "
                "rounds_before_sampling is not known.\nFind that number: if the probability depended on the reward or the "
                "action, nothing can be certified without it. If it depended only on what was known before the action, "
                "leave keep_probability out: the rounds that were kept are then a log of their own, of the kept population."
            )
        if before is not None and before < kept:
            raise LogsError(
                f"rounds_before_sampling is {before:,}, but {kept:,} rounds were kept: it must count them all, also those "
                "that were dropped."
            )
        return kept if before is None else before
