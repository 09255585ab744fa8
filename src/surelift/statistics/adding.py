"""From the rounds of one batch to their sums, in plain NumPy: the reference for every faster way."""

from collections.abc import Mapping

import numpy as np

from surelift.arrays import BoolArray, FloatArray
from surelift.controls.weights import KnownDistributions
from surelift.errors import LogsError, UsageError
from surelift.logs import faults
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import Probabilities
from surelift.quantities import Weights
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.plan import MEAN, SQUARES, Moment, Plan, Term
from surelift.statistics.resampling import resample, row_numbers
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, ResampleKey, Sums, WeightSums

# Beyond this the square of a weight could overflow; no propensity that was ever drawn from is so small.
LARGEST_WEIGHT = 1e150
# A term below its floor by more than rounding shows that an assumption is false.
ROUNDING = 1e-9


def log_terms(quantity: FloatArray, *, smoothing: float) -> FloatArray:
    """log(1 + smoothing * quantity), also where the product overflows.

    >>> log_terms(np.array([0.0, 2.0, 1e308]), smoothing=64.0).round(6).tolist()
    [0.0, 4.859812, 713.355092]
    """
    with np.errstate(over="ignore"):
        logarithms = np.log1p(smoothing * quantity)
    overflown = np.isinf(logarithms)
    if overflown.any():
        logarithms[overflown] = np.log(smoothing) + np.log(quantity[overflown])
    return logarithms


def read_policies(rounds: Rounds, plan: Plan) -> dict[str, Probabilities]:
    """In the order of their names, so that the fingerprint does not depend on the order in which they were given."""
    return {name: plan.policies[name].probabilities(rounds, f"policy {name!r}") for name in sorted(plan.policies)}


def add_up(rounds: Rounds, plan: Plan, probabilities: Mapping[str, Probabilities]) -> Sums:
    """Add up over the rounds that are fit; the others are counted by reason."""
    weights = {name: _weights(rounds, name, found) for name, found in probabilities.items()}
    usable = rounds.usable
    reward = rounds.reward[usable]
    propensity = rounds.propensity[usable]
    kept = {name: Weights(both.weight[usable], both.excess[usable]) for name, both in weights.items()}
    log_sums: dict[LogSumKey, float] = {}
    moments: dict[MomentKey, float] = {}
    resamples: dict[ResampleKey, FloatArray] = {}
    known: KnownDistributions | None = None
    for term in plan.terms:
        values = term.quantity.terms(term.candidate, kept, reward)
        seen = PolicyRounds(
            weight=kept[term.candidate].weight,
            probability=probabilities[term.candidate].logged[usable],
            propensity=propensity,
            earned=term.quantity.earned(reward),
            terms=values,
        )
        for moment in {MEAN, SQUARES, *term.needed.moments}:
            moments[MomentKey(term.candidate, term.quantity, moment)] = _moment(moment, seen, rounds.logs)
        if term.needed.resamples:
            rows = row_numbers(rounds.start, usable)
            resamples[ResampleKey(term.candidate, term.quantity)] = resample(values, rows, term.needed.resamples)
        log_sums.update(_plain_log_sums(term, values))
        controlled = [component for component in term.needed.components if component.control is not None]
        if controlled and rounds.faults.tallies:
            # Vectors that are not fit cannot be laid side by side; the log will be refused.
            log_sums.update({LogSumKey(term.candidate, term.quantity, component): 0.0 for component in controlled})
        elif controlled:
            known = KnownDistributions(rounds, probabilities) if known is None else known
            log_sums.update(_controlled_log_sums(term, known, reward))
    return Sums(
        rows=rounds.size,
        units=int(usable.sum()),
        log_sums=log_sums,
        moments=moments,
        resamples=resamples,
        weights={name: _weight_sums(rounds, probabilities[name], kept[name].weight, usable) for name in weights},
        logging=LoggingSums(
            float(reward.sum()),
            float(propensity.min(initial=np.inf)),
            0.0 if known is None else float(known.overstated.max(initial=0.0)),
        ),
        invalid=rounds.faults.tallies,
        fingerprint=rounds.hashes.fingerprint(usable),
    )


def _moment(moment: Moment, rounds: PolicyRounds, logs: Logs) -> float:
    if logs.density and not moment.regularizer.for_densities:
        raise UsageError(f"{type(moment.regularizer).__name__} has no meaning for densities, which may exceed 1.")
    with np.errstate(over="ignore"):
        return float((moment.regularizer.values(rounds) ** moment.power).sum())


def _weights(rounds: Rounds, name: str, probabilities: Probabilities) -> Weights:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weight: FloatArray = probabilities.logged / rounds.propensity
    beyond = rounds.usable & ~(weight <= LARGEST_WEIGHT)
    rounds.refuse(f"policy {name!r}", faults.WEIGHT_OVERFLOW, beyond, weight)
    return Weights(weight, probabilities.excess(rounds.propensity))


def _plain_log_sums(term: Term, values: FloatArray) -> Mapping[LogSumKey, float]:
    plain = [component for component in term.needed.components if component.control is None]
    if not plain:
        return {}
    shifted = _nonnegative(term, values, term.needed.offset)
    return {
        LogSumKey(term.candidate, term.quantity, component): float(
            log_terms(shifted, smoothing=component.smoothing).sum()
        )
        for component in plain
    }


def _controlled_log_sums(term: Term, known: KnownDistributions, reward: FloatArray) -> Mapping[LogSumKey, float]:
    weights = {name: known.weights(name) for name in term.quantity.controlled(term.candidate, 0.5)}
    values = term.quantity.terms(term.candidate, weights, reward)
    taken_off = float(np.log1p(known.overstated).sum())
    sums = {}
    for share in term.quantity.control_shares:
        parts = [part for part in term.needed.components if part.control is not None and part.control.share == share]
        caps = [part.control.cap for part in parts if part.control is not None]
        adjustments = known.adjustments(caps, term.quantity.controlled(term.candidate, share))
        for component, adjustment in zip(parts, adjustments, strict=True):
            shifted = _nonnegative(term, values + adjustment, component.offset)
            total = float(log_terms(shifted, smoothing=component.smoothing).sum())
            sums[LogSumKey(term.candidate, term.quantity, component)] = total - taken_off
    return sums


def _nonnegative(term: Term, values: FloatArray, offset: float) -> FloatArray:
    """The terms plus their offset, without those that add nothing; a sum below zero breaks a promise and is refused."""
    shifted = values + offset
    lowest = shifted.min(initial=0.0)
    if lowest < -ROUNDING * (1.0 + offset):
        raise LogsError(
            f"policy {term.candidate!r}: a weight is smaller than was declared possible (a term of {lowest - offset:.6g} "
            f"lies below its floor of {-offset:.6g}).\nA smallest weight must follow from how the policy is built, as in "
            "mixture(policy, alpha); with a false one nothing can be certified."
        )
    return shifted[shifted > 0.0]


def _weight_sums(rounds: Rounds, found: Probabilities, weights: FloatArray, usable: BoolArray) -> WeightSums:
    unsupported = None
    if rounds.logging is not None and found.vectors is not None and usable.all():
        beyond = np.where(rounds.logging.values == 0.0, found.vectors.values, 0.0)
        unsupported = float(beyond.sum())
    return WeightSums(
        float(weights.sum()), float((weights * weights).sum()), float(weights.max(initial=0.0)), unsupported
    )
