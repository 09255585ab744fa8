r"""Weight control: how far an importance weight lies from its mean is known if both distributions are.

With g = min(rho w, k), the term phi = w r - g + sum_a pi0(a) min(rho w(a), k) has the mean of w r whatever the support of
pi0, since g minus its exact conditional mean has mean zero; and phi >= -k, since g <= k. A large weight then adds no
variance by its size, only by its reward. The sum is computed as sum_a min(rho pi(a), k pi0(a)), which needs no division
and is right where pi0 is zero. A reward model q, known before the round, can complement rho: then only its errors remain.

When two policies are compared, the control is measured from the smallest weight, min(rho (w - w_min), k): this shifts g
and its mean by the same constant, and keeps the certificate of a blend proportional, with a model too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch, Pieces
from surelift.errors import UsageError
from surelift.kernels.control import ControlledTerms
from surelift.logs.units import Weights, ends_of
from surelift.logs.vectors import Vectors
from surelift.quantities import Quantity

# k = CAP / beta and lambda = GROWTH * beta for every smoothing beta of the grid.
CAP, GROWTH = 8.0 / 9.0, 9.0


@dataclass(frozen=True, slots=True)
class WeightControl:
    """The controlled share of the weight (rho above), and the cap on the control (k)."""

    share: float
    cap: float
    by_model: bool = False
    """Whether the share applies to the weight times the predicted reward."""


@dataclass(frozen=True, slots=True)
class MaxWeightControl:
    """Control by a known maximum weight W: the share of each policy's excess weight (the weight minus 1) it subtracts.

    If production supports every action of the policy, w - 1 has mean zero, so phi = w r - rho (w - 1) has the mean of w r,
    and phi >= -rho (W - 1). It needs only the logged probabilities, and a W that follows from how the policy is built.
    Without full support it would be false, not loose; giving no action more than W times production's probability ensures
    it.
    """

    shares: tuple[tuple[str, float], ...]


class KnownDistributions:
    """A batch's distributions: production's, normalised to sum to 1, and the policies'; and a model's predictions."""

    def __init__(self, batch: Batch) -> None:
        assert batch.shares is not None
        self._batch, self._logging, self._action = batch, batch.shares, batch.decisions.taken
        self._logged_chance = self._logging.at(self._action)
        self._weights = dict[str, Weights]()

    def weights(self, name: str) -> Weights:
        """The importance weight of each row, from the vectors alone."""
        if name not in self._weights:
            entries = self._vectors_of(name).at(self._action)
            own = Weights(entries / self._logged_chance, (entries - self._logged_chance) / self._logged_chance)
            self._weights[name] = self._batch.units.weights(own)
        return self._weights[name]

    def terms(self, pieces: Pieces) -> FloatArray:
        weights = {piece.policy: self.weights(piece.policy) for piece in pieces}
        return self._batch.judged.terms(*ends_of(pieces, weights))

    def _chances(self, name: str) -> FloatArray:
        """The policy's probability of every action, times the weight of what came before in its unit."""
        vectors = self._vectors_of(name)
        before = self._batch.units.before(self.weights(name).weight)
        return vectors.values if before is None else vectors.values * vectors.spread(before)

    def _vectors_of(self, name: str) -> Vectors:
        vectors = self._batch.policies[name].vectors
        if vectors is None:
            raise UsageError(f"policy {name!r} gave a vector over actions in some batches only; give it in all, or in none.")
        return vectors

    def controlled(
        self, values: FloatArray, quantity: Quantity, candidate: str, *, share: float, by_model: bool,
        smallest: Mapping[str, float],
    ) -> ControlledTerms:  # fmt: skip
        """The terms, and the control before capping: of the logged action, and of every action times its share."""
        everywhere = logged = None
        if by_model:
            predicted = self._batch.predicted
            assert predicted is not None
            everywhere, logged = predicted.values, predicted.at(self._action)
        expected = np.zeros(len(self._logging.values))
        for name, part in quantity.taken_off(candidate, share, everywhere).items():
            expected += part * (self._chances(name) - smallest[name] * self._logging.values)
        taken = np.zeros(len(self._logging))
        for name, part in quantity.taken_off(candidate, share, logged).items():
            # From the excess: a smallest weight near 1 would be lost in the rounding of the weight.
            taken += part * (self.weights(name).excess + (1.0 - smallest[name]))
        return ControlledTerms(values, taken, self._logging.starts, expected, self._logging.values)
