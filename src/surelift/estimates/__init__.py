"""Point estimates from sums: one line each in ``ESTIMATES``."""

from surelift.estimates import doubly_robust
from surelift.estimates.estimate import Estimate, plug_ins, self_normalised
from surelift.quantities import regularizers

__all__ = ["ESTIMATES", "Estimate", "plug_ins"]

ESTIMATES: dict[str, Estimate] = {
    "ips": Estimate(
        says="The mean of w r: unbiased under full support, with high variance if weights are large.",
        seen="Horvitz and Thompson (1952); the paper, Equation 2"),
    "clipped": Estimate(
        says="The mean of min(w, clip) r: biased down, with bounded terms.",
        seen="Bottou et al. (2013); the paper, Equation 4", parameter="clip", regularizer=regularizers.Clipping),
    "exponential-smoothing": Estimate(
        says="The mean of p r / q^alpha: between weighting every round equally (0) and IPS (1).",
        seen="Aouali et al. (2023); the paper, Equation 4",
        parameter="alpha", regularizer=regularizers.ExponentialSmoothing),
    "implicit-exploration": Estimate(
        says="The mean of p r / (q + smoothing/2): biased down, with low variance if propensities are small.",
        seen="Gabbianelli et al. (2024); the paper, Equation 17",
        parameter="smoothing", regularizer=regularizers.ImplicitExploration),
    "shrinkage": Estimate(
        says="The mean of w t/(w^2 + t) r with strength t: large weights are shrunk towards zero.",
        seen="Su et al. (2020)", parameter="strength", regularizer=regularizers.Shrinkage),
    "harmonic": Estimate(
        says="The mean of w/(1 - s + s w) r with strength s in (0, 1]: weights are pulled towards 1 from both sides.",
        seen="Metelli et al. (2021)", parameter="strength", regularizer=regularizers.Harmonic),
    "global-clipping": Estimate(
        says="The mean of min(w r, 1/smoothing): the paper's best regularizer of order 1.",
        seen="the paper, Equation 11", parameter="smoothing", regularizer=regularizers.GlobalClipping),
    "ls": Estimate(
        says="The mean of log(1 + smoothing w r)/smoothing: logarithmic smoothing; a smoothing of 0 is IPS.",
        seen="the paper, Equation 14", parameter="smoothing", regularizer=regularizers.LogarithmicSmoothing),
    "ls-lin": Estimate(
        says="The mean of p log(1 + smoothing r/q)/smoothing: logarithmic smoothing made linear in the policy.",
        seen="the paper, Section 4.2", parameter="smoothing", regularizer=regularizers.LinearSmoothing),
    "snips": Estimate(
        says="The sum of w r over the sum of w: stays within the reward range, slightly biased, less variable than IPS.",
        seen="Swaminathan and Joachims (2015)", value=self_normalised),
    "dm": Estimate(
        says="The direct method: a reward model's expected reward under the policy. As good or as biased as the model.",
        seen="Beygelzimer and Langford (2009)", regularizer=doubly_robust.DirectMethod),
    "dr": Estimate(
        says="Doubly robust: the model's expected reward, plus w (r - predicted) to correct its errors.",
        seen="Dudik, Langford and Li (2011)", regularizer=doubly_robust.DoublyRobust),
    "sndr": Estimate(
        says="Doubly robust, with the correction divided by the sum of the weights: less variable, slightly biased.",
        seen="Thomas and Brunskill (2016)", regularizer=doubly_robust.DirectMethod,
        besides=(doubly_robust.Surprise(),), value=doubly_robust.self_normalised),
    "switch-dr": Estimate(
        says="Doubly robust if the weight is at most clip, else the model alone.",
        seen="Wang, Agarwal and Dudik (2017)", parameter="clip", regularizer=doubly_robust.SwitchDoublyRobust),
    "dr-os": Estimate(
        says="Doubly robust with optimistic shrinkage: w t/(w^2 + t) with strength t in place of w.",
        seen="Su et al. (2020)", parameter="strength", regularizer=doubly_robust.OptimisticShrinkage),
}  # fmt: skip
