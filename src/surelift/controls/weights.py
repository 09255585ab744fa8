r"""Control by weights, and by a score.

How far an importance weight lies from its mean is known if both distributions are.
With g = min(rho w, k), the term phi = w r - g + sum_a pi0(a) min(rho w(a), k) has the mean of w r whatever the support of
pi0, since g minus its exact conditional mean has mean zero; and phi >= -k, since g <= k. A large weight then adds no
variance by its size, only by its reward. The sum is computed as sum_a min(rho pi(a), k pi0(a)), which needs no division
and is right where pi0 is zero. A reward model q, known before the round, can complement rho: then only its errors remain.

When two policies are compared, the control is measured from the smallest weight, min(rho (w - w_min), k): this shifts g
and its mean by the same constant, and keeps the certificate of a blend proportional, with a model too.

Where all rounds carry a score, only those drawn with a known probability carry the true reward. Given the action a term is a
line in the reward: base + span y, where base is its smaller end, span >= 0, and y is r or 1 - r. Only the second part needs
a label. With L = 1 where the round was drawn, which happens with probability kappa, and g the same part as the score
predicts it, base + L span y/kappa - L min(g/kappa, k) + min(g, kappa k) has the mean of the term whatever the score is
worth: the control speaks of the draw alone, whose chance is known. With k = c - max(-base, 0) the term is at least -c.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch, Pieces
from surelift.errors import UsageError
from surelift.kernels.control import ControlledTerms
from surelift.logs.rewards import LabelledLine
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
    by_model: bool = False  # the share applies to the weight times the predicted reward


@dataclass(frozen=True, slots=True)
class MaxWeightControl:
    """Control by a known maximum weight W: the share of each policy's excess weight (the weight minus 1) it subtracts.

    If production supports every action of the policy, w - 1 has mean zero, so phi = w r - rho (w - 1) has the mean of w r,
    and phi >= -rho (W - 1). It needs only the logged probabilities, and a W that follows from how the policy is built.
    Without full support it would be false, not loose; giving no action more than W times production's probability ensures
    it.
    """

    shares: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ScoreControl:
    """The share of what the score predicts that is taken off, and the cap on it and what the term lies below zero."""

    share: float
    cap: float
    by_score: bool = True  # else the most that a label could bring stands in the place of the score


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
        for name, part in quantity.subtracted(candidate, share, everywhere).items():
            vectors, before = self._vectors_of(name), self._batch.units.before(self.weights(name).weight)
            # The chance of every action, times the weight of what came before in its unit.
            chances = vectors.values if before is None else vectors.values * vectors.spread(before)
            expected += part * (chances - smallest[name] * self._logging.values)
        taken = np.zeros(len(self._logging))
        for name, part in quantity.subtracted(candidate, share, logged).items():
            # From the excess: a smallest weight near 1 would be lost in the rounding of the weight.
            taken += part * (self.weights(name).excess + (1.0 - smallest[name]))
        return ControlledTerms(values, taken, self._logging.starts, expected, self._logging.values)


def controlled_by_score(batch: Batch, pieces: Pieces, share: float, *, by_score: bool) -> ControlledTerms:
    """The draw is what is controlled: one more action, taken with the probability of the label."""
    line, ends = batch.judged, ends_of(pieces, batch.weights)
    assert isinstance(line, LabelledLine)
    chance, below = line.probability, line.below(*ends)
    # Capped together with what lies below zero, which is then given back: so no term falls below minus the cap.
    off = share * line.predicted(*ends, by_score=by_score) / chance + below
    values = line.terms(*ends) + np.where(line.drawn, 1.0 - chance, -chance) * below
    return ControlledTerms(values, np.where(line.drawn, off, 0.0), np.arange(len(off) + 1), chance * off, chance)
