"""Plain estimates to maximise over any differentiable policy; the result is certified on rounds that were held out.

Of the paper, Equation 23 is the first: the mean of log(1 + lambda w r)/lambda. Where it must be linear in the policy p, it
is the mean of p log(1 + lambda r/q)/lambda.
"""

from dataclasses import dataclass
from typing import Any, Literal

from surelift import grids
from surelift.learning.examples import Examples, logged, positions
from surelift.learning.exponential import Improvement, plain_parts
from surelift.learning.objective import like, namespace

CAUTIOUS = Improvement(plain_parts(grids.anytime(), offset=1.0))
"""Bounds the improvement of a policy, from rounds it was not learned from: it tells which pass over the others went too far,
to weights of which the rounds held out would certify nothing."""
Kind = Literal["logarithmic-smoothing", "ips", "snips", "doubly-robust"]


@dataclass(frozen=True, slots=True)
class PlainEstimate:
    """What ``Objective`` is for certified ones: an estimate of the value, from probabilities of the rounds of a batch."""

    kind: Kind
    smoothing: float = 0.0
    linear: bool = False
    """Whether the smoothing is of r/q alone, so that the estimate is linear in the policy."""

    @property
    def every_action(self) -> bool:
        return self.kind == "doubly-robust"

    @property
    def sums(self) -> int:
        return 2 if self.kind == "snips" else 1

    def terms(self, examples: Examples, probabilities: Any) -> Any:
        """What each round adds to the sums, (rounds, sums), from the probability of the logged action or of every one."""
        xp = namespace(examples.reward)
        if self.kind == "doubly-robust":
            rows = positions(examples.action)
            weight = probabilities[rows, examples.action] / examples.propensity
            surprise = examples.reward - examples.predicted[rows, examples.action]
            return ((probabilities * examples.predicted).sum(1) + weight * surprise)[:, None]
        if self.linear and self.kind == "logarithmic-smoothing":
            smoothed = xp.log1p(self.smoothing * examples.reward / examples.propensity) / self.smoothing
            return (probabilities * smoothed)[:, None]
        weight = probabilities / examples.propensity
        if self.kind == "logarithmic-smoothing":
            return (xp.log1p(self.smoothing * weight * examples.reward) / self.smoothing)[:, None]
        if self.kind == "snips":
            return xp.stack((weight * examples.reward, weight), -1)
        return (weight * examples.reward)[:, None]

    def estimate(self, sums: Any, *, rounds: int) -> Any:
        return sums[..., 0] / (sums[..., 1] if self.kind == "snips" else rounds)


def caution(examples: Examples, probabilities: Any) -> Any:
    """What each round adds to the sums of ``CAUTIOUS``, (rounds, sums)."""
    own = probabilities if probabilities.ndim == 1 else logged(probabilities, examples.action)
    gain = (own / examples.propensity - 1.0) * examples.reward
    return namespace(gain).log1p(gain[:, None] * like(gain, CAUTIOUS.rates))
