"""From the rounds of one batch to their sums, in plain NumPy: the reference for every faster way."""

from collections.abc import Mapping
from itertools import groupby

import numpy as np

from surelift.arrays import BoolArray, FloatArray
from surelift.controls import MaxWeightControl, WeightControl
from surelift.controls.weights import KnownDistributions, overstated
from surelift.errors import LogsError, UsageError
from surelift.logs.logs import Logs
from surelift.policies.policy import Policy
from surelift.quantities import Weights
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.plan import MEAN, SQUARES, Component, Moment, Plan, Term
from surelift.statistics.reading import Reading
from surelift.statistics.resampling import resample
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, ResampleKey, Sums, WeightSums

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


def add_up(reading: Reading, plan: Plan) -> Sums:
    """Add up over the rounds that are fit; the others are counted by reason."""
    rounds, usable = reading.rounds, reading.rounds.usable
    reward, propensity = rounds.reward[usable], rounds.propensity[usable]
    kept = {name: Weights(both.weight[usable], both.excess[usable]) for name, both in reading.weights.items()}
    log_sums: dict[LogSumKey, float] = {}
    moments: dict[MomentKey, float] = {}
    resamples: dict[ResampleKey, FloatArray] = {}
    known: KnownDistributions | None = None
    for term in plan.terms:
        values = term.quantity.terms(term.candidate, kept, reward)
        seen = _seen_by(term, reading, kept[term.candidate], reward, values)
        for moment in {MEAN, SQUARES, *term.needed.moments}:
            moments[MomentKey(term.candidate, term.quantity, moment)] = _moment(moment, seen, rounds.logs)
        if term.needed.resamples:
            key = ResampleKey(term.candidate, term.quantity)
            resamples[key] = resample(values, rounds.rows[usable], term.needed.resamples)
        log_sums.update(_log_sums(term, values, kept))
        controlled = [component for component in term.needed.components if _capped(component)]
        if controlled and not reading.fit:
            # Vectors that are not fit cannot be laid side by side; the log will be refused.
            log_sums.update({LogSumKey(term.candidate, term.quantity, component): 0.0 for component in controlled})
        elif controlled:
            if known is None:
                known = KnownDistributions(rounds, reading.probabilities, reading.predicted)
            log_sums.update(_capped_log_sums(term, known, reward, plan.policies))
    return Sums(
        rows=rounds.size,
        units=int(usable.sum()),
        log_sums=log_sums,
        moments=moments,
        resamples=resamples,
        weights={name: _weight_sums(reading, name, kept[name].weight, usable) for name in reading.weights},
        logging=LoggingSums(float(reward.sum()), float(propensity.min(initial=np.inf)), _largest_slack(reading, plan)),
        invalid=rounds.faults.tallies,
        fingerprint=rounds.hashes.fingerprint(usable),
    )


def _seen_by(term: Term, reading: Reading, weights: Weights, reward: FloatArray, values: FloatArray) -> PolicyRounds:
    usable = reading.rounds.usable
    by_model = any(moment.regularizer.asks_model for moment in term.needed.moments)
    predicted = reading.predictions_for(term.candidate) if by_model else None
    return PolicyRounds(
        weight=weights.weight,
        probability=reading.probabilities[term.candidate].logged[usable],
        propensity=reading.rounds.propensity[usable],
        earned=term.quantity.earned(reward),
        terms=values,
        predicted=None if predicted is None else predicted[0][usable],
        expected=None if predicted is None else predicted[1][usable],
    )


def _moment(moment: Moment, rounds: PolicyRounds, logs: Logs) -> float:
    if logs.density and not moment.regularizer.for_densities:
        raise UsageError(f"{type(moment.regularizer).__name__} has no meaning for densities, which may exceed 1.")
    with np.errstate(over="ignore"):
        return float((moment.regularizer.values(rounds) ** moment.power).sum())


def _largest_slack(reading: Reading, plan: Plan) -> float:
    """By how much a propensity exceeded its entry in production's vector, where a control relies on them to be one."""
    controlled = any(part.control is not None for term in plan.terms for part in term.needed.components)
    if not controlled or not reading.fit or reading.rounds.logging_shares is None:
        return 0.0
    return float(overstated(reading.rounds).max(initial=0.0))


def _capped(component: Component) -> bool:
    return isinstance(component.control, WeightControl)


def _log_sums(term: Term, values: FloatArray, weights: Mapping[str, Weights]) -> Mapping[LogSumKey, float]:
    """Of the components that need the logged probabilities only."""
    sums = {}
    plain: FloatArray | None = None
    for component in term.needed.components:
        if component.control is None:
            plain = _nonnegative(term, values, component.offset) if plain is None else plain
            shifted = plain
        elif isinstance(component.control, MaxWeightControl):
            shifted = _nonnegative(term, values + component.control.adjustment(weights), component.offset)
        else:
            continue
        key = LogSumKey(term.candidate, term.quantity, component)
        sums[key] = float(log_terms(shifted, smoothing=component.smoothing).sum())
    return sums


def _capped_log_sums(
    term: Term, known: KnownDistributions, reward: FloatArray, policies: Mapping[str, Policy]
) -> Mapping[LogSumKey, float]:
    """Of the components that take off a capped share of the weights, and give back its mean over all actions."""
    names = term.quantity.taken_off(term.candidate, 0.5, None)
    values = term.quantity.terms(term.candidate, {name: known.weights(name) for name in names}, reward)
    smallest = {name: term.quantity.counted_from(policies[name].limits) for name in names}
    taken_off = float(np.log1p(known.overstated).sum())
    capped = [(part, part.control) for part in term.needed.components if isinstance(part.control, WeightControl)]
    capped.sort(key=lambda pair: (pair[1].by_model, pair[1].share))
    sums = {}
    for (by_model, share), group in groupby(capped, key=lambda pair: (pair[1].by_model, pair[1].share)):
        parts = list(group)
        adjustments = known.adjustments(
            [control.cap for _, control in parts], term.quantity, term.candidate,
            share=share, by_model=by_model, smallest=smallest,
        )  # fmt: skip
        for (component, _), adjustment in zip(parts, adjustments, strict=True):
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
            f"policy {term.candidate!r}: a weight lies outside what was declared possible (a term of {lowest - offset:.6g} "
            f"lies below its floor of {-offset:.6g}).\nA smallest or largest weight must follow from how the policy is "
            "built, as in mixture(policy, alpha); with a false one nothing can be certified."
        )
    return shifted[shifted > 0.0]


def _weight_sums(reading: Reading, name: str, weights: FloatArray, usable: BoolArray) -> WeightSums:
    unsupported = None
    logging, vectors = reading.rounds.logging, reading.probabilities[name].vectors
    if logging is not None and vectors is not None and usable.all():
        unsupported = float(np.where(logging.values == 0.0, vectors.values, 0.0).sum())
    return WeightSums(
        float(weights.sum()), float((weights * weights).sum()), float(weights.max(initial=0.0)), unsupported
    )
