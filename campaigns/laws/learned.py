"""Policies learned from a log, with their certificates; few logs, since learning takes time."""

from typing import Any

import numpy as np

import surelift as sl
from campaigns.laws.law import Claim, at, coins, draw_actions, law

Rng = np.random.Generator
ACTIONS = 3


def learn(rng: Rng, delta: float, means: Any, **options: Any) -> list[Claim]:
    """Contexts are one of four, so that the truth of whatever is learned is a sum."""
    rounds, contexts = int(rng.integers(150, 400)), len(means)
    context = rng.integers(0, contexts, rounds)
    shares = 0.7 * rng.dirichlet(np.ones(ACTIONS), contexts) + 0.3 / ACTIONS
    logging = shares[context]
    action = draw_actions(rng, logging)
    corners = np.eye(contexts)
    logs = sl.Logs(
        reward=coins(rng, at(means[context], action)), propensity=at(logging, action), action=action, logging=logging,
        contexts=corners[context],
    )  # fmt: skip
    learner = sl.PolicyLearner(
        **{"epochs": 4, "learning_rate": 0.1, "batch_size": 64, "delta": delta, "patience": None, **options}
    )
    about = options.get("objective", "improvement")
    try:
        learner.fit(logs)
    except sl.LogsError:
        return [Claim(f"learned, {about}", delta, False), Claim("learned, or refused", 2 * delta, True)]
    answer: Any = learner.answer_
    policy = learner.predict_proba(corners)
    # Contexts are equally likely.
    truth = float(((policy if about == "value" else policy - shares) * means).sum(axis=1).mean())
    missed = answer.lower > truth + 1e-9
    return [Claim(f"learned, {about}", delta, missed), Claim("learned, or refused", 2 * delta, missed)]


def noise(rng: Rng) -> Any:
    return np.full((4, ACTIONS), rng.uniform(0.2, 0.8))


@law("a gaussian policy learned from noise", logs=2)
def gaussian_noise(rng: Rng, delta: float) -> list[Claim]:
    return learn(rng, delta, noise(rng))


@law("a gaussian policy learned", logs=2)
def gaussian(rng: Rng, delta: float) -> list[Claim]:
    return learn(rng, delta, rng.random((4, ACTIONS)), objective="value", prior="zero")


@law("a softmax policy learned from noise", logs=2)
def softmax_noise(rng: Rng, delta: float) -> list[Claim]:
    return learn(rng, delta, noise(rng), policy="linear")


@law("a softmax policy learned", logs=2)
def softmax(rng: Rng, delta: float) -> list[Claim]:
    return learn(rng, delta, rng.random((4, ACTIONS)), policy="linear")
