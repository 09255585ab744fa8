"""A simulated router of requests to language models, with known true quality, cost and latency of every routing table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowTable, FloatArray
from surelift.datasets.draws import arrivals, draw
from surelift.errors import whole
from surelift.results.outcomes import Outcome
from surelift.saving import write_beside
from surelift.traits.logs import Logs

TASKS = {"extract": 0.3, "summarize": 0.25, "chat": 0.25, "code": 0.2}
LANGUAGES = {"en": 0.7, "es": 0.2, "ja": 0.1}
LENGTHS = {"short": 0.6, "long": 0.4}
MODELS = ("small", "medium", "large")
CONTEXTS = ("task", "language", "prompt_tokens")
ROUTERS = ("cheap", "careful", "reckless")
SEED = 20240611
# Tokens are uniform between these limits; the completion does not depend on the prompt.
_PROMPT_TOKENS = {"short": (50, 450), "long": (1_000, 3_000)}
_COMPLETION_TOKENS = (100, 700)
_DOLLARS_PER_TOKEN = np.array([0.5e-6, 3e-6, 12e-6])
_MILLISECONDS_PER_TOKEN = np.array([0.4, 0.8, 1.6])
_GRADES = 4
_EPSILON = 0.2


@dataclass(frozen=True, slots=True)
class Routing:
    """Two weeks of requests, each sent to one of three models, and the true values of the routers.

    ``table`` is a pyarrow table of the requests, ``true_values`` the expected quality, usd and ms of a request, for
    production and each router, ``expected`` those of each of these requests by each model, (rounds, models).
    """

    table: ArrowTable
    true_values: dict[str, dict[str, float]]
    expected: Mapping[str, FloatArray]

    def __repr__(self) -> str:
        return f"Routing({self.table.num_rows:,} requests; columns {', '.join(self.table.column_names)})"

    def logs(self) -> Logs:
        return Logs(self.table, **self.columns())

    @staticmethod
    def columns() -> dict[str, Any]:
        return {
            "reward": "quality", "propensity": "propensity", "action": "model", "actions": list(MODELS),
            "logging": "probabilities", "contexts": list(CONTEXTS), "time": "time", "id": "request",
        }  # fmt: skip

    @staticmethod
    def outcomes() -> dict[str, Outcome]:
        """The three columns that judge a router, with their ranges and directions."""
        return {
            "quality": Outcome("quality"), "cost": Outcome("usd", range=(0.0, 0.05), cost=True),
            "latency": Outcome("ms", range=(0.0, 6_000.0), cost=True),
        }  # fmt: skip

    def true_value(self, policy: FloatArray, outcome: str) -> float:
        """The expected quality, usd or ms of a policy, (rounds, models), over these requests."""
        return float((policy * self.expected[outcome]).sum(axis=1).mean())

    def write_json_lines(self, path: str | Path) -> None:
        """One JSON object to a line, as routers log them."""
        rows = ({**row, "time": row["time"].isoformat()} for row in self.table.to_pylist())
        write_beside(path, "".join(json.dumps(row) + "\n" for row in rows), what="the log")


def routing(rounds: int = 20_000, *, seed: int = SEED) -> Routing:
    """Simulate requests to a router that explores: a softmax of what it believes, and a random model now and then.

    The columns ``cheap``, ``careful`` and ``reckless`` hold the model that each of three routing tables would choose.

    >>> routing(rounds=1).table.column_names
    ['request', 'time', 'task', 'language', 'prompt_tokens', 'model', 'probabilities', 'propensity', 'quality', 'usd', \
'ms', 'cheap', 'careful', 'reckless']

    Args:
        rounds: How many requests.
        seed: Another seed gives other requests to the same models.
    """
    rounds = whole("rounds", rounds)
    cells = list(product(TASKS, LANGUAGES, LENGTHS))
    shares = np.array([TASKS[task] * LANGUAGES[language] * LENGTHS[length] for task, language, length in cells])
    quality = _quality(cells)
    # Production knows roughly which model is good at what, and likes the large one.
    scores = np.exp(5.0 * quality + np.array([0.0, 0.4, 0.8]))
    production = (1.0 - _EPSILON) * (scores / scores.sum(axis=1, keepdims=True)) + _EPSILON / len(MODELS)
    routers = {"production": production, **_tables(cells)}
    prompts = np.array([_PROMPT_TOKENS[length] for *_, length in cells], dtype=float)
    means = _outcomes(quality, prompts.mean(axis=1), float(np.mean(_COMPLETION_TOKENS)))
    truth = {
        name: {outcome: float((shares[:, None] * matrix * mean).sum()) for outcome, mean in means.items()}
        for name, matrix in routers.items()
    }

    rng = np.random.default_rng(seed)
    cell = draw(np.broadcast_to(shares, (rounds, len(shares))), rng.random(rounds))
    prompt = np.floor(rng.uniform(prompts[cell, 0], prompts[cell, 1] + 1.0))
    model = draw(production[cell], rng.random(rounds))
    completion = np.floor(rng.uniform(_COMPLETION_TOKENS[0], _COMPLETION_TOKENS[1] + 1.0, rounds))
    grade = rng.binomial(_GRADES, quality[cell, model]) / _GRADES
    outcomes = _outcomes(quality[cell], prompt, completion)
    table = pa.table(
        {
            "request": [f"r{number:06d}" for number in range(rounds)],
            "time": arrivals(rng, "2024-06-03", 14, rounds),
            "task": [cells[each][0] for each in cell],
            "language": [cells[each][1] for each in cell],
            "prompt_tokens": prompt.astype(np.int64),
            "model": np.array(MODELS)[model],
            "probabilities": list(production[cell]),
            "propensity": production[cell, model],
            "quality": grade,
            **{name: outcomes[name][np.arange(rounds), model] for name in ("usd", "ms")},
            **{name: np.array(MODELS)[routers[name].argmax(axis=1)[cell]] for name in ROUTERS},
        }
    )
    return Routing(table, truth, _outcomes(quality[cell], prompt, float(np.mean(_COMPLETION_TOKENS))))


def _quality(cells: list[tuple[str, str, str]]) -> FloatArray:
    """The expected grade of each model in each cell: larger models are better where the work is hard."""
    hard = {"extract": -1.6, "summarize": -0.8, "chat": -0.2, "code": 1.0}
    foreign = {"en": 0.0, "es": 0.2, "ja": 0.9}
    difficulty = np.array([hard[task] + foreign[language] + 0.5 * (length == "long") for task, language, length in cells])
    skill, strain = np.array([1.2, 1.6, 2.0]), np.array([1.4, 1.0, 0.6])
    return np.asarray(1.0 / (1.0 + np.exp(strain * difficulty[:, None] - skill)))


def _outcomes(quality: FloatArray, prompt: FloatArray, completion: FloatArray | float) -> dict[str, FloatArray]:
    """Every model's outcomes for these numbers of tokens; the quality is the expected one."""
    return {
        "quality": quality,
        "usd": _DOLLARS_PER_TOKEN * (prompt + completion)[:, None],
        "ms": 150.0 + _MILLISECONDS_PER_TOKEN * (0.1 * prompt + completion)[:, None],
    }


def _tables(cells: list[tuple[str, str, str]]) -> dict[str, FloatArray]:
    """Deterministic tables over task and language: one saves where it is safe, one buys quality, one always saves."""
    cheap = {"extract": "small", "summarize": "small", "chat": "medium", "code": "large"}
    careful = {"extract": "medium", "summarize": "medium", "chat": "large", "code": "large"}
    chosen = {
        name: ["large" if language == "ja" else models[task] for task, language, _ in cells]
        for name, models in (("cheap", cheap), ("careful", careful))
    }
    chosen["reckless"] = ["small"] * len(cells)
    return {name: (np.array(models)[:, None] == MODELS).astype(float) for name, models in chosen.items()}
