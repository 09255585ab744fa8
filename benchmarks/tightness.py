"""How narrow is each bound compared with the paper's, and how often does it miss?

On the paper's evaluation scenarios, and on random problems. In a scenario, a faulty policy (temperature .2, .25, .3;
noise 0, .1, .2) logs one decision for each row of a labelled data set, and an ideal policy (temperature .1 to .5) is bounded
from below at delta = 0.05: 45 scenarios per data set. A good reward model knows the expected rewards, a useless one is
noise. The relative radius is 1 - bound/truth, averaged over a few logs of each scenario. Reads SURELIFT_DATA:
python benchmarks/tightness.py [dataset ...]
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import surelift as sl
from surelift.arrays import FloatArray
from surelift.datasets import encode_labels, faulty_policy, ideal_policy, supervised_to_bandit

DATASETS = (
    "ecoli", "arrhythmia", "micro-mass", "balance-scale", "vehicle", "yeast", "page-blocks", "optdigits", "satimage",
    "kropt",
)  # fmt: skip
DELTA = 0.05
# One log is not enough: luck in the few rounds where the faulty policy was right moves all radii together.
REPETITIONS = 4
BASELINE, TARGET = "LS, 1/sqrt(n)", "LS-WC, planned"


@dataclass(frozen=True)
class Problem:
    """A log, a policy to be bounded, and the true expected rewards."""

    logs: sl.Logs
    policy: FloatArray
    truth: float
    expected_rewards: FloatArray
    noise: FloatArray


METHODS: dict[str, Callable[[Problem], dict[str, Any]]] = {
    BASELINE: lambda _: {"method": "logarithmic-smoothing"},
    "LS-mix, planned": lambda _: {"grid": "planned", "control": "none"},
    "LS-mix, anytime": lambda _: {"control": "none"},
    TARGET: lambda _: {"grid": "planned", "control": "weights"},
    "LS-WC, anytime": lambda _: {"control": "weights"},
    "LS-DR, good model": lambda problem: {"control": sl.models.given(problem.expected_rewards)},
    "LS-DR, useless model": lambda problem: {"control": sl.models.given(problem.noise)},
    "second moment": lambda _: {"method": "second-moment"},
    "IX": lambda _: {"method": "implicit-exploration"},
    "empirical Bernstein": lambda _: {"method": "empirical-bernstein"},
    "SN-ES (not rigorous)": lambda _: {"method": "efron-stein", "draws": 200},
    "normal (asymptotic)": lambda _: {"method": "normal"},
}
CERTIFIED = [name for name in METHODS if "(" not in name.replace("(n)", "")]


def scenarios(path: Path, rng: np.random.Generator) -> Iterator[Problem]:
    labels = pq.read_table(path, columns=["label"])["label"].to_pylist()
    codes, names = encode_labels(labels)
    for behaviour in (0.2, 0.25, 0.3):
        logging = faulty_policy(codes, len(names), temperature=behaviour)
        for noise in (0.0, 0.1, 0.2):
            feedback = supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, noise=noise, rng=rng)
            logs = feedback.logs()
            useless = rng.random(logging.shape)
            for temperature in (0.1, 0.2, 0.3, 0.4, 0.5):
                policy = ideal_policy(codes, len(names), temperature=temperature)
                yield Problem(logs, policy, feedback.true_value(policy), feedback.expected_rewards, useless)


def random_problems(rng: np.random.Generator) -> Iterator[Problem]:
    """2 to 30 actions, peaked or even policies, rewards from rare to almost certain, 300 to 10,000 rounds."""
    for actions in (2, 5, 30):
        for level in (0.02, 0.1, 0.5, 0.9):
            for rounds in (300, 2_000, 10_000):
                concentration = rng.uniform(0.3, 3.0)
                logging = rng.dirichlet(np.full(actions, concentration), rounds)
                policy = rng.dirichlet(np.full(actions, rng.uniform(0.3, 3.0)), rounds)
                spread = min(level, 1.0 - level)
                expected = np.clip(level + spread * rng.uniform(-1.0, 1.0, (rounds, actions)), 0.0, 1.0)
                action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
                at = (np.arange(rounds), action)
                reward = (rng.random(rounds) < expected[at]).astype(float)
                logs = sl.Logs(reward=reward, propensity=logging[at], action=action, logging=logging)
                truth = float((policy * expected).sum(axis=1).mean())
                yield Problem(logs, policy, truth, expected, rng.random(logging.shape))


def bounded(problems: Iterator[Problem]) -> FloatArray:
    """The relative radius of every method on every problem, (problems, methods); negative if the bound missed."""
    rows = []
    for problem in problems:
        row = []
        for options in METHODS.values():
            new = {"new": problem.policy}
            lower = sl.evaluate(problem.logs, new, delta=DELTA, sides="lower", **options(problem))["new"].lower
            assert lower is not None
            row.append(1.0 - lower / problem.truth)
        rows.append(row)
    return np.array(rows)


def show(title: str, radii: FloatArray) -> None:
    """Mean radius, mean ratio to the baseline over scenarios, and misses, from (repetitions, scenarios, methods)."""
    means = radii.mean(axis=0)
    ratios = means / means[:, [list(METHODS).index(BASELINE)]]
    print(f"\n{title}: {radii.shape[1]} scenarios, {radii.shape[0]} logs each; {DELTA:.0%} misses allowed")
    print(f"  {'':22} radius  ratio to {BASELINE}  misses")
    for index, name in enumerate(METHODS):
        print(
            f"  {name:22} {means[:, index].mean():.3f}   {ratios[:, index].mean():.2f}x"
            f"                    {(radii[:, :, index] < 0).mean():.1%}"
        )
    worst = max(CERTIFIED, key=lambda name: (radii[:, :, list(METHODS).index(name)] < 0).mean())
    missed = (radii[:, :, list(METHODS).index(worst)] < 0).mean()
    print(f"  the certified method that misses most: {worst}, {missed:.2%}")


def main(*datasets: str) -> None:
    folder = os.environ.get("SURELIFT_DATA")
    if not folder:
        sys.exit("SURELIFT_DATA is not set to a folder of data sets")
    results = []
    for dataset in datasets or DATASETS:
        path = Path(folder) / f"{dataset}.parquet"
        radii = np.stack([bounded(scenarios(path, np.random.default_rng(seed))) for seed in range(REPETITIONS)])
        shown = ", ".join(f"{name} {radii[:, :, index].mean():.3f}" for index, name in enumerate(list(METHODS)[:7]))
        print(f"{dataset:14} {shown}", flush=True)
        results.append(radii)
    show("The paper's scenarios", np.concatenate(results, axis=1))
    drawn = [bounded(random_problems(np.random.default_rng(1000 + seed))) for seed in range(5 * REPETITIONS)]
    show("Random problems", np.stack(drawn))


if __name__ == "__main__":
    main(*sys.argv[1:])
