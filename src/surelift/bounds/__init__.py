"""Sums become a number that holds: one file per theorem, one line each in ``BOUNDS``.

Each line can be called with its options, for ``method=``:

>>> moments(order=3).options
{'order': 3, 'regularizer': 'clipping'}
"""

from collections.abc import Mapping
from typing import Any

from surelift.bounds.blocks import BLOCKS_BOUND
from surelift.bounds.bound import Bound, BoundChoice, Promise
from surelift.bounds.independent_rounds import bootstrap, efron_stein, empirical_bernstein, normal
from surelift.bounds.mixture import MIXTURE
from surelift.bounds.single_smoothing import implicit_exploration, logarithmic_smoothing, moments, second_moment

__all__ = [
    "BOUNDS", "Bound", "BoundChoice", "Promise", "blocks", "bootstrap", "efron_stein", "empirical_bernstein",
    "implicit_exploration", "logarithmic_smoothing", "mixture", "moments", "normal", "second_moment",
]  # fmt: skip

# Their modules have the same names.
mixture: Any = MIXTURE
blocks: Any = BLOCKS_BOUND
BOUNDS: Mapping[str, Bound] = {
    bound.name: bound
    for bound in (
        mixture, blocks, logarithmic_smoothing, second_moment, moments, implicit_exploration,
        empirical_bernstein, efron_stein, normal, bootstrap,
    )
}  # fmt: skip
