"""Small discrete laws with exact expectations, and simulators with known true values."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surelift.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Law:
    """One context: actions with logging, candidate and rival probabilities, and two-point rewards."""

    logging: tuple[float, ...]
    candidate: tuple[float, ...]
    rival: tuple[float, ...]
    reward_levels: tuple[float, float]
    high_chance: tuple[float, ...]
    """For each action, the probability of the higher reward."""

    def outcomes(self) -> list[tuple[float, float, float, float, float]]:
        """Every possible (probability, candidate's weight, rival's weight, propensity, reward)."""
        rows = []
        for q, p, s, high in zip(self.logging, self.candidate, self.rival, self.high_chance, strict=True):
            for level, chance in zip(self.reward_levels, (1 - high, high), strict=True):
                if q > 0 and chance > 0:
                    rows.append((q * chance, p / q, s / q, q, level))
        return rows

    def value(self, policy: tuple[float, ...]) -> float:
        low, high = self.reward_levels
        means = [low * (1 - chance) + high * chance for chance in self.high_chance]
        return sum(p * mean for p, mean in zip(policy, means, strict=True))

    @property
    def full_support(self) -> bool:
        return all(q > 0 for q in self.logging)


LAWS = {
    "even": Law((0.5, 0.5), (0.9, 0.1), (0.2, 0.8), (0.0, 1.0), (0.7, 0.3)),
    "heavy": Law((0.001, 0.999), (0.6, 0.4), (0.5, 0.5), (0.0, 1.0), (0.9, 0.1)),
    "graded": Law((0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.1, 0.1, 0.8), (0.25, 0.75), (0.5, 0.1, 0.9)),
    "rare": Law((0.3, 0.7), (0.8, 0.2), (0.4, 0.6), (0.0, 1.0), (0.012, 0.008)),
    "no support": Law((0.4, 0.6, 0.0), (0.2, 0.2, 0.6), (0.3, 0.3, 0.4), (0.0, 1.0), (0.5, 0.2, 0.9)),
}


@dataclass(frozen=True)
class Simulated:
    """Many logs at once: (logs, rounds)."""

    weights: FloatArray
    propensity: FloatArray
    reward: FloatArray
    true_value: float
    production_value: float


def heavy_tails(rng: np.random.Generator, logs: int, rounds: int) -> Simulated:
    """Weights without a second moment: the rare action has propensity U^2, and the candidate takes it half the time."""
    q = np.maximum(rng.random((logs, rounds)) ** 2, 1e-12)
    rare = rng.random((logs, rounds)) < q
    weights = np.where(rare, 0.5 / q, 0.5 / np.maximum(1 - q, 1e-300))
    reward = (rng.random((logs, rounds)) < np.where(rare, 0.8, 0.2)).astype(float)
    # Production takes the rare action with probability E U^2 = 1/3.
    return Simulated(weights, np.where(rare, q, 1 - q), reward, 0.5, 0.2 + 0.6 / 3)


def from_law(law: Law) -> Callable[[np.random.Generator, int, int], Simulated]:
    def draw(rng: np.random.Generator, logs: int, rounds: int) -> Simulated:
        outcomes = law.outcomes()
        index = draw_index(rng, [chance for chance, *_ in outcomes], (logs, rounds))
        _, weights, _, propensity, reward = (np.array(column)[index] for column in zip(*outcomes, strict=True))
        return Simulated(weights, propensity, reward, law.value(law.candidate), law.value(law.logging))

    return draw


def draw_index(rng: np.random.Generator, chances: list[float], shape: tuple[int, ...]) -> IntArray:
    edges = np.cumsum(chances)
    index: IntArray = np.searchsorted(edges[:-1], rng.random(shape) * edges[-1], side="right")
    return index


SIMULATORS: dict[str, Callable[[np.random.Generator, int, int], Simulated]] = {
    "heavy tails": heavy_tails,
    "no full support": from_law(LAWS["no support"]),
    "rewards of 1%": from_law(LAWS["rare"]),
    "graded": from_law(LAWS["graded"]),
    "even": from_law(LAWS["even"]),
}
