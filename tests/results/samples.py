"""One result of every kind, from one small log, with policies of any name."""

from functools import cache
from typing import Any

import numpy as np

import surelift as sl
from surelift.results.learned import Guarantee, PolicySearch, TriedLearner
from surelift.results.result import Result
from surelift.results.several import ByName, Several


def logs(rounds: int = 2_000, *, column: str = "click") -> tuple[sl.Logs, dict[str, np.ndarray[Any, Any]]]:
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, rounds)
    good = rng.random(rounds) < 0.5
    click = (rng.random(rounds) < np.where(good, 0.5, 0.2)).astype(float)
    table = {
        column: click,
        "p": np.full(rounds, 0.5),
        "good": np.where(good, 0.8, 0.2),
        "bad": np.where(good, 0.3, 0.7),
    }
    return sl.Logs({**table, "group": group.astype(str)}, reward=column, propensity="p"), table


KINDS = (
    "Improvement", "JointImprovement", "Selection", "Selection, bounds", "Selection, e-BH", "ValueSelection",
    "PolicyValue", "PolicyValue, one side", "Evaluation", "PolicyEstimate", "Estimation", "PolicySearch",
    "Gate", "Gate, one claim", "Outcomes", "Segments, outcomes",
    "Segments", "Segments, values", "Health", "Forecast", "Simulation", "Verification",
    "Profile", "History", "Report", "Guarantee", "EmbeddingHealth", "EmbeddingTrial",
)  # fmt: skip


@cache
def every_result(name: str = "new", other: str = "old") -> dict[str, Result]:
    rounds, table = logs()
    policies = {name: "good", other: "bad"}
    gate = sl.gate(rounds, {name: "good"}, guardrails=[sl.Outcome("click", at_most_worse=0.1)])
    claims = {name: sl.Outcome("click"), other: sl.Outcome("click", at_most_worse=0.1, cost=True)}
    monitor = sl.Monitor({name: "good"}, reward="click", propensity="p")
    for part in range(4):
        monitor.update({column: values[500 * part : 500 * (part + 1)] for column, values in table.items()})
    answer = sl.select(rounds, policies)
    embedding = trials(name)
    results: dict[str, Result] = {
        "Improvement": sl.compare(rounds, {name: "good"}),
        "JointImprovement": answer.improvements[name],
        "Selection": answer,
        "Selection, bounds": sl.select(rounds, policies, many="simultaneous"),
        "Selection, e-BH": sl.select(rounds, policies, many="e-bh"),
        "ValueSelection": sl.select(rounds, policies, choose="value"),
        "PolicyValue": sl.evaluate(rounds, policies)[name],
        "PolicyValue, one side": sl.evaluate(rounds, policies, sides="lower")[name],
        "Evaluation": sl.evaluate(rounds, policies),
        "PolicyEstimate": sl.estimate(rounds, policies)[name],
        "Estimation": sl.estimate(rounds, policies),
        "PolicySearch": PolicySearch(
            "fast",
            (TriedLearner("fast", 0.2, 0.1), TriedLearner("slow", 0.1, -0.1)),
            {"wild": "not finite"},
            sl.compare(rounds, {name: "good"}),
            None,
        ),
        "Gate": gate,
        "Gate, one claim": sl.gate(rounds, {name: "good"}),
        "Outcomes": sl.compare(rounds, {name: "good"}, outcomes=claims),
        "Segments, outcomes": sl.compare(rounds, {name: "good"}, outcomes=claims, by="group"),
        "Segments": sl.compare(rounds, {name: "good"}, by="group"),
        "Segments, values": sl.evaluate(rounds, policies, by="group"),
        "Health": sl.check(rounds, policies),
        "Forecast": sl.power(rounds, {other: "bad"}),
        "Simulation": sl.simulate(rounds, {name: "good"}, runs=3, rounds=200),
        "Verification": sl.verify(sl.Certificate.of(answer), rounds),
        "Profile": sl.profile(rounds, {name: "good"}),
        "History": monitor.history(),
        "Report": sl.report(rounds, policies),
        "Guarantee": guarantee(name, answer),
        "EmbeddingHealth": embedding,
        "EmbeddingTrial": embedding[name],
    }
    assert tuple(results) == KINDS
    return results


def trials(name: str) -> sl.results.EmbeddingHealth:
    rng = np.random.default_rng(0)
    logging = rng.dirichlet(np.ones(6), 500)
    action = np.array([rng.choice(6, p=row) for row in logging])
    logs = sl.Logs(
        reward=(rng.random(500) < 0.2 + 0.3 * (action < 3)) * 1.0, propensity=logging[np.arange(500), action],
        action=action, logging=logging, embedding=sl.embeddings.kinds([0, 0, 0, 1, 1, 1]),
    )  # fmt: skip
    return sl.check_embedding(logs, {name: rng.dirichlet(np.ones(6), 500)})


def guarantee(name: str, answer: sl.results.Selection) -> Guarantee:
    """As training makes it, without training anything."""
    return Guarantee(
        policy=name, about="improvement", estimate=0.1, lower=0.05, upper=None, certified=True, delta=0.05, rounds=2_000,
        objective="improvement", divergence=1.0, prior="zero", promise="any number of looks", assumptions=("true",),
        doubts=(), provenance=answer.provenance,
    )  # fmt: skip


def result_classes(base: type = Result) -> set[str]:
    """The names of all result classes of the package."""
    children: list[type] = base.__subclasses__()
    below = {name for child in children if child.__module__.startswith("surelift") for name in result_classes(child)}
    return below | ({base.__name__} if base not in (Result, Several, ByName) else set())
