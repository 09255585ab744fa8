"""How often would each method hold, and how wide would it be, on weights like these and rewards whose truth is known?"""

from typing import Any

import numpy as np

from surelift import capabilities
from surelift.arrays import FloatArray
from surelift.bounds import BOUNDS
from surelift.decisions.evaluate import evaluate
from surelift.engines import collect, completed
from surelift.engines.collect import EMPTY
from surelift.errors import LogsError, whole
from surelift.logs.faults import refuse_faults
from surelift.policies.resolve import name_policies
from surelift.questions.options import check_delta
from surelift.questions.question import Progress
from surelift.questions.stored import require_logs
from surelift.results.simulation import SimulatedMethod, Simulation
from surelift.statistics.plan import Plan, Request
from surelift.statistics.sample import Sample
from surelift.statistics.sums import COUNT, PRODUCTION
from surelift.traits.logs import Logs

SAMPLED = 50_000
SEED = 20240523
ROUNDING = 1e-12
# Methods that need no more than a column of probabilities, with their default options.
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
    earns: where weights are large there is then most to be missed.

    >>> logs = Logs(reward=[0, 1] * 200, propensity=[0.5, 0.1] * 200)
    >>> found = simulate(logs, {"new": [0.5, 0.3] * 200}, runs=20)
    >>> min(one.coverage for one in found.outcomes if one.promise == "any number of looks") >= 0.8
    True

    Args:
        logs: The log whose weights are used.
        policies: The candidates: a column, a list of columns, or a dict from names to policies.
        delta: The delta of every bound.
        rounds: How long each simulated log is; by default as long as this one, 10,000 at most.
        runs: How many logs are simulated.
        seed: The seed of the simulation.
        progress: Called with the number of logs simulated so far.
    """
    delta, named = check_delta(delta), name_policies(policies)
    require_logs(logs)
    capabilities.check(logs.declaration.features | {"simulation"})
    is_density = logs.declaration.has("density")
    sample = Sample(tuple(named), SAMPLED)
    requests = (Request(COUNT), Request(PRODUCTION), Request(sample))
    sums = collect(completed(logs), Plan(named, requests))
    refuse_faults(sums.invalid, rows=sums.rows)
    if sums.rows == 0:
        raise LogsError(EMPTY)
    count = min(sums.rows, 10_000) if rounds is None else rounds
    whole("rounds", count)
    whole("runs", runs)
    whole("seed", seed, least=0)
    rng, rate = np.random.default_rng(seed), sums.production.rewards / sums.units
    outcomes, truth = [], {}
    drawn_from = sums.get(sample).rows
    for place, name in enumerate(named):
        propensity, probability = drawn_from[1], drawn_from[2 + place]
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
            one = Logs(reward=reward, propensity=propensity[drawn], density=is_density)
            for method in METHODS:
                if is_density and method == "implicit-exploration":
                    continue
                found[method].append(_held(one, name, probability[drawn], method, delta, low, high))
            if progress is not None:
                progress(place * runs + run + 1)
        width = logs.scale.high - logs.scale.low
        for method, rows in found.items():
            if rows:
                held, widths, empty = (np.array(column) for column in zip(*rows, strict=True))
                promise = BOUNDS[method]().promise
                outcomes.append(
                    SimulatedMethod(
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
