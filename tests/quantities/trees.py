"""Small decision trees whose every path can be listed: sessions that may end early, with exact values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import surelift as sl
from surelift.arrays import FloatArray


@dataclass(frozen=True)
class Node:
    """What can happen after a history: the chances of the actions by policy, of a reward, and of leaving then."""

    chances: FloatArray
    """(production, new, rival) x actions."""
    reward: FloatArray
    leaves: FloatArray


@dataclass
class Tree:
    """Random chances after every history of actions and rewards, drawn once."""

    seed: int
    depth: int = 3
    supported: bool = True
    may_leave: bool = True
    nodes: dict[tuple[Any, ...], Node] = field(default_factory=dict)

    def node(self, history: tuple[Any, ...]) -> Node:
        if history not in self.nodes:
            rng = np.random.default_rng([self.seed, *(int(number) for step in history for number in step)])
            chances = rng.dirichlet(np.ones(2) if len(history) else np.ones(3), 3)
            if not self.supported and rng.random() < 0.6:
                chances[0] = np.eye(chances.shape[1])[rng.integers(chances.shape[1])]
            actions = int(chances.shape[1])
            leaves = rng.uniform(0.0, 0.7 * self.may_leave, actions)
            self.nodes[history] = Node(chances, rng.uniform(0.0, 1.0, actions), leaves)
        return self.nodes[history]

    def paths(self, history: tuple[Any, ...] = (), chances: Any = (1.0, 1.0, 1.0)) -> Iterator[tuple[Any, Any]]:
        """Every path with its probability under each policy."""
        if len(history) == self.depth:
            yield np.array(chances), history
            return
        node = self.node(history)
        for action in range(node.chances.shape[1]):
            for reward, chance in ((0, 1 - node.reward[action]), (1, node.reward[action])):
                reached = np.array(chances) * node.chances[:, action] * chance
                path = (*history, (action, reward))
                last = len(path) == self.depth
                if node.leaves[action] and not last:
                    yield reached * node.leaves[action], path
                yield from self.paths(path, reached * (1.0 if last else 1 - node.leaves[action]))

    @property
    def values(self) -> FloatArray:
        """Of production, new and rival: the mean reward of a position, 0 after the end."""
        return np.asarray(sum(chance * sum(r for _, r in path) / self.depth for chance, path in self.paths()))

    def table(self, paths: Any) -> dict[str, Any]:
        """One cluster for each of these paths."""
        rows = [
            (number, place, action, reward, *self.node(path[:place]).chances)
            for number, path in enumerate(paths)
            for place, (action, reward) in enumerate(path)
        ]
        session, place, action, reward, logging, new, rival = zip(*rows, strict=True)
        vectors = {"logging": logging, "new": new, "rival": rival}
        columns = {name: [vector.tolist() for vector in given] for name, given in vectors.items()}
        logged = {
            f"p_{name}": [vector[a] for vector, a in zip(given, action, strict=True)] for name, given in vectors.items()
        }
        return {"session": session, "place": place, "action": action, "reward": reward, **columns, **logged}

    def possible(self) -> tuple[FloatArray, list[Any]]:
        """The paths that production can take, and their probabilities."""
        found = [(chance[0], path) for chance, path in self.paths() if chance[0] > 0.0]
        return np.array([chance for chance, _ in found]), [path for _, path in found]

    def draw(self, sessions: int, rng: np.random.Generator) -> dict[str, Any]:
        chances, paths = self.possible()
        drawn = rng.choice(len(paths), sessions, p=chances / chances.sum())
        return self.table([paths[number] for number in drawn])


DECLARED: dict[str, Any] = {"reward": "reward", "propensity": "p_logging", "cluster": "session", "position": "place"}
VECTORS: dict[str, Any] = {"action": "action", "logging": "logging"}


def logs_of(table: Any, *, most: int, vectors: bool = False, **others: Any) -> sl.Logs:
    return sl.Logs(table, **{**DECLARED, "cluster_max": most, **(VECTORS if vectors else {}), **others})
