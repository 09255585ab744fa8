"""What a law is: a world that draws a log, questions asked of it, and the claims that missed the truth."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import surelift as sl
from surelift.arrays import FloatArray, IntArray

ROUNDING = 1e-12


@dataclass(frozen=True)
class Claim:
    """One promise about one log: broken with probability at most ``level``."""

    name: str
    level: float
    missed: bool


Draw = Callable[[np.random.Generator, float], Iterable[Claim]]


@dataclass(frozen=True)
class Law:
    """``draw`` makes one log and asks about it at a delta; ``logs`` is how many make a case."""

    draw: Draw
    logs: int


LAWS: dict[str, Law] = {}


def law(name: str, *, logs: int = 50) -> Callable[[Draw], Draw]:
    def add(draw: Draw) -> Draw:
        assert name not in LAWS
        LAWS[name] = Law(draw, logs)
        return draw

    return add


@dataclass(frozen=True)
class World:
    """A log with the truth: the mean reward of every policy in every round given the past, in the units of the column."""

    columns: Mapping[str, Any]
    declared: Mapping[str, Any]
    policies: Mapping[str, Any]
    values: Mapping[str, float | FloatArray]
    """With that of production; a number where it is the same in all rounds (or clusters)."""

    @cached_property
    def logs(self) -> sl.Logs:
        return sl.Logs(dict(self.columns), **self.declared)

    @property
    def rounds(self) -> int:
        return len(next(iter(self.columns.values())))

    def truth(self, policy: str) -> float:
        return float(np.mean(self.values[policy]))

    def improvement(self, policy: str, over: str = "production") -> float:
        gain = self.truth(policy) - self.truth(over)
        return -gain if "cost" in self.declared else gain

    def part(self, first: int, last: int) -> "World":
        columns = {name: column[first:last] for name, column in self.columns.items()}
        values = {name: value if np.ndim(value) == 0 else value[first:last] for name, value in self.values.items()}  # type: ignore[index]
        return replace(self, columns=columns, values=values)

    def with_policies(self, **policies: Any) -> "World":
        return replace(self, policies=policies)


def outside(lower: float | None, upper: float | None, truth: float, scale: float = 1.0) -> tuple[bool, bool]:
    """Whether the truth lies below the lower bound, and above the upper one."""
    room = ROUNDING * max(scale, abs(truth))
    return lower is not None and lower > truth + room, upper is not None and upper < truth - room


def value_claims(world: World, delta: float, **options: Any) -> list[Claim]:
    """Both sides of all policies hold together at delta. A refusal says that the bounds contradict each other: a miss."""
    return [Claim("value", delta, value_missed(world, delta, **options))]


def value_missed(world: World, delta: float, **options: Any) -> bool:
    try:
        found = sl.evaluate(world.logs, world.policies, delta=delta, **options)
    except sl.LogsError:
        return True
    return any(any(outside(value.lower, value.upper, world.truth(name))) for name, value in found.items())


def improvement_claims(world: World, delta: float, over: str | None = None, **options: Any) -> list[Claim]:
    """Each side holds at delta, so that both together, and a refusal, have twice that."""
    (name, policy), *others = world.policies.items()
    baseline: dict[str, Any] = {} if over is None else {"over": {over: dict(others)[over]}}
    truth = world.improvement(name, over or "production")
    try:
        found: Any = sl.compare(world.logs, {name: policy}, delta=delta, **baseline, **options)
    except sl.LogsError:
        return sides("improvement", delta, False, False, refused=True)
    return sides("improvement", delta, *outside(found.lower, found.upper, truth))


def sides(name: str, delta: float, below: bool, above: bool, *, refused: bool = False) -> list[Claim]:
    return [
        Claim(f"{name}, lower", delta, below),
        Claim(f"{name}, upper", delta, above),
        Claim(f"{name}, either", 2 * delta, below or above or refused),
    ]


def both(world: World, delta: float, **options: Any) -> list[Claim]:
    return [*value_claims(world, delta, **options), *improvement_claims(world, delta, **options)]


def some_rounds(rng: np.random.Generator, least: int = 50, most: int = 1_000) -> int:
    return int(np.exp(rng.uniform(np.log(least), np.log(most))))


def draw_actions(rng: np.random.Generator, vectors: FloatArray) -> IntArray:
    edges = np.cumsum(vectors, axis=1)[:, :-1]
    actions: IntArray = (rng.random(len(vectors))[:, None] >= edges).sum(axis=1)
    return actions


def at(vectors: FloatArray, actions: IntArray) -> FloatArray:
    chosen: FloatArray = vectors[np.arange(len(actions)), actions]
    return chosen


def coins(rng: np.random.Generator, means: FloatArray) -> FloatArray:
    return (rng.random(means.shape) < means).astype(np.float64)


def entries(name: str, matrix: FloatArray) -> dict[str, FloatArray]:
    """A column for each action."""
    return {f"{name}{place}": matrix[:, place] for place in range(matrix.shape[1])}
