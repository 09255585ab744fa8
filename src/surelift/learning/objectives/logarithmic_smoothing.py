r"""Objectives by logarithmic smoothing: one component per smoothing, mixed, or the best at delta/components (union bound).

With terms phi >= -kappa of rule a in round i and A_j = sum_i sum_a p_i(a) log(1 + mu_j phi_i(a)), with probability 1 - delta
for all Q and all n at once (THEORY, Theorems 3 and 4)

.. math:: \log \sum_j \pi_j \exp\bigl(A_j - n \log(1 + \mu_j V)\bigr) \le KL(Q \| P) + \log(1/\delta).

The theorems have factors 1 + lambda (phi + kappa) and 1 + lambda (V + kappa). Dividing both by 1 + lambda kappa leaves
mu = lambda/(1 + lambda kappa), and without that large constant single precision is enough for training.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surelift import grids
from surelift.bounds.mixture import root
from surelift.controls.weights import CAP, GROWTH
from surelift.grids import Grid
from surelift.learning.data.dataset import Examples
from surelift.learning.objectives.objective import Coefficients, PlainEstimate
from surelift.learning.tensors import like, namespace, positions


@dataclass(frozen=True, slots=True)
class ObjectivePart:
    """One component: the paper's lambda, kappa, its prior mass, and the share of a reward to predict (weight control)."""

    smoothing: float
    offset: float
    prior: float
    share: float = 0.0
    by_model: bool = False

    @property
    def rate(self) -> float:
        return self.smoothing / (1.0 + self.smoothing * self.offset)


@dataclass(frozen=True, slots=True)
class SmoothedObjective:
    """The components of a grid, combined by a mixture, or by a union bound as in the paper."""

    parts: tuple[ObjectivePart, ...]
    union: bool = field(default=False, kw_only=True)
    any_looks: bool = field(default=True, kw_only=True)
    paired: bool = field(default=False, kw_only=True)
    every_action: ClassVar[bool] = False
    signs: ClassVar[tuple[float, ...]] = (1.0,)

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        xp = namespace(sums)
        rate = like(sums, self.rates)
        # For each component, its log wealth at mean 0 minus the threshold.
        ahead = sums + like(sums, [math.log(part.prior) for part in self.parts])
        ahead = ahead - (divergence + math.log(1.0 / delta))[..., None]
        if self.union:
            return xp.amax(xp.expm1(ahead / rounds) / rate, -1)
        # Just above the smallest mean at which every factor is positive; no bound is lower.
        floor = -(1.0 - 1e-9) / max(self.rates)
        if xp is np:
            return root(ahead, rate, np.zeros(1), rounds=rounds, target=0.0, floor=floor)
        return newton_root(ahead, rate, rounds=rounds, floor=floor)

    @property
    def rates(self) -> tuple[float, ...]:
        return tuple(part.rate for part in self.parts)

    @property
    def sums(self) -> int:
        return len(self.parts)


def newton_root(ahead: Any, rate: Any, *, rounds: int, floor: float, steps: int = 5) -> Any:
    """``root`` for tensors of several problems: Newton steps from the best single component.

    Every iterate stays below the root, and the last step carries the gradient. The number of steps is fixed, so that a
    GPU never waits for a convergence test.
    """
    import torch

    def excess_and_slope(mean: Any) -> tuple[Any, Any]:
        """The mixture's log wealth above the threshold at ``mean``, and minus its derivative there."""
        growth = rate * mean[..., None]
        exponents = ahead - rounds * torch.log1p(growth)
        slope = rounds * (torch.softmax(exponents, -1) * rate / (1.0 + growth)).sum(-1)
        return torch.logsumexp(exponents, -1), slope

    with torch.no_grad():
        mean = torch.amax(torch.expm1(ahead / rounds) / rate, -1).clamp_min(floor)
        for _ in range(steps - 1):
            excess, slope = excess_and_slope(mean)
            mean = mean + (excess / slope).clamp_min(0.0)
    excess, slope = excess_and_slope(mean)
    return mean + excess / slope.detach()


@dataclass(frozen=True, slots=True)
class ValueObjective(SmoothedObjective):
    """LS-LIN: r/q for the logged action, 0 for any other."""

    def coefficients(self, examples: Examples) -> Coefficients:
        ratio = examples.reward / examples.propensity
        return Coefficients(own=namespace(ratio).log1p(ratio[:, None] * like(ratio, self.rates)))


