"""A random linear rule, learned: its parameters, its probabilities, and how far it is from its prior. NumPy alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.learning import gaussian

Single = npt.NDArray[np.float32]
_ROUNDING = 2.0**-52


def as_single(given: Any) -> Single:
    """A copy of numbers, a tensor's too, in single precision."""
    given = given.detach().cpu().numpy() if hasattr(given, "detach") else np.asarray(given)
    if given.dtype.kind not in "fiu":
        raise TypeError(f"they are of type {given.dtype}")
    return np.array(given, dtype=np.float32, order="C")


@dataclass(frozen=True, slots=True, eq=False)
class GaussianRule:
    """Weights of every action N(means, deviation^2), independent; the prior N(prior, 1)."""

    means: Single  # (actions, features)
    deviation: Single  # (features,)
    prior: Single  # (actions, features)

    def __post_init__(self) -> None:
        shapes = (
            self.means.ndim == 2
            and self.prior.shape == self.means.shape
            and self.deviation.shape == self.means.shape[1:]
        )
        if not shapes or not all(np.isfinite(part).all() for part in (self.means, self.deviation, self.prior)):
            raise ValueError("means, deviations and prior must be finite, and of the same shape")
        if not (self.deviation > 0.0).all():
            raise ValueError("every deviation must be positive")

    def probabilities(self, features: Single) -> FloatArray:
        """Of every action, (rows, actions), exact to ``tolerance``."""
        wide = features.astype(np.float64)
        variance = (wide * wide) @ (self.deviation.astype(np.float64) ** 2)
        spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
        return gaussian.argmax_probabilities((wide @ self.means.astype(np.float64).T) / spread[:, None])

    def probabilities_on_device(self, features: Any) -> Any:
        """The same of a tensor in double precision, by torch where it lies."""
        import torch

        from surelift.learning.gaussian_torch import by_log_ndtr

        means, deviation = (torch.from_numpy(part).to(features) for part in (self.means, self.deviation))
        variance = (features * features) @ (deviation * deviation)
        spread = torch.sqrt(torch.where(variance > 0.0, variance, 1.0))
        return by_log_ndtr((features @ means.T) / spread[:, None], gaussian.EXACT)

    @property
    def tolerance(self) -> float:
        """How far a probability may be from the integral, rounding of the scores included."""
        # |x m - x m'| / |x s| is at most |m - m'| / min s, and a product of n numbers is off by n units in the last place.
        means, least = self.means.astype(np.float64), float(self.deviation.min())
        reach = 2.0 * float(np.sqrt((means * means).sum(axis=1)).max()) / least
        rounding: float = 2.0 * (self.means.shape[1] + 8) * _ROUNDING * reach
        return gaussian.TOLERANCE + rounding

    @property
    def divergence(self) -> float:
        """KL from the prior, rounded up."""
        moved = self.means.astype(np.float64) - self.prior.astype(np.float64)
        logarithm = np.log(self.deviation.astype(np.float64))
        spread = np.expm1(2.0 * logarithm) - 2.0 * logarithm
        return 0.5 * float((moved * moved).sum() + len(self.means) * spread.sum()) * (1.0 + 1e-12)
