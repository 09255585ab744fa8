"""Empirical Bernstein on clipped weights."""

import math
from collections.abc import Callable

from surelift.bounds.bound import INDEPENDENT, THREE_COLUMNS, Bound
from surelift.bounds.mixture import rounded_down
from surelift.errors import positive
from surelift.quantities import Quantity
from surelift.quantities.regularizers import Clipping
from surelift.statistics.plan import Moment, Needed
from surelift.statistics.sums import TermSums


def plan(*, quantity: Quantity, offset: float, count: Callable[[], int], clip: float | None = None) -> Needed:
    """Clipped at sqrt(rounds) unless a clip is named."""
    clipping = Clipping(math.sqrt(count()) if clip is None else positive("clip", clip))
    return Needed(moments=(Moment(clipping), Moment(clipping, 2)), any_looks=False)


def unfloored(sums: TermSums, *, delta: float) -> float:
    r"""Bound a value from below with probability at least 1 - delta, for independent rounds and one look.

    .. math:: \bar{z} - \sqrt{\frac{2 \widehat{V} \log(2/\delta)}{n}} - \frac{7 M \log(2/\delta)}{3 (n - 1)},
              \qquad z = \min(w, M)\, r

    with the unbiased variance; Maurer and Pontil (2009), Swaminathan and Joachims (2015).
    """
    mean, squares = sums.needed.moments
    clipping = mean.regularizer
    assert isinstance(clipping, Clipping)
    if sums.rounds < 2:
        return -math.inf
    centre, penalty = sums.mean(mean), math.log(2.0 / delta)
    variance = max(0.0, sums.moments[squares] - sums.rounds * centre * centre) / (sums.rounds - 1)
    spread = math.sqrt(2.0 * variance * penalty / sums.rounds)
    return centre - spread - 7.0 * clipping.clip * penalty / (3.0 * (sums.rounds - 1))


def lower_bound(sums: TermSums, *, delta: float) -> float:
    return rounded_down(unfloored(sums, delta=delta))


EMPIRICAL_BERNSTEIN = Bound(
    name="empirical-bernstein",
    promise="one look",
    says="Clips the weights and pays for their empirical variance and their range. It holds for independent rounds at "
    "one look at a number of rounds fixed in advance, and is wide unless there are many.",
    proved="Maurer and Pontil (2009); Swaminathan and Joachims (2015)",
    needs=THREE_COLUMNS, options=("clip",), assumes=(INDEPENDENT,),
    paired=False, plan=plan,
    lower_bound=lower_bound,
)  # fmt: skip
