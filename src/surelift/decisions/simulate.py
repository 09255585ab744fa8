"""How often would each method hold, and how wide would it be, on weights like these and rewards whose truth is known?"""

from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.bounds.bound import Promise
from surelift.decisions.asking import Progress, require_logs
from surelift.decisions.evaluate import evaluate
from surelift.decisions.method import check_delta
from surelift.engines import collect
from surelift.errors import LogsError, UsageError
from surelift.logs.faults import refuse_faults
from surelift.logs.logs import Logs
from surelift.policies.resolve import name_policies
from surelift.results.simulation import Outcome, Simulation
from surelift.statistics import Plan
from surelift.statistics.reading import Reading

KEPT = 200_000
SEED = 20240523
ROUNDING = 1e-12
# Methods that need no more than a column of probabilities; a smoothing of 1/sqrt(rounds) and the like are theirs.
METHODS = tuple(name for name, bound in BOUNDS.items() if bound.needs == "three columns")


def simulate(
    logs: Logs,
    policies: Any,
    *,
    delta: float = 0.05,
    rounds: int | None = None,
    runs: int = 100,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Simulation:
    """Draw logs with these very weights and with rewards of a known truth, and bound them by every method.

    A round is drawn from the log, and pays with a chance that rises with its weight and averages to what production
    earns: where weights are large there is then most to be missed. ``rounds`` defaults to those of the log, 10,000 at most.

    >>> logs = Logs(reward=[0, 1] * 200, propensity=[0.5, 0.1] * 200)
    >>> found = simulate(logs, {"new": [0.5, 0.3] * 200}, runs=20)
    >>> min(one.coverage for one in found.outcomes if one.promise == "any number of looks") >= 0.8
    True
    """
    require_logs(logs)
    delta, named = check_delta(delta), name_policies(policies)
    if logs.declaration.cluster is not None or logs.declaration.keep_probability is not None:
        raise UsageError("simulate draws rounds one by one; it knows no clusters and no sampled logs.")
    kept = _Rounds()
    sums = collect(logs, Plan(named), look=kept)
    refuse_faults(sums.invalid, rows=sums.rows)
    if sums.rows == 0:
        raise LogsError("these logs are empty: there is no round to draw.")
    count = min(sums.rows, 10_000) if rounds is None else rounds
    for name, number, least in (("rounds", count, 1), ("runs", runs, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise UsageError(f"{name} must be a whole number of at least {least}, but is {number!r}.")
    rng, rate = np.random.default_rng(seed), sums.logging.rewards / sums.units
    outcomes, truth = [], {}
    for place, name in enumerate(named):
        propensity, probability = kept.of(name)
        # Weights that average to more than 1 by chance would make a world in which no bound could hold.
        probability = probability / max(1.0, float((probability / propensity).mean()))
        chance = _chances(probability / propensity, rate)
        weights = probability / propensity
        low, high = float((weights * chance).mean()), 1.0 - float((weights * (1.0 - chance)).mean())
        truth[name] = logs.scale.value(low)
        found: dict[str, list[tuple[bool, float, bool]]] = {method: [] for method in METHODS}
        for run in range(runs):
            drawn = rng.integers(0, len(propensity), count)
            reward = (rng.random(count) < chance[drawn]).astype(np.float64)
            one = Logs(reward=reward, propensity=propensity[drawn], density=logs.declaration.density)
            for method in METHODS:
                if logs.declaration.density and method == "implicit-exploration":
                    continue
                found[method].append(_held(one, name, probability[drawn], method, delta, low, high))
            if progress is not None:
                progress(place * runs + run + 1)
        width = logs.scale.high - logs.scale.low
        for method, rows in found.items():
            if rows:
                held, widths, empty = (np.array(column) for column in zip(*rows, strict=True))
                bound = BOUNDS[method]
                promise: Promise = "one look" if "smoothing" in bound.options else bound.promise
                outcomes.append(
                    Outcome(
                        name, method, promise, float(held.mean()), width * float(widths.mean()), float(empty.mean())
                    )
                )
    return Simulation(tuple(outcomes), count, runs, delta, truth)


def _held(
    logs: Logs, name: str, probability: FloatArray, method: str, delta: float, low: float, high: float
) -> tuple[bool, float, bool]:
    """Whether both bounds hold, how far they are apart, and whether the lower one says nothing."""
    try:
        bounds = evaluate(logs, {name: probability}, method=method, delta=delta)[name]
    except LogsError:
        return False, 0.0, False  # they contradict each other, as bounds that fail may
    assert bounds.lower is not None
    assert bounds.upper is not None
    held = bounds.lower <= low + ROUNDING and bounds.upper >= high - ROUNDING
    return held, bounds.upper - bounds.lower, bounds.lower <= 0.0


def _chances(weights: FloatArray, rate: float) -> FloatArray:
    """Chances of a reward that rise with the weight, from half to one and a half times the rate."""
    rising = 0.5 + weights / (1.0 + weights)
    chances: FloatArray = np.clip(rate * rising / rising.mean(), 0.0, 1.0)
    return chances


class _Rounds:
    """Propensities, and every policy's probabilities, of the first rounds."""

    def __init__(self) -> None:
        self._kept: dict[str, list[FloatArray]] = {"": []}
        self._rows = 0

    def __call__(self, reading: Reading) -> None:
        if self._rows >= KEPT:
            return
        self._rows += reading.rounds.size
        self._kept[""].append(reading.rounds.propensity)
        for name, found in reading.probabilities.items():
            self._kept.setdefault(name, []).append(found.logged)

    def of(self, name: str) -> tuple[FloatArray, FloatArray]:
        return np.concatenate(self._kept[""]), np.concatenate(self._kept[name])
