"""How narrow is each bound on the paper's evaluation scenarios, against the paper's own, and how often does it miss?

A faulty policy (temperature .2, .25, .3; noise 0, .1, .2) logs one decision for each row of a labelled data set, and an
ideal policy (temperature .1 to .5) is bounded from below at delta = 0.05: 45 scenarios a data set. The relative radius is
1 - bound/truth, averaged over a few logs of each scenario. The data sets are read from SURELIFT_DATA:
python benchmarks/tightness.py [dataset ...]
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import surelift as sl
from surelift.datasets import encode_labels, faulty_policy, ideal_policy, supervised_to_bandit

DATASETS = (
    "ecoli", "arrhythmia", "micro-mass", "balance-scale", "vehicle", "yeast", "page-blocks", "optdigits", "satimage",
    "kropt",
)  # fmt: skip
BASELINE = "LS, 1/sqrt(n)"
# One log says little: its luck with the few rounds in which the faulty policy was right moves every radius together.
REPETITIONS = 4
METHODS: dict[str, dict[str, Any]] = {
    BASELINE: {"method": "logarithmic-smoothing"},
    "LS-mix, planned": {"grid": "planned", "control": "none"},
    "LS-mix, anytime": {"control": "none"},
    "LS-WC, planned": {"grid": "planned", "control": "weights"},
    "LS-WC, anytime": {"control": "weights"},
    "second moment": {"method": "second-moment"},
    "IX": {"method": "implicit-exploration"},
    "empirical Bernstein": {"method": "empirical-bernstein"},
    "SN-ES (not rigorous)": {"method": "efron-stein", "draws": 200},
    "normal (asymptotic)": {"method": "normal"},
}


def scenarios(path: Path, seed: int) -> dict[str, list[tuple[float, bool]]]:
    """Relative radius and miss of every method in every scenario of one data set."""
    labels = pq.read_table(path, columns=["label"])["label"].to_pylist()
    codes, names = encode_labels(labels)
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in METHODS}
    rng = np.random.default_rng(seed)
    for behaviour in (0.2, 0.25, 0.3):
        logging = faulty_policy(codes, len(names), temperature=behaviour)
        for noise in (0.0, 0.1, 0.2):
            feedback = supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, noise=noise, rng=rng)
            logs = feedback.logs()
            for target in (0.1, 0.2, 0.3, 0.4, 0.5):
                policy = ideal_policy(codes, len(names), temperature=target)
                truth = feedback.true_value(policy)
                for name, options in METHODS.items():
                    bound = sl.evaluate(logs, {"ideal": policy}, sides="lower", **options)["ideal"].lower
                    assert bound is not None
                    found[name].append((1 - bound / truth, bound > truth))
    return found


def main(*datasets: str) -> None:
    folder = os.environ.get("SURELIFT_DATA")
    if not folder:
        sys.exit("SURELIFT_DATA names no folder of datasets")
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in METHODS}
    for dataset in datasets or DATASETS:
        one: dict[str, list[tuple[float, bool]]] = {name: [] for name in METHODS}
        for seed in range(REPETITIONS):
            for name, rows in scenarios(Path(folder) / f"{dataset}.parquet", seed).items():
                one[name] += rows
        print(
            f"{dataset:14}"
            + "".join(f"  {name} {np.mean([r for r, _ in one[name]]):.3f}" for name in list(METHODS)[:5])
        )
        for name in METHODS:
            found[name] += one[name]
    base = np.array([radius for radius, _ in found[BASELINE]])
    print(f"\n{len(base)} logs: mean relative radius, mean ratio to {BASELINE}, misses (5% allowed)")
    for name, rows in found.items():
        radii, missed = (np.array(column) for column in zip(*rows, strict=True))
        print(f"  {name:22} {radii.mean():.3f}   {(radii / base).mean():.2f}x   {missed.mean():.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
