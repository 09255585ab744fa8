"""Sums become a number that holds: one file per theorem, one line each in ``BOUNDS``."""

from surelift.bounds import logarithmic_smoothing, mixture
from surelift.bounds.bound import Bound

__all__ = ["BOUNDS", "Bound"]

BOUNDS: dict[str, Bound] = {
    "mixture": Bound(
        says=(
            "Tries many smoothings at once, each with a share of the prior fixed beforehand, so that none has to be "
            "chosen and no number of rounds known. On its default grid it holds at every number of rounds at once, "
            "under adaptive logging, and whatever the weights."
        ),
        proved="Theorem 1: a nonnegative supermartingale and Ville's inequality",
        options=frozenset({"grid"}),
        choose_grid=mixture.choose_grid,
        lower_bound=mixture.lower_bound,
    ),
    "logarithmic-smoothing": Bound(
        says=(
            "The paper's bound: logarithms tame large weights, with a single smoothing fixed before the data is seen. "
            "It holds at any number of looks for a smoothing you name, and at one look for the default "
            "1/sqrt(rounds), which is vacuous where rewards are rare."
        ),
        proved="Sakhi et al. (2024), Corollary 5",
        options=frozenset({"smoothing"}),
        choose_grid=logarithmic_smoothing.choose_grid,
        lower_bound=logarithmic_smoothing.lower_bound,
    ),
}
