"""Sums become a number that holds: one file per theorem, one line each in ``BOUNDS``."""

from surelift.bounds import (
    bootstrap,
    efron_stein,
    empirical_bernstein,
    implicit_exploration,
    logarithmic_smoothing,
    mixture,
    moments,
    normal,
)
from surelift.bounds.bound import Bound

__all__ = ["BOUNDS", "Bound"]

COLUMNS, VECTORS = "three columns", "both distributions"
INDEPENDENT = "rounds are independent: production did not adapt to what it saw, and nothing drifts"
COVERAGE = "production could take every action that the policies take"

BOUNDS: dict[str, Bound] = {
    "mixture": Bound(
        promise="any number of looks",
        says="Tries many smoothings at once, each with a share of the prior fixed beforehand, so that none has to be "
        "chosen and no number of rounds known. On its default grid it holds at every number of rounds at once, under "
        "adaptive logging, and whatever the weights.",
        proved="Theorem 1: a nonnegative supermartingale and Ville's inequality",
        needs=COLUMNS, options=("grid",), controls=("weights", "model"), paired=True, any_units=True, plan=mixture.plan,
        lower_bound=mixture.lower_bound,
    ),
    "logarithmic-smoothing": Bound(
        promise="any number of looks",
        says="The paper's bound: logarithms tame large weights, with a single smoothing fixed before the data is seen. "
        "It holds at any number of looks for a smoothing you name, and at one look for the default 1/sqrt(rounds), which "
        "is vacuous where rewards are rare.",
        proved="Sakhi et al. (2024), Corollary 5",
        needs=COLUMNS, options=("smoothing",), paired=True, any_units=True, plan=logarithmic_smoothing.plan,
        lower_bound=logarithmic_smoothing.lower_bound,
    ),
    "second-moment": Bound(
        promise="any number of looks",
        says="Clips w r at 1/smoothing and pays for its second moment: the paper's best bound of order 1. It is never "
        "narrower than logarithmic smoothing with the same smoothing, and holds wherever that does.",
        proved="Sakhi et al. (2024), Corollary 4",
        needs=COLUMNS, options=("smoothing",), paired=False, plan=moments.plan_second_moment,
        lower_bound=moments.lower_bound,
    ),
    "moments": Bound(
        promise="any number of looks",
        says="The paper's family: the first 2L moments of any regularizer that never exceeds w r. It is never narrower "
        "than logarithmic smoothing with the same smoothing, and holds wherever that does.",
        proved="Sakhi et al. (2024), Proposition 1",
        needs=COLUMNS, options=("smoothing", "order", "regularizer", "clip"), paired=False, plan=moments.plan,
        lower_bound=moments.lower_bound,
    ),
    "implicit-exploration": Bound(
        promise="any number of looks",
        says="Adds smoothing/2 to every propensity, which tames the weights. It is never narrower than logarithmic "
        "smoothing with the same smoothing, and holds wherever that does.",
        proved="Gabbianelli et al. (2024); Sakhi et al. (2024), Proposition 8",
        needs=COLUMNS, options=("smoothing",), paired=False, plan=implicit_exploration.plan,
        lower_bound=implicit_exploration.lower_bound,
    ),
    "empirical-bernstein": Bound(
        promise="one look",
        says="Clips the weights and pays for their empirical variance and their range. It holds for independent rounds at "
        "one look at a number of rounds fixed beforehand, and is wide unless there are many.",
        proved="Maurer and Pontil (2009); Swaminathan and Joachims (2015)",
        needs=COLUMNS, options=("clip",), assumes=(INDEPENDENT,),
        paired=False, plan=empirical_bernstein.plan,
        lower_bound=empirical_bernstein.lower_bound,
    ),
    "efron-stein": Bound(
        promise="none",
        says="Bounds the self-normalised estimate by redrawing production's actions many times. Its proxies are "
        "Monte-Carlo averages, so as computed it is not rigorous: it is here for comparison, and never certifies.",
        proved="Kuzborskij et al. (2021), but for the Monte-Carlo error",
        needs=VECTORS, options=("draws",), assumes=(INDEPENDENT, COVERAGE),
        paired=False, plan=efron_stein.plan, lower_bound=efron_stein.lower_bound,
        remark=efron_stein.remark,
    ),
    "normal": Bound(
        promise="asymptotic",
        says="The usual mean plus or minus a normal quantile of its standard error. It covers only in the limit of many "
        "rounds, fails where a few weights are large, and breaks when one looks twice: it never certifies.",
        proved="the central limit theorem, asymptotically",
        needs=COLUMNS, options=(), assumes=(INDEPENDENT, COVERAGE),
        paired=True, plan=normal.plan, lower_bound=normal.lower_bound,
        upper_bound=normal.upper_bound,
    ),
    "bootstrap": Bound(
        promise="asymptotic",
        says="The usual percentile bootstrap, with Poisson resamples. It covers only in the limit of many rounds, cannot "
        "know of the large weights it has not seen, and breaks when one looks twice: it never certifies.",
        proved="asymptotically",
        needs=COLUMNS, options=("draws",), assumes=(INDEPENDENT, COVERAGE),
        paired=True, plan=bootstrap.plan, lower_bound=bootstrap.lower_bound,
        upper_bound=bootstrap.upper_bound,
    ),
}  # fmt: skip
