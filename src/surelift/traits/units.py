"""The unit slot: what counts as one? Every row; the rows of a cluster; or those of a sequence, each decided after others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import whole
from surelift.logs import faults
from surelift.logs.columns import decode, inexact
from surelift.logs.decisions import Limits
from surelift.logs.faults import Finding
from surelift.logs.rows import Rows
from surelift.logs.units import Sequences, Units
from surelift.traits.trait import Trait, column, count_or_column, derived, given

if TYPE_CHECKING:
    from surelift.batch import Batch
    from surelift.logs.rewards import Scale
    from surelift.statistics.statistic import Groups

NEED_CLUSTER = "cluster_size= and cluster_max= need cluster=, the column of cluster ids."
NEED_ONE = (
    "cluster= needs exactly one of cluster_size= (the number of rounds in each cluster, known before its first action: a "
    "number or a column) and cluster_max= (a declared upper limit on that number), and rows sorted by cluster. A size that "
    "depends on outcomes, as when users retry until they succeed, would void the guarantee."
)
POSITION = (
    "position= is the order of the rounds in a cluster, each decided after those before: it needs cluster=, and does not go "
    "with an embedding."
)
APART = (
    "clusters are independent of each other and production did not adapt while they lasted, or each had ended before the "
    "next began; a cluster counts by what was to be expected of it when it began, and at more than one look those count "
    "that began before a moment, once all of these have ended"
)
LATER_ACTIONS = "what a round earned does not depend on the actions of later rounds{}"
GIVEN_BEFORE = (
    "the probabilities of a position, production's and the candidates', are those given everything before it in its "
    "cluster, and the candidate acts from the first position on"
)
NO_LATER_ACTIONS = (
    "the reward of a position does not depend on later actions: true by time in a session, an assumption (the cascade) in a "
    "ranking"
)


@dataclass(frozen=True, kw_only=True)
class EachRow(Trait):
    """Every round is a unit."""

    slot = "unit"
    assumes: tuple[str, ...] = derived((LATER_ACTIONS.format(""),))
    counted: ClassVar[Literal["rounds", "clusters"]] = "rounds"
    multiplies: ClassVar[bool] = False  # the weight of a row is that of all decisions up to it
    column: str | None = derived()  # the column that tells units apart, whose ids may not come again
    sums_up: bool = derived(True)
    """Shares of amounts are those of the total; not where clusters of unequal sizes count once each."""
    order: tuple[str, ...] = derived(())  # the column of units, and those that order the rows of one

    def limits(self, limits: Limits) -> Limits:
        """How far weights can lie from 1, given how far those of single decisions can."""
        return limits

    def read(self, rows: Rows) -> Units:
        return Units(rows.size)

    def amounts(self, scale: "Scale") -> tuple[str, ...]:
        """What amounts are about, where that is not a round."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Clusters(EachRow):
    """Rounds that belong together, such as those of a user, are one unit, and count as the mean of them."""

    named_by: ClassVar[tuple[str, ...]] = ("cluster", "cluster_size", "cluster_max")
    cluster: str = column(
        "cluster", "Column of the user, session or slate; its rounds count as one, and must follow each other. Needs one of "
        "the two flags below.", before=True, feature="clusters",
    )  # fmt: skip
    cluster_size: int | str | None = given(
        "Number of rounds in a cluster, known before its first action.", "N|COL", count_or_column, read="number_or_column",
        role="cluster_size", before=True, array=True,
    )  # fmt: skip
    cluster_max: int | None = given(
        "The most rounds a cluster can have, if sizes are not known in advance.", "N", whole, read="whole",
        feature="filled-up clusters",
    )  # fmt: skip
    counted = "clusters"
    others: ClassVar[str] = ", with the other rounds of the cluster as production played them"
    most: int | None = derived()  # the most rounds of a cluster, where that is one number declared in advance

    def problems(self) -> Iterator[str]:
        if self.cluster is None:
            yield NEED_CLUSTER
        if (self.cluster_size is None) == (self.cluster_max is None):
            yield NEED_ONE

    def derive(self) -> None:
        most = self.cluster_size if isinstance(self.cluster_size, int) else self.cluster_max
        once = f"every cluster of {self.cluster!r} counts once"
        if self.cluster_max is None:
            size = "the size of every cluster was known before its first action"
            once += f": a value is the mean over clusters of their average round{self.others}"
        else:
            size = f"no cluster can have more than {self.cluster_max} rounds"
            once += f", filled up to {self.cluster_max} rounds that earn the least, or cost the most, that a round can"
        assumes = (LATER_ACTIONS.format(" of other clusters"), APART, size, once)
        vars(self).update(column=self.cluster, most=most, sums_up=most is not None, order=(self.cluster,), assumes=assumes)

    def read(self, rows: Rows) -> Units:
        subject, batch = f"cluster {self.cluster!r}", rows.batch
        rows.refuse_missing(self.cluster, subject)
        column = decode(rows.table[self.cluster])
        rows.refuse(subject, faults.INEXACT, inexact(column), column)
        if batch.again is not None:
            rows.refuse(subject, faults.CLUSTER_AGAIN, batch.again, column)
        assert batch.cluster_starts is not None
        starts = batch.cluster_starts
        sizes = np.diff(starts)
        each = np.repeat(sizes, sizes)
        if self.cluster_max is not None:
            rows.refuse(f"{subject}, declared at most {self.cluster_max}", faults.CLUSTER_MAX, each > self.cluster_max, each)
            return Units(len(sizes), starts, np.full(len(sizes), float(self.cluster_max)))
        if isinstance(self.cluster_size, str):
            expected, _ = rows.numbers(self.cluster_size, f"cluster_size {self.cluster_size!r}")
        else:
            expected = np.full(rows.size, float(self.cluster_size or 0))
        rows.refuse(f"{subject}, its size", faults.CLUSTER_SIZE, expected != each, expected)
        return Units(len(sizes), starts, sizes.astype(np.float64))

    def amounts(self, scale: "Scale") -> tuple[str, ...]:
        count = self.cluster_max
        if count is None:
            return ("Amounts are means over clusters of their average round.",)
        padding = f"earn nothing; a cluster earns {count} times the value"
        if scale.is_cost:
            padding = f"cost {scale.high:g}, the maximum; a cluster saves {count} times the improvement"
        elif scale.low != 0.0:
            padding = f"earn {scale.low:g}, the minimum; a cluster gains {count} times the improvement"
        return (f"Amounts are per round, in clusters filled up to {count} rounds that {padding}.",)


