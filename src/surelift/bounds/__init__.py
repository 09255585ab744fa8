"""Sums become a number that holds: one file per theorem, one line each in ``BOUNDS``.

Each line can be called with its options, for ``method=``:

>>> moments(order=3).options
{'order': 3, 'regularizer': 'clipping'}
"""

from collections.abc import Mapping
from typing import Any

from surelift.bounds.blocks import BLOCKS_BOUND
from surelift.bounds.bootstrap import BOOTSTRAP
from surelift.bounds.bound import Bound, BoundChoice, Promise
from surelift.bounds.efron_stein import EFRON_STEIN
from surelift.bounds.empirical_bernstein import EMPIRICAL_BERNSTEIN
from surelift.bounds.implicit_exploration import IMPLICIT_EXPLORATION
from surelift.bounds.logarithmic_smoothing import LOGARITHMIC_SMOOTHING
from surelift.bounds.mixture import MIXTURE
from surelift.bounds.moments import MOMENTS, SECOND_MOMENT
from surelift.bounds.normal import NORMAL

__all__ = [
    "BOUNDS", "Bound", "BoundChoice", "Promise", "blocks", "bootstrap", "efron_stein", "empirical_bernstein",
    "implicit_exploration", "logarithmic_smoothing", "mixture", "moments", "normal", "second_moment",
]  # fmt: skip

BOUNDS: Mapping[str, Bound] = {
    bound.name: bound
    for bound in (
        MIXTURE, BLOCKS_BOUND, LOGARITHMIC_SMOOTHING, SECOND_MOMENT, MOMENTS, IMPLICIT_EXPLORATION,
        EMPIRICAL_BERNSTEIN, EFRON_STEIN, NORMAL, BOOTSTRAP,
    )
}  # fmt: skip

mixture: Any = MIXTURE
blocks: Any = BLOCKS_BOUND
logarithmic_smoothing: Any = LOGARITHMIC_SMOOTHING
second_moment = SECOND_MOMENT
moments: Any = MOMENTS
implicit_exploration: Any = IMPLICIT_EXPLORATION
empirical_bernstein: Any = EMPIRICAL_BERNSTEIN
efron_stein: Any = EFRON_STEIN
normal: Any = NORMAL
bootstrap: Any = BOOTSTRAP
