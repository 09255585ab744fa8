"""How often is "better than production" certified: paired on the same rounds, or by comparing two separate intervals?

A truly better candidate replaces production in 100%, 20%, 5% and 1% of the decisions, so its improvement shrinks in
proportion. Separate intervals certify if the candidate's lower bound exceeds production's upper bound, each at
delta/2 = 0.025, with the same bound and the same control. Bets in blocks are for one look. The normal interval is shown
for comparison: it is not valid. If all actions have the same expected reward, nothing is better, and everything certified
is false. With SURELIFT_DATA set, also a 5% blend on yeast: python benchmarks/power.py
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import surelift as sl
from surelift.arrays import FloatArray
from surelift.datasets import encode_labels, faulty_policy, ideal_policy, supervised_to_bandit

DELTA, LOGS, ACTIONS, CONTEXTS = 0.05, 100, 5, 8
SHARES = (1.0, 0.2, 0.05, 0.01)
ROUNDS = (1_000, 4_000, 16_000)
# The setting of the paper's Table 1, with as many rows of yeast.
LOGGING_TEMPERATURE, NOISE, IDEAL_TEMPERATURE, YEAST_ROUNDS, YEAST_SHARE = 0.25, 0.2, 0.1, 500, 0.05


@dataclass(frozen=True)
class Problem:
    """The expected reward of each action in each context, production's policy and the candidate's."""

    expected: FloatArray
    production: FloatArray
    candidate: FloatArray

    @property
    def improvement(self) -> float:
        return float(((self.candidate - self.production) * self.expected).sum(axis=1).mean())

    def log(self, rounds: int, rng: np.random.Generator) -> tuple[sl.Logs, FloatArray]:
        context = rng.integers(0, CONTEXTS, rounds)
        logging = self.production[context]
        action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
        reward = (rng.random(rounds) < self.expected[context, action]).astype(float)
        logs = sl.Logs(reward=reward, propensity=logging[np.arange(rounds), action], action=action, logging=logging)
        return logs, self.candidate[context]


def problem(*, better: bool) -> Problem:
    rng = np.random.default_rng(20240523)
    expected = rng.uniform(0.05, 0.35, (CONTEXTS, ACTIONS))
    candidate, production = (
        softmax(scale * expected + noise) for scale, noise in ((15.0, 0.0), (0.0, rng.normal(size=expected.shape)))
    )
    return Problem(expected if better else np.full_like(expected, 0.2), production, candidate)


def softmax(scores: FloatArray) -> FloatArray:
    exponentials = np.exp(scores)
    shares: FloatArray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares


def separately(logs: sl.Logs, new: object) -> bool:
    lower = sl.evaluate(logs, {"new": new}, sides="lower", delta=DELTA / 2)["new"].lower
    upper = sl.evaluate(logs, {"now": "production"}, sides="upper", delta=DELTA / 2)["now"].upper
    assert lower is not None
    assert upper is not None
    return bool(lower > upper)


def in_blocks(logs: sl.Logs, new: object) -> bool:
    try:
        return sl.compare(logs, {"new": new}, delta=DELTA, method="blocks").certified
    except sl.LogsError:  # the bounds contradict each other
        return False


METHODS: dict[str, Callable[[sl.Logs, object], bool]] = {
    "paired": lambda logs, new: sl.compare(logs, {"new": new}, delta=DELTA).certified,
    "separate": separately,
    "blocks": in_blocks,
    "normal (not valid)": lambda logs, new: sl.compare(logs, {"new": new}, delta=DELTA, method="normal").lower > 0.0,
}
HEADS = "".join(f"  {name}" for name in METHODS)


def certified(draw: Callable[[np.random.Generator], tuple[sl.Logs, FloatArray]], share: float) -> str:
    """How often each method certifies a blend, as cells of a row."""
    found = []
    for seed in range(LOGS):
        logs, candidate = draw(np.random.default_rng(seed))
        new = sl.blend(candidate, share)
        found.append([method(logs, new) for method in METHODS.values()])
    shares = np.mean(found, axis=0)
    return "".join(f"  {certain:>{len(name)}.2f}" for name, certain in zip(METHODS, shares, strict=True))


def yeast(folder: str) -> None:
    """Rows drawn independently, decided by the faulty policy; the ideal one is the candidate."""
    labels = np.array(pq.read_table(Path(folder) / "yeast.parquet", columns=["label"])["label"].to_pylist())
    codes, names = encode_labels(labels)
    logging = faulty_policy(codes, len(names), temperature=LOGGING_TEMPERATURE)
    candidate = ideal_policy(codes, len(names), temperature=IDEAL_TEMPERATURE)

    def draw(rng: np.random.Generator) -> tuple[sl.Logs, FloatArray]:
        feedback = supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, noise=NOISE, rng=rng)
        rows = rng.integers(0, len(codes), YEAST_ROUNDS)
        action = feedback.action[rows]
        logs = sl.Logs(reward=feedback.reward[rows], propensity=logging[rows, action], action=action, logging=logging[rows])
        return logs, candidate[rows]

    print(f"\na {YEAST_SHARE:.0%} blend on yeast, {YEAST_ROUNDS} rounds: share certified, of {LOGS} logs (delta {DELTA})")
    print(f"  faulty policy {LOGGING_TEMPERATURE}, ideal policy {IDEAL_TEMPERATURE}, noise {NOISE}")
    print(f"{HEADS}\n{certified(draw, YEAST_SHARE)}", flush=True)


def main() -> None:
    for title, task in (("a better candidate", problem(better=True)), ("no improvement", problem(better=False))):
        print(f"\n{title}: share certified, of {LOGS} logs (delta {DELTA})")
        print(f"  new share  improvement  rounds{HEADS}")
        for share in SHARES:
            for rounds in ROUNDS:
                cells = certified(lambda rng: task.log(rounds, rng), share)
                print(f"  {share:>9.0%}  {share * task.improvement:>11.5f}  {rounds:>6,}{cells}", flush=True)
    folder = os.environ.get("SURELIFT_DATA")
    if folder:
        yeast(folder)


if __name__ == "__main__":
    main()
