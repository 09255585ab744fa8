"""Log sums: for every component of a bound, the sum of log(1 + smoothing (term + offset)).

Beside them, for every component with a control, the sum of term + offset: what its terms estimate. Without a control that
is a moment of the term, which is added up anyway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch, Pieces
from surelift.controls import MaxWeightControl, ScoreControl, WeightControl
from surelift.controls.score import controlled_by_score
from surelift.controls.weights import KnownDistributions
from surelift.errors import LogsError
from surelift.kernels.control import ControlComponents, ControlledTerms, UnitsOfRounds, controlled_log_sums
from surelift.kernels.loop import LoopSums
from surelift.logs.units import Piece
from surelift.quantities import Quantity
from surelift.statistics.groups import Groups
from surelift.statistics.looped import Looped, Wanted
from surelift.statistics.plan import Component

# A term below its floor by more than rounding shows that an assumption is false.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LogSums(Looped):
    """The state is an array with a log sum for each component, and then a sum for each that is controlled."""

    label: ClassVar[str] = "the log sums of a bound"
    candidate: str
    quantity: Quantity
    offset: float
    components: tuple[Component, ...]
    smallest: tuple[tuple[str, float], ...] = ()
    """Where control counts a weight from, by policy: the smallest it can be, else 0."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Components are many, and their hash is asked for again and again.
        object.__setattr__(self, "_hash", hash((self.candidate, self.quantity, self.components)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        # The hash of a text differs from process to process.
        return LogSums, (self.candidate, self.quantity, self.offset, self.components, self.smallest)

    def wanted(self, simple: bool) -> list[Wanted]:
        """A line for the components of one control and one offset, which differ in their smoothing alone."""
        pieces = self.quantity.pieces(self.candidate)
        return [
            Wanted(_less(pieces, control), offset=offset, smoothings=tuple(self.components[k].smoothing for k in columns))
            for (control, offset), columns in _alike(self).items()
        ]

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[FloatArray]:
        count = len(self.components)
        totals, besides = np.zeros((2, len(groups), count))
        for place, ((control, offset), columns) in zip(places, _alike(self).items(), strict=True):
            if sums.deepest[place] > ROUNDING:
                self.refuse_floor(float(sums.deepest[place]) * (1.0 + offset))
            totals[:, columns] = sums.totals[place]
            if control is not None:
                besides[:, columns] = (sums.moments[:, place, 0] + offset * groups.mass(batch))[:, None]
        for kind, added_up in ((WeightControl, self._by_weights), (ScoreControl, self._by_score)):
            capped = [column for column, part in enumerate(self.components) if isinstance(part.control, kind)]
            if capped:
                parts = [self.components[column] for column in capped]
                totals[:, capped], besides[:, capped] = added_up(batch, groups, parts)
        return list(np.hstack([totals, besides[:, controlled(self.components)]]))

    def _by_score(self, batch: Batch, groups: Groups, parts: Sequence[Component]) -> tuple[FloatArray, FloatArray]:
        """(groups, components), of those that subtract a capped share of what a score predicts, and add back its mean."""
        pieces = self.quantity.pieces(self.candidate)
        return self._capped(batch, groups, parts, batch.padding(pieces), lambda by_score, share: controlled_by_score(
            batch, pieces, share, by_score=by_score
        ))  # fmt: skip

    def _by_weights(self, batch: Batch, groups: Groups, parts: Sequence[Component]) -> tuple[FloatArray, FloatArray]:
        """(groups, components), of those that subtract a capped share of the weights and add back its mean."""
        known, pieces = KnownDistributions(batch), self.quantity.pieces(self.candidate)
        names = self.quantity.taken_off(self.candidate, 0.5, None)
        smallest = {**dict.fromkeys(names, 0.0), **dict(self.smallest)}
        values, padding = known.terms(pieces), batch.padding(pieces, {name: known.weights(name) for name in names})

        def terms_of(by_model: bool, share: float) -> ControlledTerms:
            return known.controlled(values, self.quantity, self.candidate, share=share, by_model=by_model, smallest=smallest)

        totals, sums = self._capped(batch, groups, parts, padding, terms_of)
        return totals - groups.units.sums(np.log1p(batch.overstated))[:, None], sums

    def _capped(
        self, batch: Batch, groups: Groups, components: Sequence[Component], padding: Any, terms_of: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Of components by whether something predicts, and the share: those alike differ in their cap alone."""
        totals, sums = np.zeros((2, len(groups), len(components)))
        order = sorted(range(len(components)), key=lambda column: _share(components[column]))
        units = UnitsOfRounds(
            batch.units.count, len(groups), groups.units.codes, batch.units.starts, batch.units.divisor, padding,
            batch.keep if batch.scale is not None else None,
        )  # fmt: skip
        for (predicted, share), group in groupby(order, key=lambda column: _share(components[column])):
            columns = list(group)
            parts: list[Any] = [components[column] for column in columns]
            caps, offsets, smoothings = (
                np.array(each)
                for each in zip(*((part.control.cap, part.offset, part.smoothing) for part in parts), strict=True)
            )
            found = controlled_log_sums(terms_of(predicted, share), units, ControlComponents(caps, offsets, smoothings))
            totals[:, columns], sums[:, columns], deepest = found
            if deepest > ROUNDING:
                self.refuse_floor(deepest)
        return totals, sums

    def refuse_floor(self, below: float) -> None:
        raise LogsError(
            f"policy {self.candidate!r}: a weight lies outside what was declared possible: a term lies {below:.6g} "
            "below its floor.\nA smallest or largest weight must follow from how the policy is built, as in "
            "blend(policy, alpha); with a false one nothing can be certified."
        )


@lru_cache(maxsize=1024)
def controlled(components: tuple[Component, ...]) -> list[int]:
    """The places of the components with a control."""
    return [place for place, part in enumerate(components) if part.control is not None]


@lru_cache(maxsize=1024)
def _alike(term: LogSums) -> Mapping[tuple[MaxWeightControl | None, float], list[int]]:
    columns = dict[tuple[MaxWeightControl | None, float], list[int]]()
    for column, part in enumerate(term.components):
        if part.control is None or isinstance(part.control, MaxWeightControl):
            columns.setdefault((part.control, part.offset), []).append(column)
    return columns


def _less(pieces: Pieces, control: MaxWeightControl | None) -> Pieces:
    """A term without a share of the weights minus 1."""
    shares = () if control is None else control.shares
    return (*pieces, *(Piece(name, True, -share, -share) for name, share in shares))


def _share(component: Component) -> tuple[bool, float]:
    control: Any = component.control
    return (control.by_score if isinstance(control, ScoreControl) else control.by_model), control.share
