"""What a judge is worth: the width with 5% of the rounds labelled, over that of the labels alone and of all rounds labelled.

Two actions, a candidate that prefers the better one, rewards from rare to frequent, and judges from a correlation of 0.9
with the reward, also one that is as correlated and off in level and slope, to none. A width is the mean distance of a lower
bound from the truth over the logs, at delta = 0.05 on the default grid; "all" has the reward of every round and no control.
python benchmarks/labels.py [logs per problem]
"""

import sys
from itertools import product
from typing import Any

import numpy as np

import surelift as sl
from surelift.arrays import FloatArray

KAPPA, ROUNDS, LEVELS = 0.05, (2_000, 20_000, 100_000), (0.05, 0.3, 0.7)
JUDGES = ("good", "off", "weak", "useless")
NOISE = {0.05: (0.265, 0.48), 0.3: (0.305, 0.65), 0.7: (0.305, 0.65)}
"""The noise with which a good judge (correlation 0.9) and a weak one (0.6) see the reward."""


def score_of(rng: np.random.Generator, judge: str, reward: FloatArray, level: float) -> FloatArray:
    if judge == "useless":
        return rng.random(len(reward))
    noise = NOISE[level][judge == "weak"]
    seen = reward + rng.normal(0.0, noise, len(reward))
    chance = 1.0 / (1.0 + np.exp((0.5 - seen) / noise**2) * (1.0 - level) / level)
    return 0.3 + 0.5 * chance if judge == "off" else chance


def problem(rng: np.random.Generator, rounds: int, level: float, judge: str) -> tuple[dict[str, Any], float, float]:
    """A log, the value of its candidate, and the improvement over production."""
    chance = np.where(rng.random(rounds) < 0.5, 0.7, 0.4)
    good = rng.random(rounds) < chance
    propensity = np.where(good, chance, 1.0 - chance)
    low, high = 0.7 * level, 1.3 * level
    reward = (rng.random(rounds) < np.where(good, high, low)).astype(float)
    table = {
        "reward": reward, "label": np.where(rng.random(rounds) < KAPPA, reward, np.nan), "propensity": propensity,
        "judge": score_of(rng, judge, reward, level), "new": np.where(good, 0.8, 0.2),
    }  # fmt: skip
    value = 0.8 * high + 0.2 * low
    return table, value, value - (0.55 * high + 0.45 * low)


def main(logs: int) -> None:
    print("rounds   reward  judge    correlation    value: over labels, all    improvement: over labels, all")
    for rounds, level, judge in product(ROUNDS, LEVELS, JUDGES):
        widths, correlations = np.zeros((3, 2)), []
        for seed in range(logs):
            table, value, gain = problem(np.random.default_rng(seed), rounds, level, judge)
            correlations.append(np.corrcoef(table["judge"], table["reward"])[0, 1])
            scored = sl.Logs(table, reward="label", propensity="propensity", score="judge", label_probability=KAPPA)
            whole = sl.Logs(table, reward="reward", propensity="propensity")
            for place, (log, control) in enumerate(((scored, "auto"), (scored, "none"), (whole, "none"))):
                lower = sl.evaluate(log, {"new": "new"}, sides="lower", control=control)["new"].lower
                assert lower is not None
                widths[place] += value - lower, gain - sl.compare(log, "new", control=control).lower
        ratios = widths[0] / widths[1:]
        print(
            f"{rounds:7,}  {level:6.2f}  {judge:8} {np.mean(correlations):7.2f}  {ratios[0, 0]:15.2f} {ratios[1, 0]:8.2f}"
            f"  {ratios[0, 1]:22.2f} {ratios[1, 1]:8.2f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
