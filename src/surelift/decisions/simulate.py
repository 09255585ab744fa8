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
from surelift.questions.method import check_delta
from surelift.questions.question import Progress
from surelift.questions.stored import require_logs
from surelift.results.alternatives import SimulatedMethod, Simulation
from surelift.statistics.plan import Plan, Request
from surelift.statistics.single_rounds import Sample
from surelift.statistics.sums import COUNT, PRODUCTION
from surelift.traits.logs import Logs

SAMPLED = 50_000
SEED = 20240523
ROUNDING = 1e-12


def simulate(
    logs: Logs, policies: Any, *, delta: float = 0.05, rounds: int | None = None, runs: int = 100, seed: int = SEED,
    progress: Progress | None = None,
) -> Simulation:  # fmt: skip
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
    sample = Sample(tuple(named), SAMPLED)
    sums = collect(completed(logs), Plan(named, (Request(COUNT), Request(PRODUCTION), Request(sample))))
    if sums.invalid:
        refuse_faults(sums.invalid, rows=sums.rows)
    if sums.rows == 0:
        raise LogsError(EMPTY)
    count = whole("rounds", min(sums.rows, 10_000) if rounds is None else rounds)
    whole("runs", runs)
    rng, rate = np.random.default_rng(whole("seed", seed, least=0)), sums.production.rewards / sums.units
    # Methods that need no more than a column of probabilities, with their default options.
    methods = [name for name, bound in BOUNDS.items() if bound.needs == "three columns"]
    if density := "density" in logs.declaration.features:
        methods.remove("implicit-exploration")
    _, propensity, *probabilities = sums.get(sample).rows
    outcomes, truth = [], {}
    for place, (name, probability) in enumerate(zip(named, probabilities, strict=True)):
        # Weights that average to more than 1 by chance would make a world in which no bound could hold.
        probability = probability / max(1.0, float((probability / propensity).mean()))
        weights = probability / propensity
        # Chances of a reward that rise with the weight, from half to one and a half times the rate.
        rising = 0.5 + weights / (1.0 + weights)
        chance = np.clip(rate * rising / rising.mean(), 0.0, 1.0)
        low, high = float((weights * chance).mean()), 1.0 - float((weights * (1.0 - chance)).mean())
        truth[name] = logs.scale.value(low)
        found: dict[str, list[tuple[bool, float, bool]]] = {method: [] for method in methods}
        for run in range(runs):
            drawn = rng.integers(0, len(propensity), count)
            reward = (rng.random(count) < chance[drawn]).astype(np.float64)
            one = Logs(reward=reward, propensity=propensity[drawn], density=density)
            for method in methods:
                found[method].append(_held(one, probability[drawn], method, delta, low, high))
            if progress is not None:
                progress(place * runs + run + 1)
        for method, rows in found.items():
            held, width, empty = (float(np.mean(column)) for column in zip(*rows, strict=True))
            promise = BOUNDS[method]().promise
            outcomes.append(SimulatedMethod(name, method, promise, held, logs.scale.width * width, empty))
    return Simulation(tuple(outcomes), count, runs, delta, truth)


def _held(
    logs: Logs, probability: FloatArray, method: str, delta: float, low: float, high: float
) -> tuple[bool, float, bool]:
    """Both bounds hold, how far they are apart, and whether the lower one says nothing."""
    try:
        bounds = evaluate(logs, {"new": probability}, method=method, delta=delta)["new"]
    except LogsError:
        return False, 0.0, False  # they contradict each other, as bounds that fail may
    assert bounds.lower is not None
    assert bounds.upper is not None
    held = bounds.lower <= low + ROUNDING and bounds.upper >= high - ROUNDING
    return held, bounds.upper - bounds.lower, bounds.lower <= 0.0
