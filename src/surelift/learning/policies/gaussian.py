"""A learned Gaussian linear policy in NumPy: its parameters, its probabilities, its KL divergence from the prior."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray
from surelift.learning.policies import quadrature

Single = npt.NDArray[np.float32]
_ROUNDING = 2.0**-52


def as_single(numbers: Any) -> Single:
    """A copy of an array or tensor in single precision."""
    array = numbers.detach().cpu().numpy() if hasattr(numbers, "detach") else np.asarray(numbers)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"their type is {array.dtype}")
    return np.array(array, dtype=np.float32, order="C")


@dataclass(frozen=True, slots=True, eq=False)
class GaussianRule:
    """The weights of every action are independent N(means, deviation^2); the prior is N(prior, 1)."""

    means: Single  # (actions, features)
    deviation: Single  # (features,)
    prior: Single  # (actions, features)

    def __post_init__(self) -> None:
        shapes_match = (
            self.means.ndim == 2
            and self.prior.shape == self.means.shape
            and self.deviation.shape == self.means.shape[1:]
        )
        if not shapes_match or not all(np.isfinite(part).all() for part in (self.means, self.deviation, self.prior)):
            raise ValueError("means, deviation and prior must be finite and have matching shapes")
        if not (self.deviation > 0.0).all():
            raise ValueError("every deviation must be positive")

    def probabilities(self, features: Single) -> FloatArray:
        """The probability of every action, (rows, actions), exact to ``tolerance``."""
        double = features.astype(np.float64)
        variance = (double * double) @ (self.deviation.astype(np.float64) ** 2)
        spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
        return quadrature.argmax_probabilities((double @ self.means.astype(np.float64).T) / spread[:, None])

    def probabilities_on_device(self, features: Any) -> Any:
        """The same from a double tensor, computed by torch on its device."""
        import torch

        from surelift.learning.policies.quadrature_torch import by_log_ndtr

        means, deviation = (torch.from_numpy(part).to(features) for part in (self.means, self.deviation))
        variance = (features * features) @ (deviation * deviation)
        spread = torch.sqrt(torch.where(variance > 0.0, variance, 1.0))
        return by_log_ndtr((features @ means.T) / spread[:, None], quadrature.EXACT)

    @property
    def tolerance(self) -> float:
        """The largest error of a probability, from the quadrature and from rounding of the scores."""
        # |x m - x m'| / |x s| is at most |m - m'| / min s, and a product of n numbers is off by n units in the last place.
        means, least = self.means.astype(np.float64), float(self.deviation.min())
        largest = 2.0 * float(np.sqrt((means * means).sum(axis=1)).max()) / least
        rounding: float = 2.0 * (self.means.shape[1] + 8) * _ROUNDING * largest
        return quadrature.TOLERANCE + rounding

    @property
    def divergence(self) -> float:
        """KL divergence from the prior, rounded up."""
        moved = self.means.astype(np.float64) - self.prior.astype(np.float64)
        logarithm = np.log(self.deviation.astype(np.float64))
        spread = np.expm1(2.0 * logarithm) - 2.0 * logarithm
        return 0.5 * float((moved * moved).sum() + len(self.means) * spread.sum()) * (1.0 + 1e-12)
