"""One small log with a column for every trait, and every pair of traits of different slots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

import surelift as sl
from surelift.policies.resolve import from_description
from surelift.traits.declaration import FLAT

ROUNDS = 200
START = datetime(2024, 3, 1)
# Every row's time is an hour after the one before: the last 60 rows are younger than 60 hours.
AS_OF = str(START + timedelta(hours=ROUNDS - 1))
ACTIONS, DRAWS = 3, 32
BEFORE_SAMPLING = 500
RECORDED: Mapping[str, Any] = {"propensity": "q"}
REWARD: Mapping[str, Any] = {"reward": "r"}


@cache
def table() -> pa.Table:
    """Two loggers took the rounds by dyadic probabilities; clusters are two rows each, in the order of time."""
    rng = np.random.default_rng(20240523)
    rows = np.arange(ROUNDS)
    vectors = {name: _vectors(rng) for name in ("loga", "logb", "va", "vb")}
    who = rng.integers(0, 2, ROUNDS)
    own = np.where(who[:, None] == 0, vectors["loga"], vectors["logb"])
    action = np.array([rng.choice(ACTIONS, p=vector) for vector in own])
    q, pa_, pb, a, b = (vector[rows, action] for vector in (own, *vectors.values()))
    earned = rng.random(ROUNDS) < 0.25 + 0.25 * (action == 0)
    reward = np.where(earned, rng.integers(2, 5, ROUNDS) / 4.0, 0.0)
    score = np.clip(np.round(0.25 + 0.5 * reward + rng.integers(-1, 2, ROUNDS) / 8.0, 3), 0.0, 1.0)
    labelled, cluster = rng.random(ROUNDS) < 0.5, rows // 2
    keep = np.where(np.repeat(rng.integers(0, 2, ROUNDS // 2), 2) == 0, 0.25, 0.5)
    lists = {"l": own, "va": vectors["va"], "vb": vectors["vb"]}
    columns: dict[str, Any] = {
        "r": reward, "x": np.round(12.0 * (1.0 - reward)), "below": 2.0 * reward - 1.0, "above": 1.0 + 2.0 * reward,
        "g": (rng.random(ROUNDS) < 0.75) * 1.0, "rl": pa.array(np.where(labelled, reward, np.nan), from_pandas=True),
        "xl": pa.array(np.where(labelled, np.round(12.0 * (1.0 - reward)), np.nan), from_pandas=True), "j": score,
        "half": np.full(ROUNDS, 0.5),
        "q": q, "lq": np.log(q), "act": action, "a": a, "b": b, "who": np.array(["A", "B"])[who], "pa": pa_, "pb": pb,
        "wins": rng.binomial(DRAWS, q), "awins": rng.binomial(DRAWS, a), "bwins": rng.binomial(DRAWS, b),
        "qd": 4.0 * q, "ad": 4.0 * a, "bd": 4.0 * b, "place": action + rng.random(ROUNDS),
        "slate_a": (a / q - 1.0) + (b / q - 1.0), "slate_b": 2.0 * (b / q - 1.0),
        **{f"l{place}": own[:, place] for place in range(ACTIONS)},
        **{name: pa.array(list(vector)) for name, vector in lists.items()},
        "counts": pa.array([rng.multinomial(DRAWS, vector) for vector in own]),
        "c": cluster, "step": rows % 2, "size": np.full(ROUNDS, 2), "k": keep, "same": np.full(ROUNDS, 0.5),
        "t": pa.array([START + timedelta(hours=int(row)) for row in rows], pa.timestamp("us")), "id": rows * 7 + 3,
        "s": np.array(["x", "y"])[cluster % 2], "age": np.repeat(rng.integers(18, 60, ROUNDS // 2), 2),
        "here": np.repeat(rng.random(ROUNDS // 2) < 0.75, 2) * 1,
        "predicted": pa.array(list(np.tile([0.5, 0.25, 0.25], (ROUNDS, 1)))), "pick": rng.integers(0, ACTIONS, ROUNDS),
    }  # fmt: skip
    return pa.table(columns)


def _vectors(rng: np.random.Generator) -> Any:
    """Rows of 1/2, 1/4 and 1/4, shuffled."""
    return rng.permuted(np.tile([0.5, 0.25, 0.25], (ROUNDS, 1)), axis=1)


@dataclass(frozen=True)
class Trait:
    """One value in one slot: what it declares, and how candidates are given of such a log."""

    slot: str
    name: str
    declared: Mapping[str, Any]
    policies: Mapping[str, Any] = field(default_factory=dict)


def slate(column: str) -> Any:
    """As a certificate stores it; the importer of slates makes them."""
    return from_description({"kind": "additive", "column": column, "positions": 2, "drop": 1.0})


def _known(*fields: str) -> bool:
    return set(fields) <= FLAT.keys()


COLUMNS = {"a": "a", "b": "b"}
DENSITIES = {"a": "ad", "b": "bd"}
VECTORS = {"a": "va", "b": "vb"}
LOGGED = {"action": "act", "logging": "l"}
LOGGERS = {"logger": "who", "loggers": {"A": "pa", "B": "pb"}}


def _propensities() -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    found: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
        "recorded": (RECORDED, COLUMNS),
        "estimated": ({**RECORDED, "propensity_is_estimated": True}, COLUMNS),
        "counted": ({**RECORDED, "action": "act", "action_count": ACTIONS}, {"a": sl.uniform(), "b": "b"}),
        "logarithm": ({"log_propensity": "lq"}, COLUMNS),
        "density": ({"propensity": "qd", "density": True, "action": "place"}, DENSITIES),
        "wins": ({"propensity": sl.wins("wins", DRAWS)}, {"a": sl.wins("awins", DRAWS), "b": "b"}),
        "vectors": ({**RECORDED, **LOGGED}, VECTORS),
        "vectors of columns": (
            {"action": "act", "logging": [f"l{place}" for place in range(ACTIONS)]}, {"a": "va", "b": sl.uniform()}
        ),
        "vectors with logarithms": ({**LOGGED, "log_propensity": "lq"}, {"a": "va", "b": "b"}),
        "embedding": ({**LOGGED, "embedding": sl.embeddings.kinds([0, 1, 1])}, VECTORS),
        "balanced loggers": (LOGGERS, COLUMNS),
        "loggers by shares": ({**LOGGERS, "logger_shares": {"A": 0.5, "B": 0.5}}, COLUMNS),
        "additive slate": (RECORDED, {"a": slate("slate_a"), "b": slate("slate_b")}),
        "bounded": (RECORDED, {"a": sl.bounded("a", 4.0), "b": sl.bounded("b", 4.0)}),
        "chosen": ({**RECORDED, "action": "act", "action_count": ACTIONS}, {"a": sl.chosen("pick"), "b": "b"}),
    }  # fmt: skip
    if _known("smallest_propensity"):
        found["smallest propensity"] = ({**RECORDED, "smallest_propensity": 0.25}, COLUMNS)
    if _known("paired"):
        found["paired"] = ({"paired": True}, {"a": "r", "b": "g"})
    if hasattr(sl, "draws"):
        found["draws"] = ({"action": "act", "logging": sl.draws("counts")}, VECTORS)
    return found


def _traits() -> list[Trait]:
    known: dict[str, dict[str, Mapping[str, Any]]] = {
        "reward": {
            "reward": REWARD,
            "cost": {"cost": "x", "reward_range": (0.0, 12.0)},
            "below 0": {"reward": "below", "reward_range": (-1.0, 1.0)},
            "above 0": {"reward": "above", "reward_range": (1.0, 3.0)},
            "labels": {"reward": "rl", "score": "j", "label_probability": 0.5},
            "labelled cost": {"cost": "xl", "score": "x", "label_probability": "half", "reward_range": (0.0, 12.0)},
            "settled": {"reward": "r", "time": "t", "settled_after": "60h", "as_of": AS_OF},
        },
        "unit": {
            "rows": {},
            "clusters of a size": {"cluster": "c", "cluster_size": 2},
            "clusters of sizes": {"cluster": "c", "cluster_size": "size"},
            "clusters filled up": {"cluster": "c", "cluster_max": 3},
            "sequences": {"cluster": "c", "cluster_size": 2, "position": "step"},
        },
        "kept": {
            "all": {},
            "sampled alike": {"keep_probability": "same"},
            "sampled of many": {"keep_probability": "k", "rounds_before_sampling": BEFORE_SAMPLING},
        },
        "which": {"every": {}, "where": {"where": "here = 1"}},
        "time": {"timeless": {}, "timed": {"time": "t"}},
        "id": {"nameless": {}, "identified": {"id": "id"}},
        "contexts": {"all columns": {}, "contexts": {"contexts": ["age", "s"]}},
    }
    of_propensity = [Trait("propensity", name, *both) for name, both in _propensities().items()]
    others = [Trait(slot, name, declared) for slot, named in known.items() for name, declared in named.items()]
    return [*of_propensity, *others]


TRAITS: Sequence[Trait] = _traits()
DEFAULTS: Mapping[str, Trait] = {trait.slot: trait for trait in reversed(TRAITS)}
"""The first of each slot."""


@dataclass(frozen=True)
class Declared:
    """A log by its traits: those that are not named are the first of their slots."""

    traits: tuple[Trait, ...]

    @property
    def name(self) -> str:
        return " + ".join(trait.name for trait in self.traits) or "plain"

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> frozenset[str]:
        return frozenset(trait.name for trait in self.traits)

    @property
    def flat(self) -> dict[str, Any]:
        """As ``Logs`` takes it."""
        slots = {**DEFAULTS, **{trait.slot: trait for trait in self.traits}}
        return {name: value for trait in slots.values() for name, value in trait.declared.items()}

    @property
    def policies(self) -> Mapping[str, Any]:
        slots = {**DEFAULTS, **{trait.slot: trait for trait in self.traits}}
        return slots["propensity"].policies

    def logs(self, source: Any = None) -> sl.Logs:
        return sl.Logs(table() if source is None else source, **self.flat)


def _pairs() -> list[Declared]:
    own = [trait for trait in TRAITS if trait is not DEFAULTS[trait.slot]]
    pairs = [Declared(pair) for pair in combinations(own, 2) if pair[0].slot != pair[1].slot]
    return [Declared(()), *(Declared((trait,)) for trait in own), *pairs]


PAIRS: Sequence[Declared] = _pairs()
BY_NAME: Mapping[str, Declared] = {pair.name: pair for pair in PAIRS}
