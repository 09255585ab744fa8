"""Statistics that one compiled pass adds up together: what each wants of it, and how it is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from surelift.batch import Batch, Pieces
from surelift.kernels.loop import LoopPlan, LoopSums, LoopTerm, LoopUnits, PlainRows, WeighedRows, add_up
from surelift.logs.columns import plain_numbers, tolerance_of
from surelift.logs.fingerprint import Stage
from surelift.statistics.groups import Groups
from surelift.statistics.statistic import Statistic

# Smaller propensities are looked at more closely: the square of a weight could overflow.
SMALLEST_PROPENSITY = 1.0000001e-150


class Wanted(NamedTuple):
    """A line in the reward, of which the moments are added up, and log sums at these smoothings."""

    pieces: Pieces
    constants: tuple[float, float] = (0.0, 0.0)
    offset: float = 0.0
    smoothings: tuple[float, ...] = ()
    kept: bool = False


class Looped(Statistic):
    """A statistic made of lines; those of one key and outcome are added up in one pass."""

    __slots__ = ()

    def wanted(self, simple: bool) -> Sequence[Wanted]:
        """The lines it needs; of simple batches every row is a unit that stands for itself, in one group."""
        raise NotImplementedError

    def table(self) -> tuple[str, float] | None:
        """Of simple batches, the policy whose weights minus 1, divided by a number, are put into a table by reward."""
        return None

    def states(self, batch: Batch, groups: Groups, sums: LoopSums, places: Sequence[int]) -> Sequence[Any]:
        """The state of every group, from the sums of its lines, which stand at these places."""
        raise NotImplementedError

    def of(self, batch: Batch, groups: Groups) -> Sequence[Any]:
        return self.of_all([self], batch, groups)[0]

    @classmethod
    def of_all(cls, statistics: Sequence[Any], batch: Batch, groups: Groups) -> list[Sequence[Any]]:
        program = program_of(tuple(statistics), groups.codes is None and batch.plainly_counted)
        names = program.names
        rows = WeighedRows(
            batch.judged.earned, batch.judged.unlike_earned, batch.propensity,
            [batch.weights[name].weight for name in names], [batch.weights[name].excess for name in names],
        )  # fmt: skip
        found = add_up(program.plan, rows, program.units(batch, groups))
        assert found is not None
        return program.states(statistics, batch, groups, found)


Looped.works_with = Looped


@dataclass(frozen=True)
class Program:
    """What one pass adds up for some statistics."""

    names: tuple[str, ...]
    """The policies, in the order of the plan."""
    lines: tuple[Wanted, ...]
    plan: LoopPlan
    places: tuple[tuple[int, ...], ...]
    """Of each statistic, those of its lines."""

    def units(self, batch: Batch, groups: Groups) -> LoopUnits:
        units = batch.units
        padding = () if units.starts is None else [batch.padding(line.pieces) + line.constants[0] for line in self.lines]
        return LoopUnits(units.count, len(groups), groups.units.codes, units.starts, units.divisor, padding, batch.scale)

    def plain(self, batch: Batch) -> PlainRows | None:
        """The columns as they lie in memory, where that is all there is to them."""
        recipes = batch.recipes(self.names)
        if recipes is None or not self.plan.of_one:
            return None
        (reward, propensity, *of_policies), alphas, rows = *recipes, batch.rows
        columns = list[Any]()
        for recipe in (reward, propensity, *of_policies):
            plain = None if recipe.column in rows.as_text else plain_numbers(rows.table[recipe.column])
            if plain is None:
                return None
            columns.append(plain)
        most = [reward.most, *(1.0 + tolerance_of(column) for column in columns[1:])]
        limits = np.array([[reward.least, SMALLEST_PROPENSITY, *[0.0] * len(of_policies)], most])
        extra = rows.hashes.of(Stage.UNIT, Stage.KEPT)
        return PlainRows(columns, limits, (reward.zero, reward.divisor), np.array(alphas), extra)  # type: ignore[arg-type]

    def states(self, statistics: Sequence[Looped], batch: Batch, groups: Groups, sums: LoopSums) -> list[Sequence[Any]]:
        named = sums if sums.tables is None else replace(sums, tables=dict(zip(self.names, sums.tables, strict=True)))
        pairs = zip(statistics, self.places, strict=True)
        return [statistic.states(batch, groups, named, places) for statistic, places in pairs]


@lru_cache(maxsize=256)
def program_of(statistics: tuple[Looped, ...], simple: bool) -> Program:
    """Those that want one line without log sums share it with one that has them."""
    lines, wanted = list[Wanted](), [statistic.wanted(simple) for statistic in statistics]
    whole: dict[Any, int] = {}
    for line in (line for of_one in wanted for line in of_one if line.smoothings):
        whole.setdefault((line.pieces, line.constants), len(lines))
        lines.append(line)
    for line in (line for of_one in wanted for line in of_one if not line.smoothings):
        place = whole.setdefault((line.pieces, line.constants), len(lines))
        if place == len(lines):
            lines.append(line)
        elif line.kept:
            lines[place] = lines[place]._replace(kept=True)
    tables = dict(table for statistic in statistics if simple and (table := statistic.table()) is not None)
    names = tuple(sorted({piece.policy for line in lines for piece in line.pieces} | tables.keys()))
    numbers = {name: number for number, name in enumerate(names)}
    terms = tuple(
        LoopTerm(
            tuple((numbers[piece.policy], *piece[1:]) for piece in line.pieces),
            line.constants,
            line.offset,
            line.smoothings,
            line.kept,
        )
        for line in lines
    )
    taken, places = iter(range(len(lines))), list[tuple[int, ...]]()
    for of_one in wanted:
        places.append(tuple(next(taken) if line.smoothings else whole[line.pieces, line.constants] for line in of_one))
    drops = tuple(tables.get(name, 1.0) for name in names) if tables else ()
    return Program(names, tuple(lines), LoopPlan(len(names), terms, drops), tuple(places))
