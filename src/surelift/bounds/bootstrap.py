"""The percentile bootstrap, for comparison: Poisson resamples by row number."""

from collections.abc import Callable

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds.bound import COVERAGE, INDEPENDENT, THREE_COLUMNS, Bound
from surelift.errors import whole
from surelift.quantities import Quantity
from surelift.statistics.plan import Needed
from surelift.statistics.sums import TermSums


def plan(*, quantity: Quantity, offset: float, count: Callable[[], int], draws: int = 1_000) -> Needed:
    return Needed(
        offset=offset,
        resamples=whole("draws", draws, least=2, most=1_000_000),
        any_looks=False,
    )


def lower_bound(sums: TermSums, *, delta: float) -> float:
    """A quantile of the resampled means; covers in the limit of many rounds only."""
    return max(0.0 - sums.needed.offset, float(np.quantile(_means(sums), delta)))


def upper_bound(sums: TermSums, *, delta: float) -> float:
    return float(np.quantile(_means(sums), 1.0 - delta))


def _means(sums: TermSums) -> FloatArray:
    assert sums.resamples is not None
    totals, rounds = sums.resamples
    means: FloatArray = np.divide(totals, rounds, out=np.zeros_like(totals), where=rounds > 0)
    return means


BOOTSTRAP = Bound(
    name="bootstrap",
    promise="asymptotic",
    says="The usual percentile bootstrap, with Poisson resamples. It covers only in the limit of many rounds, cannot "
    "know of the large weights it has not seen, and breaks when one looks twice: it never certifies.",
    proved="asymptotically",
    needs=THREE_COLUMNS, options=("draws",), assumes=(INDEPENDENT, COVERAGE),
    paired=True, plan=plan, lower_bound=lower_bound,
    upper_bound=upper_bound,
)  # fmt: skip
