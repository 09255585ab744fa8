"""Does a training step of a softmax over items stay fast as their number grows, and is its result certified at 100,000?

A step of 128 rounds at 1,000, 10,000 and 100,000 items, compared with the full softmax in torch, on one machine in one run.
Then a simulated shop with 100,000 items and known true values: visitors like items near them, production follows that
only roughly, and 100,000 rounds are logged:
python benchmarks/items.py [number of items in the shop] [rounds]
"""

import statistics
import sys
import time
from typing import Any

import numpy as np
import torch

import surelift as sl
from surelift.learning import ItemSoftmax, PolicyLearner
from surelift.learning.policies.items import SampledSoftmax

COLUMNS, BATCH = 32, 128


def step_times() -> None:
    print(f"a step of {BATCH} rounds, {COLUMNS} columns, median of 41 alternating runs, compared with the full softmax")
    rng = np.random.default_rng(0)
    first: dict[str, float] = {}
    for items in (1_000, 10_000, 100_000):
        embeddings = rng.normal(size=(items, COLUMNS)).astype(np.float32)
        weights = (0.3 * rng.normal(size=(COLUMNS, COLUMNS))).astype(np.float32)
        sampled = SampledSoftmax(ItemSoftmax(embeddings), weights)
        full = SampledSoftmax(ItemSoftmax(embeddings, draws=items), weights)
        times: dict[str, list[float]] = {"ours": [], "full softmax": []}
        for _ in range(41):
            features = torch.from_numpy(rng.normal(size=(BATCH, COLUMNS)).astype(np.float32))
            action = torch.from_numpy(rng.integers(0, items, BATCH))
            for name, policy in (("ours", sampled), ("full softmax", full)):
                start = time.perf_counter()
                policy.logged(features, action).mean().backward()  # type: ignore[no-untyped-call]
                times[name].append(time.perf_counter() - start)
        cells = []
        for name, taken in times.items():
            median = statistics.median(taken)
            cells.append(f"{name} {1e3 * median:.1f} ms ({median / first.setdefault(name, median):.1f}x)")
        print(f"  {items:7,} items: {', '.join(cells)}", flush=True)


class Shop:
    def __init__(self, items: int, columns: int = 12) -> None:
        rng = np.random.default_rng(1)
        self.embeddings = rng.normal(size=(items, columns)).astype(np.float32)
        self.columns = columns

    def liking(self, contexts: np.ndarray) -> np.ndarray:
        scores: np.ndarray = contexts @ self.embeddings.T.astype(np.float64) / np.sqrt(self.columns)
        return scores

    def logged(self, rounds: int, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        contexts = rng.normal(size=(rounds, self.columns))
        action, propensity = np.empty(rounds, dtype=np.int64), np.empty(rounds)
        reward = np.empty(rounds)
        for start in range(0, rounds, 256):
            rows = slice(start, min(start + 256, rounds))
            production = self.production(contexts[rows])
            edges = np.cumsum(production, axis=1)
            draws = rng.random(len(edges)) * edges[:, -1]
            chosen = np.array([np.searchsorted(edge, draw, side="right") for edge, draw in zip(edges, draws, strict=True)])
            rows_of_batch = np.arange(len(chosen))
            action[rows], propensity[rows] = chosen, production[rows_of_batch, chosen]
            near = (contexts[rows] * self.embeddings[chosen]).sum(axis=1) / np.sqrt(self.columns)
            reward[rows] = rng.random(len(chosen)) < self.chance(near)
        return {
            "contexts": contexts, "action": action, "reward": reward, "propensity": propensity,
            "action_count": len(self.embeddings),
        }  # fmt: skip

    def production(self, contexts: np.ndarray) -> np.ndarray:
        shares = np.exp(0.7 * self.liking(contexts))
        probabilities: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
        return probabilities

    @staticmethod
    def chance(liking: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = 1.0 / (1.0 + np.exp(2.0 - 1.5 * liking))
        return probabilities

    def value(self, policy: Any, rounds: int = 1024, seed: int = 9) -> tuple[float, float]:
        """The values of a policy and of production, over all items, on fresh contexts."""
        contexts = np.random.default_rng(seed).normal(size=(rounds, self.columns))
        new = now = 0.0
        for start in range(0, rounds, 64):
            batch = contexts[start : start + 64]
            chance = self.chance(self.liking(batch))
            new += float((policy.predict_proba(batch) * chance).sum())
            now += float((self.production(batch) * chance).sum())
        return new / rounds, now / rounds


def certified(items: int, rounds: int) -> None:
    shop = Shop(items)
    start = time.perf_counter()
    data = shop.logged(rounds, seed=0)
    print(f"a shop with {items:,} items, {rounds:,} rounds logged in {time.perf_counter() - start:.0f} s", flush=True)
    logs = sl.Logs(**data)
    # If production is a softmax over these embeddings, start from its own weights.
    weights = np.hstack([0.7 * np.eye(shop.columns), np.zeros((shop.columns, 1))]) / np.sqrt(shop.columns)
    learner = PolicyLearner(ItemSoftmax(shop.embeddings, start=weights), epochs=5, batch_size=256, learning_rate=0.003)
    start = time.perf_counter()
    ends: list[float] = []
    learner.fit(logs, progress=lambda *_: ends.append(time.perf_counter()))
    seconds = time.perf_counter() - start
    answer: Any = learner.answer_
    new, now = shop.value(learner)
    print(
        f"  learned in {ends[-1] - start:.0f} s and evaluated in {start + seconds - ends[-1]:.0f} s: "
        f"{'certified' if answer.certified else 'not certified'}, at least {answer.lower:+.4f} over production (estimate "
        f"{answer.estimate:+.4f}, truth {new - now:+.4f}: {now:.4f} to {new:.4f})"
    )


def main(items: str = "100000", rounds: str = "100000") -> None:
    step_times()
    certified(int(items), int(rounds))


if __name__ == "__main__":
    main(*sys.argv[1:])
