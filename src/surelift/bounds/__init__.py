"""Sums become a number that holds: one file per theorem, one line each in ``BOUNDS``.

Each line can be called with its options, for ``method=``:

>>> moments(order=3).options
{'order': 3, 'regularizer': 'clipping'}
"""

from collections.abc import Mapping
from typing import Any

from surelift.bounds.blocks import BLOCKS_BOUND
from surelift.bounds.bound import Bound, BoundChoice, Promise
from surelift.bounds.independent_rounds import BOOTSTRAP, EFRON_STEIN, EMPIRICAL_BERNSTEIN, NORMAL
from surelift.bounds.mixture import MIXTURE
from surelift.bounds.single_smoothing import IMPLICIT_EXPLORATION, LOGARITHMIC_SMOOTHING, MOMENTS, SECOND_MOMENT

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
logarithmic_smoothing = LOGARITHMIC_SMOOTHING
second_moment = SECOND_MOMENT
moments = MOMENTS
implicit_exploration = IMPLICIT_EXPLORATION
empirical_bernstein = EMPIRICAL_BERNSTEIN
efron_stein = EFRON_STEIN
normal = NORMAL
bootstrap = BOOTSTRAP
