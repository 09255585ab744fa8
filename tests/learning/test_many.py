"""Many problems at once: each has the result of a separate fit."""

from typing import Any

import numpy as np
import pytest
import torch

import surelift as sl
from surelift import grids
from surelift.learning import fit_many
from surelift.learning.data.dataset import Examples
from surelift.learning.guarantee import guarantee_of
from surelift.learning.learner import PolicyLearner
from surelift.learning.objectives.logarithmic_smoothing import ValueObjective, plain_parts
from surelift.learning.policies.rules import GaussianRule
from surelift.learning.training.blocks import Block
from surelift.learning.training.loop import BestEpoch
from tests.learning.test_learner import logs_of, means, problem

FEW: dict[str, Any] = {"epochs": 3, "learning_rate": 0.05}
GAUSSIAN: dict[str, Any] = {"policy": "gaussian", **FEW}


def alone(options: dict[str, Any], logs: sl.Logs) -> PolicyLearner:
    return PolicyLearner(**{**GAUSSIAN, **options}).fit(logs)


def together(options: list[dict[str, Any]], logs: Any) -> list[PolicyLearner]:
    return fit_many([PolicyLearner(**{**GAUSSIAN, **chosen}) for chosen in options], logs)


def test_fit_many_gives_the_results_of_separate_fits() -> None:
    """Seeds, priors, objectives, folds of different sizes, and a softmax, in one call."""
    first, second, short = (logs_of(problem(rounds, seed)) for rounds, seed in ((700, 0), (700, 1), (450, 2)))
    asked: list[tuple[dict[str, Any], sl.Logs]] = [
        ({"seed": 0}, first), ({"seed": 1}, first), ({"seed": 0}, second), ({"prior": "zero"}, first),
        ({"objective": "ls-lin"}, first), ({"objective": "ls-lin", "seed": 3}, second), ({"seed": 5}, short),
        ({"covariance": "diagonal"}, first), ({"objective": "clipping"}, second), ({"epochs": 2}, first),
        ({"policy": "linear"}, first),
    ]  # fmt: skip
    learners = together([options for options, _ in asked], [logs for _, logs in asked])
    for learner, (options, logs) in zip(learners, asked, strict=True):
        expected: Any = alone(options, logs)
        assert learner.answer_.lower == pytest.approx(expected.answer_.lower, abs=1e-6), options
        stated, wanted = (dict(one.certificate_.content["question"]) for one in (learner, expected))
        # The same to the last option; the weights of the policy differ by rounding, and so does its mark.
        assert stated.pop("policies").keys() == wanted.pop("policies").keys()
        assert stated == wanted
        assert sl.verify(learner.certificate_, logs, learner.policy_).same


def test_learners_of_one_log_share_what_they_read_and_no_more() -> None:
    """Other parts, features, models and stages of the same log: each has the rounds that it would read alone."""
    data, few = problem(600), {**FEW, "epochs": 1}
    models = [sl.models.fitted_on(logs_of(problem(200, seed)), "linear") for seed in (7, 8)]
    asked: list[dict[str, Any]] = [
        {}, {"intercept": False}, {"holdout": 0.5}, {"progressive": 3}, {"progressive": 2}, {"policy": "gaussian"},
        {"policy": "gaussian", "prior_share": 0.3}, {"progressive": 3, "intercept": False},
        *({"objective": "doubly-robust", "control": model} for model in models),
    ]  # fmt: skip
    learners = fit_many([PolicyLearner(**few, **options) for options in asked], logs_of(data))
    for learner, options in zip(learners, asked, strict=True):
        expected = PolicyLearner(**few, **options).fit(logs_of(data))
        assert learner.certificate_.content.get("rows") == expected.certificate_.content.get("rows"), options
        assert learner.policy_.features == expected.policy_.features, options
        assert learner.answer_.lower == pytest.approx(expected.answer_.lower, abs=1e-6), options
    assert len({learner.answer_.lower for learner in learners}) == len(learners)


def test_a_stopped_problem_does_not_change_while_others_continue() -> None:
    logs = logs_of(problem(600, 3))
    asked = [{"epochs": 12, "patience": 1, "learning_rate": 0.3, "seed": seed} for seed in range(4)]
    learners = together(asked, logs)
    for learner, options in zip(learners, asked, strict=True):
        np.testing.assert_allclose(means(learner), means(alone(options, logs)), atol=1e-5)


