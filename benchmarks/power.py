"""How often is "better than production" certified: paired on the same rounds, or by comparing two separate intervals?

A truly better candidate replaces production in 100%, 20%, 5% and 1% of the decisions, so its improvement shrinks in
proportion. Separate intervals certify if the candidate's lower bound exceeds production's upper bound, each at
delta/2 = 0.025, with the same bound and the same control. If all actions have the same expected reward, nothing is better,
and everything certified is false: python benchmarks/power.py
"""

from dataclasses import dataclass

import numpy as np

import surelift as sl
from surelift.arrays import FloatArray

DELTA, LOGS, ACTIONS, CONTEXTS = 0.05, 100, 5, 8
SHARES = (1.0, 0.2, 0.05, 0.01)
ROUNDS = (1_000, 4_000, 16_000)


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


def certified(task: Problem, share: float, rounds: int) -> tuple[float, float]:
    """How often it is certified paired, and by separate intervals."""
    paired = separate = 0
    for seed in range(LOGS):
        logs, candidate = task.log(rounds, np.random.default_rng(seed))
        new = sl.blend(candidate, share)
        paired += sl.compare(logs, {"new": new}, delta=DELTA).certified
        lower = sl.evaluate(logs, {"new": new}, sides="lower", delta=DELTA / 2)["new"].lower
        upper = sl.evaluate(logs, {"now": "production"}, sides="upper", delta=DELTA / 2)["now"].upper
        assert lower is not None
        assert upper is not None
        separate += lower > upper
    return paired / LOGS, separate / LOGS


def main() -> None:
    for title, task in (("a better candidate", problem(better=True)), ("no improvement", problem(better=False))):
        print(f"\n{title}: share certified, of {LOGS} logs (delta {DELTA})")
        print("  new share  improvement  " + "".join(f"{rounds:>10,} rounds: paired separate" for rounds in ROUNDS))
        for share in SHARES:
            shares = [certified(task, share, rounds) for rounds in ROUNDS]
            cells = "".join(f"{paired:>24.2f}{separate:>9.2f}" for paired, separate in shares)
            print(f"  {share:>9.0%}  {share * task.improvement:>11.5f}{cells}", flush=True)


if __name__ == "__main__":
    main()
