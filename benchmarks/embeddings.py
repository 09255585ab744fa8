"""With ten thousand actions and informative embeddings, how wide is the interval by embeddings compared with by actions?

    python benchmarks/embeddings.py

A shop with 10,000 items of 40 kinds: an item's reward depends on its kind and on the visitor. Production explores all
items; the candidate prefers the visitor's favourite kinds, and its own choice of items within them. Prints the widths of
the intervals, their ratio to the plain one, how often each held over several logs, and the time.
"""

import sys
import time
from typing import Any

import numpy as np

import surelift as sl

ACTIONS, KINDS, ROUNDS, LOGS = 10_000, 40, 2_000, 5


def softmax(scores: Any) -> Any:
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def log(seed: int) -> tuple[dict[str, Any], Any, Any, float]:
    shop, rng = np.random.default_rng(0), np.random.default_rng(seed)
    kinds = shop.permutation(np.arange(ACTIONS) % KINDS)
    tastes = shop.normal(size=(4, KINDS))
    favourites = shop.normal(size=(4, ACTIONS))
    visitor = rng.integers(0, 4, ROUNDS)
    rates = 1.0 / (1.0 + np.exp(1.5 - tastes))
    logging = softmax(0.7 * favourites)[visitor]
    candidate = softmax(2.0 * tastes[:, kinds] + 2.0 * shop.normal(size=(4, ACTIONS)))[visitor]
    action = (logging.cumsum(axis=1) > rng.random(ROUNDS)[:, None]).argmax(axis=1)
    reward = (rng.random(ROUNDS) < rates[visitor, kinds[action]]) * 1.0
    truth = float((candidate * rates[visitor][:, kinds]).sum(axis=1).mean())
    columns = {
        "reward": reward, "propensity": logging[np.arange(ROUNDS), action], "action": action, "logging": logging,
    }  # fmt: skip
    return columns, candidate, kinds, truth


def main() -> None:
    widths, held, seconds = {"actions": 0.0, "embeddings": 0.0}, {"actions": 0, "embeddings": 0}, 0.0
    for seed in range(LOGS):
        columns, candidate, kinds, truth = log(seed)
        logs = sl.Logs(**columns, embedding=sl.embeddings.kinds(kinds))
        for name, question in (("actions", logs.without_embedding()), ("embeddings", logs)):
            started = time.perf_counter()
            evaluation = sl.evaluate(question, {"new": candidate})["new"]
            seconds += time.perf_counter() - started if name == "embeddings" else 0.0
            assert evaluation.lower is not None
            assert evaluation.upper is not None
            widths[name] += (evaluation.upper - evaluation.lower) / LOGS
            held[name] += evaluation.lower <= truth <= evaluation.upper
        if seed == 0:
            print(sl.check_embedding(logs, {"new": candidate}), file=sys.stderr)
    print(f"{ACTIONS:,} actions of {KINDS} kinds, {ROUNDS:,} rounds, {LOGS} logs")
    for name, width in widths.items():
        ratio = width / widths["actions"]
        print(f"  by {name:<11} width {width:.4f}   {ratio:.2f} times the plain one   held in {held[name]} of {LOGS}")
    print(f"  by embeddings {seconds / LOGS:.1f} s per log")


if __name__ == "__main__":
    main()
