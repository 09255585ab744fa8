"""From the rounds of one batch to their sums, in plain NumPy: the reference for every faster way."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls import MaxWeightControl, WeightControl
from surelift.controls.weights import KnownDistributions, TakenOff, overstated
from surelift.errors import LogsError, UsageError
from surelift.logs.logs import Logs
from surelift.policies.policy import Policy
from surelift.quantities import Weights
from surelift.quantities.regularizers import PolicyRounds
from surelift.statistics.plan import MEAN, SQUARES, Component, Moment, Plan, Term
from surelift.statistics.reading import Reading
from surelift.statistics.resampling import resample
from surelift.statistics.sums import LoggingSums, LogSumKey, MomentKey, ResampleKey, Sums, WeightSums, nothing
from surelift.statistics.units import Units

# For fewer rounds it is not worth loading the compiler.
WORTH_COMPILING = 50_000
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
    """Add up over the units of a batch; a batch with faults adds nothing but their count, and will be refused."""
    rounds = reading.rounds
    if not reading.fit:
        return replace(nothing(plan), rows=rounds.size, invalid=rounds.faults.tallies)
    units = Units.of(rounds)
    log_sums: dict[LogSumKey, float] = {}
    moments: dict[MomentKey, float] = {}
    resamples: dict[ResampleKey, FloatArray] = {}
    known: KnownDistributions | None = None
    for term in plan.terms:
        seen = _seen_by(term, reading, units)
        for moment in {MEAN, SQUARES, *term.needed.moments}:
            moments[MomentKey(term.candidate, term.quantity, moment)] = _moment(moment, term, seen, units, rounds.logs)
        if term.needed.resamples:
            key = ResampleKey(term.candidate, term.quantity)
            resamples[key] = resample(seen.terms, rounds.rows, term.needed.resamples)
        log_sums.update(_log_sums(term, seen.terms, reading.weights, units))
        if any(isinstance(component.control, WeightControl) for component in term.needed.components):
            if known is None:
                known = KnownDistributions(rounds, reading.probabilities, reading.predicted)
            log_sums.update(_capped_log_sums(term, known, rounds.reward, plan.policies, units))
    return Sums(
        rows=rounds.size,
        units=units.count,
        log_sums=log_sums,
        moments=moments,
        resamples=resamples,
        weights={name: _weight_sums(reading, name, units) for name in reading.weights},
        logging=LoggingSums(
            float(units.standing_for_all(units.mean(rounds.reward)).sum()),
            float(rounds.propensity.min(initial=np.inf)),
            _largest_slack(reading, plan),
            *_keep_range(rounds.keep_probability),
        ),
        fingerprint=rounds.hashes.fingerprint(),
    )


def _keep_range(keep_probability: FloatArray | None) -> tuple[float, float]:
    if keep_probability is None:
        return float("inf"), 0.0
    return float(keep_probability.min(initial=np.inf)), float(keep_probability.max(initial=0.0))


def _seen_by(term: Term, reading: Reading, units: Units) -> PolicyRounds:
    by_model = any(moment.regularizer.asks_model for moment in term.needed.moments)
    predicted = reading.predictions_for(term.candidate) if by_model else None
    return PolicyRounds(
        weight=reading.weights[term.candidate].weight,
        probability=reading.probabilities[term.candidate].logged,
        propensity=reading.rounds.propensity,
        earned=term.quantity.earned(reading.rounds.reward),
        terms=term.quantity.terms(term.candidate, reading.weights, reading.rounds.reward),
        predicted=None if predicted is None else predicted[0],
        expected=None if predicted is None else predicted[1],
    )


def _moment(moment: Moment, term: Term, rounds: PolicyRounds, units: Units, logs: Logs) -> float:
    if logs.declaration.density and not moment.regularizer.for_densities:
        raise UsageError(f"{type(moment.regularizer).__name__} has no meaning for densities, which may exceed 1.")
    means = units.mean(moment.regularizer.values(rounds), padded_with=term.quantity.padding)
    with np.errstate(over="ignore"):
        return float((units.standing_for_all(means) ** moment.power).sum())


def _largest_slack(reading: Reading, plan: Plan) -> float:
    """By how much a propensity exceeded its entry in production's vector, where a control relies on them to be one."""
    controls = {
        type(part.control) for term in plan.terms for part in term.needed.components if part.control is not None
    }
    slack = 0.0
    if controls and reading.rounds.logging_shares is not None:
        slack = float(overstated(reading.rounds).max(initial=0.0))
    if MaxWeightControl in controls:
        # Weights that average to a little less than 1 overstate what is given back.
        slack += max(found.short_of_one for found in reading.probabilities.values())
    return slack


