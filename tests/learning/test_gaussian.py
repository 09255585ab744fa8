"""The probabilities of a Gaussian argmax, against the integral, the closed form, and each other."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from surelift.arrays import FloatArray
from surelift.kernels import quadrature
from surelift.kernels.quadrature import Quadrature
from surelift.learning.policies import modules, rules
from surelift.learning.policies.rules import EXACT, TRAINING, GaussianRule


def integral(scores: FloatArray, nodes: int = 1001) -> FloatArray:
    """The definition, action by action, on a wide and fine grid."""
    e = np.linspace(-14.0, 14.0, nodes)
    probabilities = np.empty(scores.shape)
    for a in range(scores.shape[1]):
        others = np.delete(scores, a, axis=1)
        logs = log_ndtr(e[None, None, :] + (scores[:, [a], None] - others[:, :, None])).sum(axis=1)
        probabilities[:, a] = np.exp(logs - 0.5 * e * e).sum(axis=1) * (e[1] - e[0]) / math.sqrt(2.0 * math.pi)
    return probabilities


@pytest.mark.parametrize("actions, spread", [(2, 1.0), (3, 0.0), (10, 3.0), (10, 12.0), (47, 1.0), (120, 0.5)])
def test_probabilities_equal_the_integral(actions: int, spread: float) -> None:
    scores = spread * np.random.default_rng(actions).normal(size=(4, actions))
    expected = integral(scores)
    probabilities = rules.argmax_probabilities(scores)
    assert np.abs(probabilities - expected).max() < rules.TOLERANCE / 5
    assert np.abs(probabilities.sum(axis=1) - 1.0).max() < rules.TOLERANCE
    assert np.abs(rules.argmax_probabilities(scores, TRAINING) - expected).max() < 5e-6


@given(st.floats(-30.0, 30.0), st.floats(-1e3, 1e3))
def test_two_actions_in_closed_form(gap: float, level: float) -> None:
    """The difference of two draws is N(gap, 2), whatever their level."""
    probabilities = rules.argmax_probabilities(np.array([[level + gap, level]]))[0]
    gap = (level + gap) - level
    assert probabilities == pytest.approx([ndtr(gap / math.sqrt(2.0)), ndtr(-gap / math.sqrt(2.0))], abs=1e-12)


def test_equal_scores_are_equally_likely() -> None:
    for actions in (2, 5, 1000):
        assert rules.argmax_probabilities(np.full((1, actions), 7.0)) == pytest.approx(1.0 / actions, abs=1e-13)


@pytest.mark.parametrize("rule", [EXACT, TRAINING], ids=["exact", "training"])
def test_gradients_equal_finite_differences(rule: Quadrature) -> None:
    rng = np.random.default_rng(1)
    scores, worth, action = 2.0 * rng.normal(size=(6, 7)), rng.random((6, 7)), rng.integers(0, 7, 6)
    rows, close = np.arange(6), 1e-8 if rule is EXACT else 1e-5
    p, slopes = quadrature.logged_probability(scores, action, rule)
    assert p == pytest.approx(rules.argmax_probabilities(scores)[rows, action], abs=1e-6)
    whole = quadrature.all_slopes(scores, worth, rule)
    for b in range(7):
        step = np.zeros(7)
        step[b] = 1e-5
        ahead, behind = (rules.argmax_probabilities(scores + sign * step) for sign in (1.0, -1.0))
        change = (ahead - behind) / 2e-5
        assert slopes[:, b] == pytest.approx(change[rows, action], abs=close)
        assert whole[:, b] == pytest.approx((worth * change).sum(axis=1), abs=close)


def test_compiled_and_torch_functions_agree() -> None:
    scores = torch.randn(9, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    action, worth = torch.arange(9) % 12, torch.rand(9, 12, generator=torch.Generator().manual_seed(1))
    ours, theirs = modules.all_probabilities(scores), modules.by_log_ndtr(scores)
    assert torch.allclose(ours, theirs, atol=2e-6)
    (first,), (second,) = (torch.autograd.grad((worth * p).sum(), scores) for p in (ours, theirs))
    assert torch.allclose(first, second, atol=1e-5)
    single = modules.logged_probability(scores, action)
    assert torch.allclose(single, theirs.gather(1, action[:, None])[:, 0], atol=2e-6)
    (third,) = torch.autograd.grad(single.sum(), scores)
    (fourth,) = torch.autograd.grad(modules.by_log_ndtr(scores).gather(1, action[:, None]).sum(), scores)
    assert torch.allclose(third, fourth, atol=1e-5)


def test_probabilities_equal_a_simulation() -> None:
    """Weights are drawn and scores compared, with one deviation per feature."""
    rng = np.random.default_rng(2)
    means = rng.normal(size=(4, 3)).astype(np.float32)
    rule = GaussianRule(means, np.array([0.3, 1.0, 2.0], np.float32), np.zeros((4, 3), np.float32))
    features = rng.normal(size=(2, 3)).astype(np.float32)
    weights = means + rule.deviation * rng.normal(size=(400_000, 4, 3))
    for row, p in zip(features, rule.probabilities(features), strict=True):
        shares = np.bincount((weights @ row).argmax(axis=1), minlength=4) / 400_000
        assert shares == pytest.approx(p, abs=6 * math.sqrt(0.25 / 400_000))


def test_the_divergence_by_hand() -> None:
    # Two actions, one feature, deviation 2: 2 (4 - 1 - 2 log 2)/2 from the spread, (1 + 9)/2 from the means.
    rule = GaussianRule(np.array([[1.0], [3.0]], np.float32), np.array([2.0], np.float32), np.zeros((2, 1), np.float32))
    assert rule.divergence == pytest.approx(3.0 - 2.0 * math.log(2.0) + 5.0, rel=1e-11)
