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
from surelift.errors import UsageError
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import Probabilities
from surelift.quantities import Quantity, Weights
from surelift.quantities.prefixes import in_sequence, prefix_weights, weights_before

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

    def adjustment(self, weights: Mapping[str, Weights]) -> FloatArray:
        return sum((-share * weights[name].excess for name, share in self.shares), start=np.zeros(1))


@dataclass(frozen=True, slots=True)
class TakenOff:
    """The control before capping: of the logged action, and of every action times its share, laid out as ``logging``."""

    taken: FloatArray
    expected: FloatArray
    logging: Vectors


class KnownDistributions:
    """A batch's distributions: production's, normalised to sum to 1, and the policies'; and a model's predictions."""

    def __init__(self, rounds: Rounds, found: Mapping[str, Probabilities], predicted: Vectors | None) -> None:
        assert rounds.logging_shares is not None
        assert rounds.action is not None
        self._logging, self._action = rounds.logging_shares, rounds.action
        self._vectors = {name: probabilities.vectors for name, probabilities in found.items()}
        self._logged_chance = self._logging.at(self._action)
        self._predicted = predicted
        self._clusters, self._weights = in_sequence(rounds), dict[str, Weights]()
        # If the propensity exceeds its entry in the vector, the round's factor is divided by the ratio: the factor is never
        # negative, so its mean stays at most 1.
        self.overstated = overstated(rounds)

    def weights(self, name: str) -> Weights:
        """The importance weight of the logged action, or of its prefix, from the vectors alone."""
        if name not in self._weights:
            entries = self._vectors_of(name).at(self._action)
            own = Weights(entries / self._logged_chance, (entries - self._logged_chance) / self._logged_chance)
            self._weights[name] = own if self._clusters is None else prefix_weights(own, self._clusters)
        return self._weights[name]

    def _chances(self, name: str) -> FloatArray:
        """The policy's probability of every action, times the weight of what came before in a sequence."""
        vectors = self._vectors_of(name)
        if self._clusters is None:
            return vectors.values
        return vectors.values * vectors.spread(weights_before(self.weights(name).weight, self._clusters))

    def _vectors_of(self, name: str) -> Vectors:
        vectors = self._vectors[name]
        if vectors is None:
            raise UsageError(
                f"policy {name!r} gave a vector over actions in some batches only; give it in all, or in none."
            )
        return vectors

    def taken_off(
        self, quantity: Quantity, candidate: str, *, share: float, by_model: bool, smallest: Mapping[str, float]
    ) -> TakenOff:
        everywhere = logged = None
        if by_model:
            assert self._predicted is not None
            everywhere, logged = self._predicted.values, self._predicted.at(self._action)
        expected = np.zeros(len(self._logging.values))
        for name, part in quantity.taken_off(candidate, share, everywhere).items():
            expected += part * (self._chances(name) - smallest[name] * self._logging.values)
        taken = np.zeros(len(self._logging))
        for name, part in quantity.taken_off(candidate, share, logged).items():
            # From the excess: a smallest weight near 1 would be lost in the rounding of the weight.
            taken += part * (self.weights(name).excess + (1.0 - smallest[name]))
        return TakenOff(taken, expected, self._logging)


def overstated(rounds: Rounds) -> FloatArray:
    """The relative excess of the propensities over their entries in production's vectors, of each round or cluster.

    The rounds of a cluster are averaged, so it is the largest of them; in a sequence they multiply.
    """
    assert rounds.logging_shares is not None
    assert rounds.action is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.maximum(rounds.propensity / rounds.logging_shares.at(rounds.action) - 1.0, 0.0)
    if rounds.clusters is None:
        return each
    if in_sequence(rounds) is None or not len(rounds.clusters):
        return rounds.clusters.largest(each)
    return np.expm1(np.add.reduceat(np.log1p(each), rounds.clusters.starts[:-1]))
