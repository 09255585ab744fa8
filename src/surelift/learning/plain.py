"""Plain estimates to maximise over any differentiable policy; the result is certified on rounds that were held out.

Of the paper, Equation 23 is the first: the mean of log(1 + lambda w r)/lambda.
"""

from dataclasses import dataclass
from typing import Any, Literal

from surelift.learning.examples import Examples
from surelift.learning.objective import namespace

Kind = Literal["logarithmic-smoothing", "ips", "snips", "doubly-robust"]


@dataclass(frozen=True, slots=True)
class PlainEstimate:
    """What ``Objective`` is for certified ones: an estimate of the value, from probabilities of the rounds of a batch."""

    kind: Kind
    smoothing: float = 0.0

    @property
    def every_action(self) -> bool:
        return self.kind == "doubly-robust"

    def estimate(self, examples: Examples, probabilities: Any) -> Any:
        """The estimate from the probability of the logged action, (rounds,), or of every action, (rounds, actions)."""
        xp = namespace(examples.reward)
        if self.kind == "doubly-robust":
            rows = xp.arange(len(examples))
            weight = probabilities[rows, examples.action] / examples.propensity
            surprise = examples.reward - examples.predicted[rows, examples.action]
            return ((probabilities * examples.predicted).sum(1) + weight * surprise).mean()
        weight = probabilities / examples.propensity
        if self.kind == "logarithmic-smoothing":
            return (xp.log1p(self.smoothing * weight * examples.reward) / self.smoothing).mean()
        if self.kind == "snips":
            return (weight * examples.reward).sum() / weight.sum()
        return (weight * examples.reward).mean()