def test_shared_contexts_are_stored_once() -> None:
    rng = np.random.default_rng(0)
    some, other = rng.normal(size=(2, 6, 3)).astype(np.float32)

    def of(features: Any, action: int) -> Examples:
        return Examples(features, np.full(6, action), np.full(6, 0.5), np.full(6, 0.25))

    block = Block.of([of(some, 0), of(other, 1), of(some.copy(), 2)], "cpu")
    assert block.pool.shape == (12, 3)
    batch = block.at(torch.tensor([[5, 0], [1, 1], [2, 4]]))
    assert batch.action.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(
        batch.features.numpy(), [some[5], some[0], other[1], other[1], some[2], some[4]]
    )  # fmt: skip


def test_the_stacked_bound_equals_the_single_bound() -> None:
    """Newton steps on tensors reach the root that the NumPy certificate uses, for bounds above and below zero."""
    rng = np.random.default_rng(0)
    objective = ValueObjective(plain_parts(grids.anytime(), offset=0.0))
    rates = np.array(objective.rates)
    for rounds in (10, 1_000, 100_000):
        # Sums of log(1 + rate x) with x of mean between 0 and 3.
        x = rng.exponential(rng.uniform(0.01, 3.0, (40, 1)), (40, 200))
        sums = np.log1p(x[:, :, None] * rates).mean(1) * rounds
        divergence = rng.uniform(0.0, 200.0, 40)
        bounds = objective.bound(torch.from_numpy(sums), torch.from_numpy(divergence), rounds=rounds, delta=0.05)
        expected = [
            objective.bound(row, np.float64(kl), rounds=rounds, delta=0.05)
            for row, kl in zip(sums, divergence, strict=True)
        ]
        np.testing.assert_allclose(bounds.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"objective": "ls-lin"}, {"objective": "exponential-smoothing"}])
def test_a_certificate_by_torch_equals_the_one_by_numpy(options: dict[str, Any]) -> None:
    """Up to rounding; both allow for the error of the quadrature."""
    logs = logs_of(problem(500))
    learner = alone(options, logs)
    learned, question = learner.policy_, learner.certificate_.content["question"]
    asked = {**question["learning"], "control": question["method"]["control"], "delta": question["delta"]}
    by_device, expected = (guarantee_of(learned, logs, asked, device=device) for device in ("cpu", None))
    assert by_device.lower == pytest.approx(expected.lower, abs=1e-12)
    assert by_device.estimate == pytest.approx(expected.estimate, abs=1e-12)
    rule, features = learned.rule, np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    assert isinstance(rule, GaussianRule)
    by_torch = rule.probabilities_on_device(torch.from_numpy(features).double()).numpy()
    np.testing.assert_allclose(by_torch, rule.probabilities(features), atol=1e-12, rtol=0.0)


def test_public_names() -> None:
    assert sl.learning.fit_many is fit_many
    assert sl.learning.ItemSoftmax.__name__ == "ItemSoftmax"


def test_wrong_arguments_are_refused() -> None:
    logs, learner = logs_of(problem(100)), PolicyLearner()
    with pytest.raises(sl.UsageError, match="2 learners but 3 logs"):
        fit_many([learner, PolicyLearner()], [logs] * 3)
    with pytest.raises(sl.UsageError, match="does not support checkpoints"):
        fit_many([PolicyLearner(checkpoint="x")], logs)
    with pytest.raises(sl.UsageError, match="the same learner appears twice"):
        fit_many([learner, learner], logs)
    with pytest.raises(sl.UsageError, match="not str"):
        fit_many(["a"], logs)  # type: ignore[list-item]
    with pytest.raises(sl.UsageError, match="not ndarray"):
        fit_many([learner], [np.ones(3)])  # type: ignore[list-item]
    with pytest.raises(sl.UsageError, match="unknown objective"):
        fit_many([PolicyLearner(objective="nothing")], logs)


def test_a_stopped_problem_ignores_a_bound_that_is_not_finite() -> None:
    best = BestEpoch({}, 1.0, epoch=1, stopped=True)
    policy: Any = None
    best.update(policy, 0, 5, float("nan"), 1)
    assert best.score == 1.0
    with pytest.raises(sl.UsageError, match="the bound is not finite"):
        BestEpoch({}, 1.0).update(policy, 0, 5, float("nan"), 1)
