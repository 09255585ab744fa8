r"""Weight control: how far a weight lies from its mean is known, since the whole distributions are.

With g = min(rho w, k), the term phi = w r - g + sum_a pi0(a) min(rho w(a), k) has the mean of w r whatever the support of
pi0, since g minus its exact conditional mean has mean zero; and phi >= -k, since g <= k. A large weight then no longer
surprises by its size, only by its reward. The sum is taken as sum_a min(rho pi(a), k pi0(a)): no division, and right where
pi0 is zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Probabilities
from surelift.quantities import Weights

# k = CAP / beta and lambda = GROWTH * beta for every smoothing beta of the grid.
CAP, GROWTH = 8.0 / 9.0, 9.0


@dataclass(frozen=True, slots=True)
class WeightControl:
    """The share of the weight that is taken off (the rho above), and the cap on what is taken off (k)."""

    share: float
    cap: float


class KnownDistributions:
    """The distributions of a batch: production's, made to sum to 1 exactly, and the policies'."""

    def __init__(self, rounds: Rounds, found: Mapping[str, Probabilities]) -> None:
        assert rounds.logging_shares is not None
        assert rounds.action is not None
        self._logging, self._action = rounds.logging_shares, rounds.action
        self._vectors = {name: one.vectors for name, one in found.items()}
        self._logged_chance = self._logging.at(self._action)
        # Where the propensity is larger than the vector says, the factor of the round is divided by as much: it is never
        # negative, so its mean stays at most 1.
        with np.errstate(invalid="ignore", divide="ignore"):
            self.overstated = np.maximum(rounds.propensity / self._logged_chance - 1.0, 0.0)

    def weights(self, name: str) -> Weights:
        """The weight of the logged action, from the vectors alone."""
        entries = self._of(name).at(self._action)
        return Weights(entries / self._logged_chance, (entries - self._logged_chance) / self._logged_chance)

    def _of(self, name: str) -> Vectors:
        vectors = self._vectors[name]
        if vectors is None:
            raise UsageError(
                f"policy {name!r} gave a vector over actions in some batches only; give it in all, or in none."
            )
        return vectors

    def adjustments(self, caps: Sequence[float], mix: Mapping[str, float]) -> Iterator[FloatArray]:
        """For each cap, what is added to a term: minus the capped weight, plus its mean over all actions."""
        mixed = sum((share * self._of(name).values for name, share in mix.items()), start=np.zeros(1))
        logged = sum((share * self.weights(name).weight for name, share in mix.items()), start=np.zeros(1))
        for cap in caps:
            expected = self._logging.fold(np.add, np.minimum(mixed, cap * self._logging.values), empty=0.0)
            yield expected - np.minimum(logged, cap)
