"""Self-normalised importance weighting: the weighted mean of the rewards."""

from surelift.errors import LogsError
from surelift.statistics.plan import Moment
from surelift.statistics.sums import TermSums


def self_normalised(sums: TermSums, moment: Moment) -> float:
    """The sum of w r over the sum of w."""
    if sums.weights.total <= 0.0:
        raise LogsError("the policy would never take any logged action, so the self-normalised estimate is undefined.")
    return sums.moments[moment] / sums.weights.total
