"""How narrow is each bound compared with the paper's and with the best factor, and how often does it miss?

On the paper's evaluation scenarios, on random problems, and at 1% clicks. In a scenario, a faulty policy (temperature .2,
.25, .3; noise 0, .1, .2) logs one decision for each row of a labelled data set, and an ideal policy (temperature .1 to .5)
is bounded from below at delta = 0.05: 45 scenarios per data set. A good reward model knows the expected rewards, a useless
one is noise. 1% clicks come twice: policies as in random problems, and even ones. The relative radius is 1 - bound/truth,
or 1 if the log was refused, averaged over a few logs of each scenario. The limit of Theorem A (benchmarks/limit.py) knows
the law and cannot be used. Reads SURELIFT_DATA; --quick makes a quarter of the logs:
python benchmarks/tightness.py [--quick] [dataset ...]
"""

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import surelift as sl
from surelift.arrays import FloatArray, IntArray
from surelift.datasets import encode_labels, faulty_policy, ideal_policy, supervised_to_bandit

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.limit import lower_limit

DATASETS = (
    "ecoli", "arrhythmia", "micro-mass", "balance-scale", "vehicle", "yeast", "page-blocks", "optdigits", "satimage",
    "kropt",
)  # fmt: skip
DELTA = 0.05
# One log is not enough: luck in the few rounds where the faulty policy was right moves all radii together.
REPETITIONS = 4
PAPER, PLANNED, BLOCKS, LIMIT, NORMAL = (
    "LS, 1/sqrt(n)", "LS-WC, planned", "blocks", "limit (law known)", "normal (asymptotic)",
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A log, a policy to be bounded, and the true expected rewards."""

    action: IntArray
    reward: FloatArray
    logging: FloatArray
    policy: FloatArray
    expected_rewards: FloatArray
    noise: FloatArray

    @property
    def truth(self) -> float:
        return float((self.policy * self.expected_rewards).sum(axis=1).mean())

    def bound(self, **options: Any) -> float:
        at = (np.arange(len(self.action)), self.action)
        logs = sl.Logs(reward=self.reward, propensity=self.logging[at], action=self.action, logging=self.logging)
        try:
            answer = sl.evaluate(logs, {"new": self.policy}, delta=DELTA, sides="lower", **options)["new"]
        except sl.LogsError:
            # This bound and its upper one contradict each other: one of the two missed, and there is no answer.
            return math.nan
        lower: float | None = answer.lower
        assert lower is not None
        return lower

    def limit(self) -> float:
        return lower_limit(
            self.logging, self.policy, self.expected_rewards, action=self.action, reward=self.reward, delta=DELTA
        )


METHODS: dict[str, Callable[[Problem], float]] = {
    PAPER: lambda problem: problem.bound(method="logarithmic-smoothing"),
    "LS-mix, planned": lambda problem: problem.bound(grid="planned", control="none"),
    "LS-mix, anytime": lambda problem: problem.bound(control="none"),
    PLANNED: lambda problem: problem.bound(grid="planned", control="weights"),
    "LS-WC, anytime": lambda problem: problem.bound(control="weights"),
    BLOCKS: lambda problem: problem.bound(method="blocks"),
    LIMIT: Problem.limit,
    "LS-DR, good model": lambda problem: problem.bound(control=sl.models.given(problem.expected_rewards)),
    "LS-DR, useless model": lambda problem: problem.bound(control=sl.models.given(problem.noise)),
    "second moment": lambda problem: problem.bound(method="second-moment"),
    "IX": lambda problem: problem.bound(method="implicit-exploration"),
    "empirical Bernstein": lambda problem: problem.bound(method="empirical-bernstein"),
    "SN-ES (not rigorous)": lambda problem: problem.bound(method="efron-stein", draws=200),
    NORMAL: lambda problem: problem.bound(method="normal"),
}
RARE = (PAPER, PLANNED, BLOCKS, LIMIT, NORMAL)
"""What is compared at 1% clicks."""


def scenarios(path: Path, rng: np.random.Generator) -> Iterator[Problem]:
    labels = pq.read_table(path, columns=["label"])["label"].to_pylist()
    codes, names = encode_labels(labels)
    for behaviour in (0.2, 0.25, 0.3):
        logging = faulty_policy(codes, len(names), temperature=behaviour)
        for noise in (0.0, 0.1, 0.2):
            feedback = supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, noise=noise, rng=rng)
            useless = rng.random(logging.shape)
            for temperature in (0.1, 0.2, 0.3, 0.4, 0.5):
                policy = ideal_policy(codes, len(names), temperature=temperature)
                yield Problem(
                    feedback.action, feedback.reward, logging, policy, feedback.expected_rewards, useless
                )  # fmt: skip


def random_problems(
    rng: np.random.Generator,
    levels: Sequence[float] = (0.02, 0.1, 0.5, 0.9),
    sizes: Sequence[int] = (300, 2_000, 10_000),
    concentrations: tuple[float, float] = (0.3, 3.0),
) -> Iterator[Problem]:
    """2 to 30 actions, peaked or even policies, rewards from rare to almost certain."""
    for actions in (2, 5, 30):
        for level in levels:
            for rounds in sizes:
                logging = rng.dirichlet(np.full(actions, rng.uniform(*concentrations)), rounds)
                policy = rng.dirichlet(np.full(actions, rng.uniform(*concentrations)), rounds)
                spread = min(level, 1.0 - level)
                expected = np.clip(level + spread * rng.uniform(-1.0, 1.0, (rounds, actions)), 0.0, 1.0)
                action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
                at = (np.arange(rounds), action)
                reward = (rng.random(rounds) < expected[at]).astype(float)
                yield Problem(action, reward, logging, policy, expected, rng.random(logging.shape))


def bounded(problems: Iterator[Problem], methods: Sequence[str] = tuple(METHODS)) -> FloatArray:
    """The relative radius of every method on every problem, (problems, methods); negative if the bound missed, NaN if the
    log was refused.
    """
    return np.array([[1.0 - METHODS[name](problem) / problem.truth for name in methods] for problem in problems])


def show(title: str, radii: FloatArray, methods: Sequence[str] = tuple(METHODS)) -> None:
    """Of (repetitions, scenarios, methods): mean radii and their ratios, the largest ratio in a scenario, and misses."""
    refused, missed = np.isnan(radii).mean(axis=(0, 1)), (radii < 0).mean(axis=(0, 1))
    means = np.where(np.isnan(radii), 1.0, radii).mean(axis=0)
    to_paper, to_planned = (means / means[:, [methods.index(name)]] for name in (PAPER, PLANNED))
    whole = means.mean(axis=0) / means[:, methods.index(PLANNED)].mean()
    print(f"\n{title}: {radii.shape[1]} scenarios, {radii.shape[0]} logs each; {DELTA:.0%} misses allowed")
    print(f"  {'':22} radius  to {PAPER}, mean  to {PLANNED}: mean  worst scenario  misses  refused")
    for index, name in enumerate(methods):
        print(
            f"  {name:22} {means[:, index].mean():6.3f}  {to_paper[:, index].mean():21.2f}x {whole[index]:20.3f}x"
            f" {to_planned[:, index].max():14.2f}x  {missed[index]:6.2%}  {refused[index]:7.2%}"
        )
    certified = [index for index, name in enumerate(methods) if "(" not in name.replace("(n)", "")]
    worst = max(certified, key=missed.__getitem__)
    print(f"  the certified method that misses most: {methods[worst]}, {missed[worst]:.2%}", flush=True)


def drawn(title: str, repetitions: int, methods: Sequence[str] = tuple(METHODS), **law: Any) -> None:
    radii = []
    for seed in range(repetitions):
        print(f"{title}: log {seed + 1} of {repetitions}", end="\r", file=sys.stderr, flush=True)
        radii.append(bounded(random_problems(np.random.default_rng(1000 + seed), **law), methods))
    show(title, np.stack(radii), methods)


def main(*arguments: str) -> None:
    folder = os.environ.get("SURELIFT_DATA")
    if not folder:
        sys.exit("SURELIFT_DATA is not set to a folder of data sets")
    repetitions = 1 if "--quick" in arguments else REPETITIONS
    results = []
    for dataset in [name for name in arguments if name != "--quick"] or DATASETS:
        path = Path(folder) / f"{dataset}.parquet"
        radii = np.stack([bounded(scenarios(path, np.random.default_rng(seed))) for seed in range(repetitions)])
        shown = ", ".join(f"{name} {np.nanmean(radii[:, :, index]):.3f}" for index, name in enumerate(list(METHODS)[:7]))
        print(f"{dataset:14} {shown}", flush=True)
        results.append(radii)
    show("The paper's scenarios", np.concatenate(results, axis=1))
    drawn("Random problems", 5 * repetitions)
    drawn("1% clicks, 20,000 rounds", 5 * repetitions, RARE, levels=(0.01,), sizes=(20_000,))
    drawn(
        "1% clicks, 20,000 rounds, even policies",
        5 * repetitions,
        RARE,
        levels=(0.01,),
        sizes=(20_000,),
        concentrations=(10, 10),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