@dataclass(frozen=True, slots=True)
class ImprovementObjective(SmoothedObjective):
    """Paired improvement over production: r/q - r for the logged action, -r for any other."""

    paired: bool = field(default=True, kw_only=True)

    def coefficients(self, examples: Examples) -> Coefficients:
        rate = like(examples.reward, self.rates)
        xp = namespace(rate)
        own = examples.reward / examples.propensity - examples.reward
        return Coefficients(xp.log1p(own[:, None] * rate), xp.log1p(-examples.reward[:, None] * rate))


@dataclass(frozen=True, slots=True)
class MomentsObjective(SmoothedObjective):
    """The Taylor sum of log(1 + y) to order 2 L in place of the logarithm, with max(q, clip) for q."""

    order: int = 1
    clip: float = 0.0
    union: bool = field(default=True, kw_only=True)

    def coefficients(self, examples: Examples) -> Coefficients:
        xp = namespace(examples.reward)
        ratio = examples.reward / xp.maximum(examples.propensity, like(examples.reward, self.clip))
        y = ratio[:, None] * like(ratio, self.rates)
        return Coefficients(own=sum((-1) ** (power + 1) * y**power / power for power in range(1, 2 * self.order + 1)))


@dataclass(frozen=True, slots=True)
class ControlledObjective(SmoothedObjective):
    """Weight control or a reward model: the predicted reward of an action, capped at k pi0, is a control variate.

    phi(a) = 1[a is logged] (r - q_k)/pi0 + q_k(a) >= -k with q_k = min(q, k pi0), where q is a constant share or a share of
    the model's prediction; for an improvement minus r, which is then at least -max(1, k).
    """

    every_action: ClassVar[bool] = True

    def coefficients(self, examples: Examples) -> Coefficients:
        xp, rate = namespace(examples.reward), like(examples.reward, self.rates)
        offset = like(examples.reward, [part.offset for part in self.parts])
        predicted = like(examples.reward, [0.0 if part.by_model else part.share for part in self.parts])[None, None, :]
        if any(part.by_model for part in self.parts):
            of_model = like(examples.reward, [part.share if part.by_model else 0.0 for part in self.parts])
            predicted = predicted + examples.predicted[:, :, None] * of_model
        logging = examples.logging[:, :, None]
        capped = xp.minimum(predicted + 0.0 * logging, offset * logging)  # (rounds, actions, parts)
        rows, action = positions(examples.action), examples.action
        own = (examples.reward[:, None] - capped[rows, action]) / logging[rows, action]
        term = capped if not self.paired else capped - examples.reward[:, None, None]
        term[rows, action] += own
        # Only rounding takes a term below -k.
        return Coefficients(every=xp.log1p(rate * xp.maximum(term, -offset)), fixed=-xp.log1p(examples.overstated))


def plain_parts(grid: Grid, *, offset: float, mass: float = 1.0) -> tuple[ObjectivePart, ...]:
    pairs = zip(grid.smoothings, grid.prior, strict=True)
    return tuple(ObjectivePart(smoothing, offset, mass * prior) for smoothing, prior in pairs)


def controlled_parts(
    grid: Grid, *, paired: bool, shares: tuple[float, ...] = (0.5, 1.0), by_model: bool = False, mass: float = 0.5
) -> tuple[ObjectivePart, ...]:
    """The same grid with control: k = (8/9)/beta, at least 1 for an improvement, and smoothing 9 beta."""
    parts: list[ObjectivePart] = []
    for beta, prior in zip(grid.smoothings, grid.prior, strict=True):
        cap = max(CAP / beta, 1.0) if paired else CAP / beta
        parts += [ObjectivePart(GROWTH * beta, cap, mass * prior / len(shares), share, by_model) for share in shares]
    return tuple(parts)


_IMPROVEMENT = ImprovementObjective(plain_parts(grids.anytime(), offset=1.0))


@dataclass(frozen=True, slots=True)
class ExpectedCertificate:
    """The bound to expect on the improvement, if ``judging`` rounds are like those it is computed from.

    It detects the pass at which the weights grow too large to certify.
    """

    judging: int
    every_action = False
    sums = _IMPROVEMENT.sums

    def terms(self, examples: Examples, probabilities: Any) -> Any:
        gain = (probabilities / examples.propensity - 1.0) * examples.reward
        return namespace(gain).log1p(gain[:, None] * like(gain, _IMPROVEMENT.rates)).double()

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        return _IMPROVEMENT.bound(sums * (self.judging / rounds), 0.0 * sums[..., 0], rounds=self.judging, delta=delta)


Estimate = PlainEstimate | ExpectedCertificate
"""What is maximised without a certificate: its terms need not be linear in the policy."""
