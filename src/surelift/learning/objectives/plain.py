"""Off-policy estimates to maximise over any differentiable policy, which is then certified on held-out rounds.

Logarithmic smoothing is the paper's Equation 23, the mean of log(1 + lambda w r)/lambda. Its form linear in the policy p is
the mean of p log(1 + lambda r/q)/lambda.
"""

from dataclasses import dataclass
from typing import Any, Literal

from surelift.learning.data.dataset import Examples
from surelift.learning.tensors import namespace, positions

Kind = Literal["logarithmic-smoothing", "ips", "snips", "doubly-robust"]


@dataclass(frozen=True, slots=True)
class PlainEstimate:
    """An estimate of the value of a policy, from its probabilities in a batch of rounds."""

    kind: Kind
    smoothing: float = 0.0
    linear: bool = False  # whether only r/q is smoothed, so that the estimate is linear in the policy

    @property
    def every_action(self) -> bool:
        return self.kind == "doubly-robust"

    @property
    def sums(self) -> int:
        return 2 if self.kind == "snips" else 1

    def terms(self, examples: Examples, probabilities: Any) -> Any:
        """The terms of each round, (rounds, sums), from the probability of the logged action or of every action."""
        xp = namespace(examples.reward)
        if self.kind == "doubly-robust":
            rows = positions(examples.action)
            weight = probabilities[rows, examples.action] / examples.propensity
            residual = examples.reward - examples.predicted[rows, examples.action]
            return ((probabilities * examples.predicted).sum(1) + weight * residual)[:, None]
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
