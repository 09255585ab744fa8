r"""Objectives of other papers, for comparison: implicit exploration, clipping (with a baseline), exponential smoothing.

Each takes the best of a list of smoothings lambda, at delta/len(list). All but the first need independent rounds and a
number of rounds fixed in advance; the first is never above logarithmic smoothing. THEORY, section 6, in reward form.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surelift.learning.data.dataset import Examples
from surelift.learning.objectives.objective import Coefficients
from surelift.learning.tensors import like, namespace, positions


@dataclass(frozen=True, slots=True)
class RivalObjective:
    """An objective with two sums by default: a mean, and a second moment that lowers the bound."""

    smoothings: tuple[float, ...]
    baseline: float = field(default=0.0, kw_only=True)
    paired: ClassVar[bool] = False
    any_looks: ClassVar[bool] = False
    every_action: ClassVar[bool] = True
    signs: ClassVar[tuple[float, ...]] = (1.0, -1.0)

    @property
    def sums(self) -> int:
        return 2

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        """The mean minus sqrt((KL + log(4 sqrt(n)/delta))/(2n)) + (KL + log(2/delta))/(lambda n), and the second moment."""
        xp, smoothing = namespace(sums), like(sums, self.smoothings)
        divergence, delta = divergence[..., None], delta / len(self.smoothings)
        penalty = xp.sqrt((divergence + math.log(4.0 * math.sqrt(rounds) / delta)) / (2.0 * rounds))
        penalty = penalty + (divergence + math.log(2.0 / delta)) / (smoothing * rounds)
        mean, second = sums[..., :1] / rounds, sums[..., 1:] / rounds
        return xp.amax(self.baseline + mean - penalty - self.factor(smoothing) * second, -1)

    def factor(self, smoothing: Any) -> Any:
        return smoothing / 2.0


@dataclass(frozen=True, slots=True)
class ImplicitExplorationObjective(RivalObjective):
    """mean p r/(q + lambda/2) - (KL + log(1/delta))/(lambda n)."""

    any_looks: ClassVar[bool] = True
    every_action: ClassVar[bool] = False
    signs: ClassVar[tuple[float, ...]] = (1.0,)

    def coefficients(self, examples: Examples) -> Coefficients:
        smoothing = like(examples.reward, self.smoothings)
        return Coefficients(own=examples.reward[:, None] / (examples.propensity[:, None] + smoothing / 2.0))

    def bound(self, sums: Any, divergence: Any, *, rounds: int, delta: float) -> Any:
        smoothing = like(sums, self.smoothings)
        target = (divergence + math.log(len(self.smoothings) / delta))[..., None]
        return namespace(sums).amax(sums / rounds - target / (smoothing * rounds), -1)

    @property
    def sums(self) -> int:
        return len(self.smoothings)


@dataclass(frozen=True, slots=True)
class ClippingObjective(RivalObjective):
    """cIPS and, with a baseline other than 0, cvcIPS: the paper's xi is minus ``baseline``, its tau ``clip``."""

    clip: float

    def coefficients(self, examples: Examples) -> Coefficients:
        xp = namespace(examples.reward)
        clipped = xp.maximum(examples.logging, like(examples.reward, self.clip))  # (rounds, actions)
        mean = -self.baseline * (1.0 - examples.logging / clipped)
        rows, action = positions(examples.action), examples.action
        kept = xp.maximum(examples.propensity, like(examples.reward, self.clip))
        mean[rows, action] += (examples.reward - self.baseline) / kept
        return Coefficients(every=xp.stack((mean, examples.logging / (clipped * clipped)), -1))

    def factor(self, smoothing: Any) -> Any:
        xi = -self.baseline
        u = smoothing * ((1.0 + xi) / self.clip - xi)
        # (e^u - 1 - u)/u^2, with the exponent capped at 600, far beyond any useful bound, to avoid infinities.
        u = u.clip(None, 600.0) if namespace(u) is np else u.clamp(max=600.0)
        return max(xi * xi, (1.0 + xi) ** 2) * smoothing * ((namespace(u).expm1(u) - u) / (u * u))


@dataclass(frozen=True, slots=True)
class ExponentialSmoothingObjective(RivalObjective):
    """mean p r/q^alpha minus a penalty."""

    alpha: float

    def coefficients(self, examples: Examples) -> Coefficients:
        xp = namespace(examples.reward)
        positive = xp.where(examples.logging > 0.0, examples.logging, like(examples.reward, 1.0))
        spread = xp.where(examples.logging > 0.0, positive ** (1.0 - 2.0 * self.alpha), like(examples.reward, 0.0))
        mean, rows = 0.0 * spread, positions(examples.action)
        ratio = examples.reward / examples.propensity**self.alpha
        mean[rows, examples.action] += ratio
        spread[rows, examples.action] += ratio * ratio
        return Coefficients(every=xp.stack((mean, spread), -1))
