"""All segments hold at once, also where their combinations are found in the log; not where they were picked by looking."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import surelift as sl

ROUNDS, CHANCE_OF_REWARD = 3, 0.4
# What a round can be: its place and device (no desk in IS, few phones), its age, and how likely; the action does nothing.
CONTEXTS = {("FR", "phone", 20): 0.5, ("FR", "desk", 40): 0.4, ("IS", "phone", 60): 0.1}
ACTIONS = {0: (0.25, 0.6), 1: (0.75, 0.4)}
"""Production's probability of each action, and the candidate's: its improvement is 0, whatever the context."""
KINDS = {
    (*context, action, reward): chance * ACTIONS[action][0] * (CHANCE_OF_REWARD if reward else 1.0 - CHANCE_OF_REWARD)
    for context, chance in CONTEXTS.items()
    for action in ACTIONS
    for reward in (0.0, 1.0)
}


def every_log() -> tuple[sl.Logs, list[float]]:
    """All logs of three rounds, whatever their order, one under the other; and the chance of each."""
    assert math.fsum(KINDS.values()) == pytest.approx(1.0)
    rows, chances = [], []
    for number, kinds in enumerate(itertools.combinations_with_replacement(KINDS, ROUNDS)):
        ways = math.factorial(ROUNDS) / math.prod(map(math.factorial, Counter(kinds).values()))
        chances.append(ways * math.prod(KINDS[kind] for kind in kinds))
        rows += [(number, *kind, *ACTIONS[kind[3]]) for kind in kinds]
    names = ("log", "place", "device", "age", "action", "r", "q", "new")
    return sl.Logs(dict(zip(names, zip(*rows, strict=True), strict=True)), reward="r", propensity="q"), chances


def evidence(logs: sl.Logs, by: Any, count: int) -> list[list[float]]:
    """The e-values of the segments found in each log, against an improvement of at most 0."""
    found: list[list[float]] = [[] for _ in range(count)]
    answer = sl.compare(logs, "new", by=["log", *by])
    for name, values in answer.column_values.items():
        found[int(values["log"])].append(answer[name].e_value)
    return found


def test_the_mean_evidence_of_the_combinations_that_are_found_is_at_most_one() -> None:
    """Exactly, over all logs: a bound at delta/k, for the k segments found, fails in one of them with chance at most delta.

    By Markov's inequality: some e-value reaches k/delta only if their mean reaches 1/delta.
    """
    logs, chances = every_log()
    for by in (("place", "device"), ("place", sl.bins("age", [30, 50]))):
        found = evidence(logs, by, len(chances))
        assert {len(values) for values in found} == {1, 2, 3}
        mean = math.fsum(p * sum(values) / len(values) for p, values in zip(chances, found, strict=True))
        assert 0.9 < mean <= 1.0 + 1e-12


def test_edges_picked_by_looking_do_not_hold() -> None:
    """Of two ways to cut, the one in which a bin looks best: its evidence is above 1 on average, over all logs."""
    logs, chances = every_log()
    ways = [evidence(logs, (sl.bins("age", [edge]),), len(chances)) for edge in (30, 50)]
    picked = [max(pair, key=max) for pair in zip(*ways, strict=True)]
    mean = math.fsum(p * sum(values) / len(values) for p, values in zip(chances, picked, strict=True))
    assert mean > 1.0 + 1e-3


def hot_window(table: dict[str, Any]) -> list[float]:
    """The ages between which the candidate happened to look best."""
    order = np.argsort(table["age"])
    gained = np.log1p(0.6 * (table["new"] / table["q"] - 1.0) * table["r"])[order]
    sums = np.concatenate([[0.0], np.cumsum(gained)])
    end = int(np.argmax(sums - np.minimum.accumulate(sums)))
    start, ages = int(np.argmin(sums[: end + 1])), table["age"][order]
    return [ages[start], ages[min(end, len(ages) - 1)]]


def test_bins_around_what_was_seen_certify_what_is_not_there() -> None:
    rng, picked, declared = np.random.default_rng(1), 0, 0
    for _ in range(6):
        table = {
            "r": (rng.random(30_000) < 0.5).astype(float), "q": np.full(30_000, 0.5), "age": rng.random(30_000),
            "new": np.where(rng.random(30_000) < 0.5, 0.8, 0.2),
        }  # fmt: skip
        logs = sl.Logs(table, reward="r", propensity="q")
        picked += bool(sl.compare(logs, "new", by=sl.bins("age", hot_window(table))).certified)
        declared += bool(sl.compare(logs, "new", by=sl.bins("age", [0.3, 0.6])).certified)
    assert picked == 6
    assert declared == 0