@dataclass(frozen=True, kw_only=True)
class Steps(Clusters):
    """The rounds of a cluster are steps of a session, or positions of a ranking, each decided after those before."""

    named_by = ("position",)
    position: str = column(
        "position", "Column of the position in a cluster, from 0 or 1: each round is decided after those before, and "
        "probabilities are given them.", rare=True, feature="sequences",
    )  # fmt: skip
    is_audited = True
    multiplies = True
    others = ""

    def problems(self) -> Iterator[str]:
        if self.cluster is None:
            yield POSITION
        yield from super().problems()

    def derive(self) -> None:
        super().derive()
        vars(self).update(order=(self.cluster, self.position), assumes=(*self.assumes, GIVEN_BEFORE, NO_LATER_ACTIONS))

    def limits(self, limits: Limits) -> Limits:
        """The limits of products of weights."""
        if limits.drop in (0.0, 1.0) or self.most is None:
            return Limits(0.0, 0.0) if limits.drop == 0.0 else Limits()
        return Limits(1.0 - (1.0 - limits.drop) ** self.most)

    def read(self, rows: Rows) -> Sequences:
        units, subject = super().read(rows), f"position {self.position!r}"
        assert units.starts is not None
        assert units.divisor is not None
        positions, _ = rows.numbers(self.position, subject)
        firsts = units.starts[:-1]
        first = 0.0 if (positions[firsts] == 0.0).any() else 1.0
        expected = first + np.arange(rows.size) - np.repeat(firsts, np.diff(units.starts))
        rows.refuse(subject, faults.POSITION, rows.usable & (positions != expected), positions)
        return Sequences(units.count, units.starts, units.divisor)

    def audit(self, batch: "Batch", groups: "Groups") -> list[FloatArray]:
        """The number of clusters whose positions begin at 0, and of those that begin at 1."""
        first = batch.units.first(batch.rows.plain_numbers(self.position).values)
        return list(np.column_stack([groups.units.sums((first == start) * 1.0) for start in (0.0, 1.0)]))

    def judge(self, state: FloatArray, level: float) -> Iterator[Finding]:
        if state.all():
            at_zero, at_one = state.tolist()
            yield Finding(
                "refuse", f"position {self.position!r}", f"{at_zero:,.0f} clusters begin at 0, and {at_one:,.0f} at 1",
                "The first rounds of some are missing, or parts of the log count differently: the weight of a round needs "
                "all before it.",
            )  # fmt: skip
