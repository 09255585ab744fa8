"""Statistics that one compiled pass adds up together: what each wants of it, and how it is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from surelift.batch import LARGEST_WEIGHT, Batch
from surelift.kernels.library import compiled
from surelift.kernels.loop import LoopPlan, LoopSums, LoopTerm, LoopUnits, PlainRows, WeighedRows, add_up
from surelift.logs.fingerprint import Stage
from surelift.statistics.statistic import Groups, Statistic

# Smaller propensities are looked at more closely: the square of a weight could overflow.
SMALLEST_PROPENSITY = 1.0000001e-150


class Looped(Statistic):
    """A statistic made of lines in the reward; those of one key and outcome are added up in one pass."""

    def wanted(self, simple: bool) -> Sequence[LoopTerm]:
        """The lines it needs; in a simple batch every row is a unit that stands for itself, in one group."""
        return ()

    def table(self) -> tuple[str, float] | None:
        """The policy whose weights minus 1, divided by a number, are put into a table by reward, in a simple batch."""
        return None

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[Any]:
        """The state of every group, from the sums of its lines, which stand at these places."""
        raise NotImplementedError

    def of(self, batch: Batch, groups: Groups) -> Sequence[Any]:
        return self.of_all([self], batch, groups)[0]

    @classmethod
    def of_all(cls, statistics: Sequence[Any], batch: Batch, groups: Groups) -> list[Sequence[Any]]:
        program = program_of(tuple(statistics), groups.codes is None and batch.plainly_counted)
        weights = [batch.weights[name] for name in program.plan.policies]
        rows = WeighedRows(
            batch.judged.earned, batch.judged.unlike_earned, batch.propensity, [of.weight for of in weights],
            [of.excess for of in weights],
        )  # fmt: skip
        sums = program.add_up(rows, batch, groups)
        assert sums is not None
        return [statistic.states(batch, groups, sums, places) for statistic, places in program.places]


Looped.works_with = Looped


@dataclass(frozen=True)
class Program:
    """What one pass adds up for some statistics."""

    plan: LoopPlan
    places: tuple[tuple[Looped, tuple[int, ...]], ...]
    """The statistics, each with the places of its lines."""

    def add_up(self, rows: PlainRows | WeighedRows, batch: Batch, groups: Groups) -> LoopSums | None:
        units, padding = batch.units, list[Any]()
        codes = None if groups.codes is None else groups.units.codes
        if units.starts is not None:
            padding = [batch.padding(line.pieces) + line.constants[0] for line in self.plan.terms]
        return add_up(self.plan, rows, LoopUnits(
            units.count, len(groups.values), codes, units.starts, units.divisor, padding, batch.scale
        ))  # fmt: skip

    def add_up_columns(self, batch: Batch, groups: Groups) -> LoopSums | None:
        """Columns as they lie in memory; None where they have to be looked at more closely, or all were read already."""
        if compiled() is None or batch.is_read or batch.units.multiplies or not self.plan.of_one:
            return None
        asked = [batch.asked[name].recipe or (None, 0.0) for name in self.plan.policies]
        alphas, columns, most, rows = [alpha for _, alpha in asked], list[Any](), list[float](), batch.rows
        reward = batch.declared.reward.recipe
        for recipe in (reward, batch.declared.propensity.recipe, *(recipe for recipe, _ in asked)):
            plain = None if recipe is None else rows.in_memory(recipe.column)
            if plain is None:
                return None
            columns.append(plain[0])
            most.append(1.0 + plain[1])
        assert reward is not None
        limits = np.array([[reward.least, SMALLEST_PROPENSITY, *[0.0] * len(alphas)], [reward.most, *most[1:]]])
        scale = batch.scale  # read before the fingerprint asks which columns were
        extra: list[Any] = [*rows.hashes.columns[Stage.UNIT], *rows.hashes.columns[Stage.KEPT]]
        if rows.tallies or not (scale is None or (scale <= LARGEST_WEIGHT).all()):
            return None
        plain_rows = PlainRows(columns, limits, (reward.zero, reward.divisor), np.array(alphas), extra)
        sums = self.add_up(plain_rows, batch, groups)
        return sums if sums is not None and (sums.moments[:, :, 2] <= LARGEST_WEIGHT).all() else None


@lru_cache(maxsize=256)
def program_of(statistics: tuple[Looped, ...], simple: bool) -> Program:
    """Lines that one statistic wants without log sums are shared with another that wants them with some."""
    wanted = [statistic.wanted(simple) for statistic in statistics]
    lines = [line for of_one in wanted for line in of_one if line.smoothings]
    whole = dict[Any, int]()
    for place, line in enumerate(lines):
        whole.setdefault(line[:2], place)
    taken, places = iter(range(len(lines))), list[tuple[int, ...]]()
    for of_one in wanted:
        own = list[int]()
        for line in of_one:
            if line.smoothings:
                own.append(next(taken))
                continue
            own.append(whole.setdefault(line[:2], len(lines)))
            if own[-1] == len(lines):
                lines.append(line)
            elif line.kept:
                lines[own[-1]] = lines[own[-1]]._replace(kept=True)
        places.append(tuple(own))
    tables = dict(table for statistic in statistics if simple and (table := statistic.table()) is not None)
    names = tuple(sorted({piece[0] for line in lines for piece in line.pieces} | tables.keys()))
    drops = tuple(tables.get(name, 1.0) for name in names) if tables else ()
    return Program(LoopPlan(names, tuple(lines), drops), tuple(zip(statistics, places, strict=True)))
