"""Adaptive logs that can be written out: every course that a few rounds can take, with its probability."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surelift.arrays import FloatArray

Rng = np.random.Generator
NAMES = ("production", "new", "rival")


@dataclass(frozen=True)
class Step:
    """One round: the distributions given what came before, what was done, and what each would earn on average.

    A candidate acts in a share of decisions; its vector is what it does there, and its value that of all decisions.
    """

    vectors: dict[str, FloatArray]
    predicted: FloatArray
    values: dict[str, float]
    action: int
    reward: float
    keep: float

    @property
    def propensity(self) -> float:
        return float(self.vectors["production"][self.action])


@dataclass(frozen=True)
class Course:
    chance: float
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Shape:
    """What all rounds of a tree have in common."""

    depth: int
    support: bool
    """Whether production can take every action."""
    stops: bool
    """Whether a large reward is the last one."""
    shares: dict[str, float]
    """In how many decisions each candidate acts, production else."""

    @classmethod
    def drawn(cls, rng: Rng) -> "Shape":
        shares = {name: float(rng.choice([1.0, 0.5, 0.05, 1e-3])) for name in NAMES[1:]}
        return cls(int(rng.integers(1, 4)), bool(rng.random() < 0.7), bool(rng.random() < 0.3), shares)


def distribution(rng: Rng, actions: int, *, support: bool) -> FloatArray:
    """Even, sharp, with a tiny entry, or with none for an action."""
    vector = rng.dirichlet(np.full(actions, rng.choice([0.2, 1.0, 5.0]))) + 1e-9
    if rng.random() < 0.3:
        vector[rng.integers(actions)] = 10.0 ** -rng.uniform(2, 7)
    if not support:
        vector[rng.integers(actions)] = 0.0
    return np.asarray(vector / vector.sum())


def courses(rng: Rng, shape: Shape, before: tuple[Step, ...] = (), chance: float = 1.0) -> Iterator[Course]:
    """Every node has distributions, expected rewards and predictions of its own: all may depend on what came before."""
    if len(before) == shape.depth or (shape.stops and before and before[-1].reward > 0.5):
        yield Course(chance, before)
        return
    contexts = rng.dirichlet(np.ones(1 if shape.depth > 2 else int(rng.integers(1, 3))))
    for context in contexts:
        actions = int(rng.integers(2, 5 if shape.depth < 3 else 3))
        logging = distribution(rng, actions, support=shape.support)
        vectors = {"production": logging}
        vectors |= {name: distribution(rng, actions, support=rng.random() < 0.8) for name in shape.shares}
        levels = rng.choice([0.0, 0.25, 0.7, 1.0, rng.random()], (actions, 2))
        high = rng.choice([0.01, 0.5, 0.99, rng.random()], actions)
        means = levels[:, 0] * (1 - high) + levels[:, 1] * high
        earned = {name: float(vector @ means) for name, vector in vectors.items()}
        now = earned["production"]
        values = {name: now + shape.shares.get(name, 1.0) * (value - now) for name, value in earned.items()}
        predicted = np.clip(rng.normal(means, rng.choice([0.0, 0.3, 2.0])), 0.0, 1.0)
        for action in range(actions):
            for level, odds in zip(levels[action], (1 - high[action], high[action]), strict=True):
                weight = context * logging[action] * odds
                if weight > 0.0:
                    step = Step(vectors, predicted, values, action, float(level), float(rng.uniform(0.05, 1.0)))
                    yield from courses(rng, shape, (*before, step), chance * weight)


def table_of(tree: list[Course]) -> dict[str, Any]:
    """A row for each round of each course, in the order of the courses."""
    steps = [(number, step) for number, course in enumerate(tree) for step in course.steps]
    kept = {number: float(min(step.keep for step in course.steps)) for number, course in enumerate(tree)}
    logged = {name: [float(step.vectors[name][step.action]) for _, step in steps] for name in NAMES}
    return {
        "row": np.arange(len(steps)), "course": np.array([number for number, _ in steps]),
        "size": np.array([len(tree[number].steps) for number, _ in steps]),
        "r": np.array([step.reward for _, step in steps]), "a": np.array([step.action for _, step in steps]),
        "q": np.array(logged["production"]), "new": np.array(logged["new"]), "rival": np.array(logged["rival"]),
        "l": [step.vectors["production"] for _, step in steps], "new_vector": [step.vectors["new"] for _, step in steps],
        "rival_vector": [step.vectors["rival"] for _, step in steps], "m": [step.predicted for _, step in steps],
        "k": np.array([step.keep for _, step in steps]), "k_course": np.array([kept[number] for number, _ in steps]),
    }  # fmt: skip