def _log_sums(
    term: Term, values: FloatArray, weights: Mapping[str, Weights], units: Units
) -> Mapping[LogSumKey, float]:
    """Of the components that need the logged probabilities only."""
    sums: dict[LogSumKey, float] = {}
    plain = [component for component in term.needed.components if component.control is None]
    if plain:
        shifted = _shifted(term, values, plain[0].offset, units)
        totals = _sums_of_logs(shifted, np.array([component.smoothing for component in plain]))
        sums.update(
            zip((LogSumKey(term.candidate, term.quantity, part) for part in plain), totals.tolist(), strict=True)
        )
    for component in term.needed.components:
        if isinstance(component.control, MaxWeightControl):
            shifted = _shifted(term, values + component.control.adjustment(weights), component.offset, units)
            key = LogSumKey(term.candidate, term.quantity, component)
            sums[key] = float(log_terms(shifted, smoothing=component.smoothing).sum())
    return sums


def _sums_of_logs(shifted: FloatArray, smoothings: FloatArray) -> FloatArray:
    if len(shifted) < WORTH_COMPILING:
        return np.array([log_terms(shifted, smoothing=smoothing).sum() for smoothing in smoothings])
    from surelift.statistics import kernels

    return kernels.log_sums(shifted, smoothings)


def _capped_log_sums(
    term: Term, known: KnownDistributions, reward: FloatArray, policies: Mapping[str, Policy], units: Units
) -> Mapping[LogSumKey, float]:
    """Of the components that take off a capped share of the weights, and give back its mean over all actions."""
    names = term.quantity.taken_off(term.candidate, 0.5, None)
    values = term.quantity.terms(term.candidate, {name: known.weights(name) for name in names}, reward)
    smallest = {name: term.quantity.counted_from(policies[name].limits) for name in names}
    taken_off = float(np.log1p(units.largest(known.overstated)).sum())
    capped = [(part, part.control) for part in term.needed.components if isinstance(part.control, WeightControl)]
    capped.sort(key=lambda pair: (pair[1].by_model, pair[1].share))
    sums = {}
    for (by_model, share), group in groupby(capped, key=lambda pair: (pair[1].by_model, pair[1].share)):
        parts = list(group)
        off = known.taken_off(term.quantity, term.candidate, share=share, by_model=by_model, smallest=smallest)
        if units.plain and len(values) >= WORTH_COMPILING:
            totals = _compiled_control(term, values, off, parts)
        else:
            totals = [
                float(
                    log_terms(
                        _shifted(term, values + off.adjustment(control.cap), component.offset, units),
                        smoothing=component.smoothing,
                    ).sum()
                )
                for component, control in parts
            ]
        for (component, _), total in zip(parts, totals, strict=True):
            sums[LogSumKey(term.candidate, term.quantity, component)] = total - taken_off
    return sums


def _compiled_control(
    term: Term, values: FloatArray, off: TakenOff, parts: Sequence[tuple[Component, WeightControl]]
) -> list[float]:
    from surelift.statistics import kernels

    totals = np.zeros(len(parts))
    deepest = kernels.controlled_log_sums(
        values, off.taken, off.expected, off.logging.values, off.logging.starts,
        np.array([control.cap for _, control in parts]), np.array([component.offset for component, _ in parts]),
        np.array([component.smoothing for component, _ in parts]), totals,
    )  # fmt: skip
    if deepest > ROUNDING:
        _refuse_floor(term, deepest)
    found: list[float] = totals.tolist()
    return found


def _shifted(term: Term, values: FloatArray, offset: float, units: Units) -> FloatArray:
    """The number of each unit plus its offset, without those that add nothing.

    One below zero breaks a promise and is refused: round by round, before a cluster could hide it.
    """
    lowest = values.min(initial=0.0) + offset
    if lowest < -ROUNDING * (1.0 + offset):
        _refuse_floor(term, -lowest)
    shifted = units.standing_for_all(units.mean(values, padded_with=term.quantity.padding) + offset)
    return shifted[shifted > 0.0]


def _refuse_floor(term: Term, below: float) -> None:
    raise LogsError(
        f"policy {term.candidate!r}: a weight lies outside what was declared possible: a term lies {below:.6g} below its "
        "floor.\nA smallest or largest weight must follow from how the policy is built, as in blend(policy, alpha); with "
        "a false one nothing can be certified."
    )


def _weight_sums(reading: Reading, name: str, units: Units) -> WeightSums:
    unsupported = None
    logging, vectors = reading.rounds.logging, reading.probabilities[name].vectors
    if logging is not None and vectors is not None:
        beyond = vectors.fold(np.add, np.where(logging.values == 0.0, vectors.values, 0.0), empty=0.0)
        unsupported = float(units.standing_for_all(units.mean(beyond)).sum())
    weight = reading.weights[name].weight
    weights = units.standing_for_all(units.mean(weight, padded_with=1.0))
    return WeightSums(
        float(weights.sum()), float((weights * weights).sum()), float(weight.max(initial=0.0)), unsupported
    )
