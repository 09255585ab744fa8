"""Seeded simulations: certificates of learned policies hold as often as stated, and known ways to cheat would fail."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import surelift as sl
from surelift.arrays import FloatArray
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.rules import GaussianRule
from surelift.learning.training.problem import StackedProblems
from tests.bounds.test_coverage import allowed

pytestmark = pytest.mark.slow

LOGS, DELTA = 60, 0.1
ACTIONS, FEATURES = 4, 12


def noise(rounds: int, seed: int) -> dict[str, Any]:
    """Rewards that do not depend on the action: any apparent improvement is overfitting."""
    rng = np.random.default_rng(seed)
    logging = np.full((rounds, ACTIONS), 1.0 / ACTIONS)
    action = rng.integers(0, ACTIONS, rounds)
    return {
        "contexts": rng.normal(size=(rounds, FEATURES)), "action": action, "logging": logging,
        "propensity": logging[:, 0], "reward": (rng.random(rounds) < 0.5).astype(float),
    }  # fmt: skip


def some_signal(rounds: int, seed: int) -> tuple[dict[str, Any], FloatArray]:
    """Logged rounds, and expected rewards that depend on context and action."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(rounds, 3))
    expected = 1.0 / (1.0 + np.exp(-2.0 * contexts))
    logging = 0.8 * rng.dirichlet(np.ones(3), rounds) + 0.2 / 3
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    rows = np.arange(rounds)
    return {
        "contexts": contexts, "action": action, "logging": logging, "propensity": logging[rows, action],
        "reward": (rng.random(rounds) < expected[rows, action]).astype(float),
    }, expected  # fmt: skip


def learner(**options: Any) -> PolicyLearner:
    return PolicyLearner(
        **{
            "policy": "gaussian",
            "epochs": 6,
            "learning_rate": 0.1,
            "batch_size": 64,
            "delta": DELTA,
            "patience": None,
            **options,
        }
    )


@pytest.mark.parametrize("options", [{}, {"objective": "value", "prior": "zero"}], ids=["improvement", "value"])
def test_certificates_hold(options: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    missed = 0
    for seed in range(LOGS):
        data, _ = some_signal(400, seed)
        fitted = learner(**options).fit(sl.Logs(**data))
        fresh, expected = some_signal(20_000, 10_000 + seed)
        p = fitted.predict_proba(fresh["contexts"])
        truth = float((p * expected).sum(axis=1).mean())
        if fitted.answer_.about == "improvement":  # type: ignore[union-attr]
            truth -= float((fresh["logging"] * expected).sum(axis=1).mean())
        # The true value is itself an average over contexts: allow five of its standard errors.
        missed += bool(fitted.answer_.lower > truth + 5 * 0.3 / np.sqrt(20_000))
    assert missed <= allowed(LOGS, DELTA)


def test_a_prior_fitted_on_the_certified_rounds_would_fail() -> None:
    """No policy is better than another; a prior given as an array can hide that it was fitted on these rounds."""
    torch.set_num_threads(1)
    cheated = honest = 0
    for seed in range(20):
        data = noise(300, seed)
        first = learner(prior="zero", epochs=30).fit(sl.Logs(**data))
        honest += first.answer_.certified
        rule = first.policy_.rule
        assert isinstance(rule, GaussianRule)
        sharp = 30.0 * rule.means
        again = learner(prior=sharp, epochs=1, learning_rate=1e-6).fit(sl.Logs(**data))
        cheated += again.answer_.certified
    assert honest <= allowed(20, DELTA)
    assert cheated > allowed(20, DELTA)


def test_a_held_out_certificate_on_training_rounds_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities passed as an array do not reveal that they were learned from these rounds."""
    torch.set_num_threads(1)
    epochs = itertools.count()
    # Always take the last epoch, however much it overfits.
    monkeypatch.setattr(StackedProblems, "epoch_scores", lambda _: [float(next(epochs))])
    cheated = honest = 0
    for seed in range(20):
        data = noise(300, seed)
        fitted = learner(policy="linear", epochs=60).fit(sl.Logs(**data))
        honest += fitted.answer_.certified
        training = sl.Logs(**{name: column[:210] for name, column in data.items()})
        p = fitted.predict_proba(data["contexts"][:210])
        try:
            value: Any = sl.evaluate(training, {"new": p}, delta=DELTA, sides="lower")["new"].lower
            cheated += value > 0.5
        except sl.LogsError:  # so wrong that a value above 1 was certified
            cheated += 1
    assert honest <= allowed(20, DELTA)
    assert cheated > allowed(20, DELTA)
