"""Many problems at once: each has the result of a separate fit."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surelift as sl
from surelift import grids
from surelift.errors import FitManyError
from surelift.learning import fit_many
from surelift.learning.data.dataset import Dataset, Examples
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.learner import PolicyLearner
from surelift.learning.objectives.logarithmic_smoothing import ValueObjective, plain_parts
from surelift.learning.policies.rules import GaussianRule
from surelift.learning.questions import guarantee_of
from surelift.learning.training.blocks import Block, Blocks
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
        assert learner.policy_.layout == expected.policy_.layout, options
        assert learner.answer_.lower == pytest.approx(expected.answer_.lower, abs=1e-6), options
    assert len({learner.answer_.lower for learner in learners}) == len(learners)


def test_a_stopped_problem_does_not_change_while_others_continue() -> None:
    logs = logs_of(problem(600, 3))
    asked = [{"epochs": 12, "patience": 1, "learning_rate": 0.3, "seed": seed} for seed in range(4)]
    learners = together(asked, logs)
    for learner, options in zip(learners, asked, strict=True):
        np.testing.assert_allclose(means(learner), means(alone(options, logs)), atol=1e-5)


def test_equal_contexts_of_several_logs_are_kept_once() -> None:
    layout = FeatureLayout(("x0", "x1", "x2"), intercept=False)
    several = [Dataset(logs_of(problem(50, seed)), layout, 3) for seed in (0, 0, 1)]
    whole = Blocks(several, "cpu").whole
    assert whole is not None
    assert whole.pool.shape == (100, 3)
    assert whole.origin[:, 0].tolist() == [0, 0, 50]


def test_shared_contexts_are_stored_once() -> None:
    rng = np.random.default_rng(0)
    some, other = rng.normal(size=(2, 6, 3)).astype(np.float32)

    def of(features: Any, action: int) -> Examples:
        return Examples(features, np.full(6, action), np.full(6, 0.5), np.full(6, 0.25))

    block = Block.of([of(some, 0), of(other, 1), of(some, 2)], "cpu")
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
            objective.bound(row, np.float64(kl), rounds=rounds, delta=0.05) for row, kl in zip(sums, divergence, strict=True)
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
    with pytest.raises(sl.UsageError, match="name a folder in checkpoint= of fit_many"):
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
    best = BestEpoch({}, 1.0)
    best.update(policy, 0, 5, float("nan"), 1)
    assert best.stopped
    assert "the bound is not finite after epoch 5" in str(best.failed)


def huge(rounds: int, seed: int = 0) -> sl.Logs:
    """Contexts that single precision holds, but not their squares."""
    data = problem(rounds, seed)
    data["contexts"] = data["contexts"] * 1e30
    return logs_of(data)


def ragged(rounds: int) -> sl.Logs:
    """A vector as context that is longer in the last round: found as the rounds are read to be learned from."""
    data = problem(rounds)
    vectors = [*data["contexts"][:-1].tolist(), [1.0, 2.0]]
    columns = {name: data[name] for name in ("reward", "propensity", "action")} | {"v": vectors}
    columns["logging"] = data["logging"]
    names: Any = {name: name for name in ("reward", "propensity", "action", "logging")}
    return sl.Logs(columns, contexts=["v"], **names)


@pytest.mark.parametrize("bad", [huge, ragged])
def test_a_problem_that_fails_does_not_touch_the_others(bad: Any) -> None:
    """Not a bit of them; whether it is stacked with them, trained beside them, or found unreadable."""
    good = [logs_of(problem(600, seed)) for seed in range(3)]
    reports = list[int]()
    for objective in (None, "ls-lin"):
        without = [PolicyLearner(prior="zero", seed=seed, **GAUSSIAN) for seed in range(3)]
        fit_many(without, good)
        learners = [PolicyLearner(prior="zero", seed=seed, **GAUSSIAN) for seed in range(3)]
        failing = PolicyLearner(prior="zero", objective=objective, **GAUSSIAN)
        with pytest.raises(FitManyError, match="1 of 4 problems failed, counting from 0; the others are fitted") as told:
            fit_many(
                [learners[0], failing, *learners[1:]], [good[0], bad(600), *good[1:]],
                progress=lambda number, *_: reports.append(number),
            )  # fmt: skip
        assert list(told.value.failed) == [1]
        assert "- problem 1: " in str(told.value)
        assert not hasattr(failing, "policy_")
        assert set(reports) == {0, 2, 3}
        for learner, expected in zip(learners, without, strict=True):
            np.testing.assert_array_equal(means(learner), means(expected))
            assert learner.answer_.lower == expected.answer_.lower
            assert learner.policy_.describe() == expected.policy_.describe()


def test_reasons_are_named_up_to_a_few(tmp_path: Path) -> None:
    unfit = {**problem(200), "propensity": np.full(200, 1.5)}
    logs = [logs_of(problem(200)), *[logs_of(unfit)] * 6, logs_of(problem(200))]
    learners = [PolicyLearner(**FEW) for _ in logs]
    learners[-1].set_params(delta=2.0)
    with pytest.raises(FitManyError) as told:
        fit_many(learners, logs)
    assert list(told.value.failed) == [1, 2, 3, 4, 5, 6, 7]
    assert isinstance(told.value.failed[1], sl.LogsError)
    assert isinstance(told.value.failed[7], sl.UsageError)
    text = str(told.value)
    assert "propensity" in text
    assert "- problem 5:" in text
    assert "- problem 6:" not in text
    assert "and 2 more, in .failed" in text
    assert told.value.exit_code == 4
    assert learners[0].answer_.rounds == 60
    copied = pickle.loads(pickle.dumps(told.value))
    assert str(copied) == text


def some_problems() -> tuple[list[PolicyLearner], list[sl.Logs]]:
    """Three groups after the priors: two stacks of two shapes, one of them with a problem that fails; folds; a softmax."""
    first, second, short = (logs_of(problem(rounds, seed)) for rounds, seed in ((500, 0), (500, 1), (350, 2)))
    asked: list[tuple[dict[str, Any], sl.Logs]] = [
        ({"seed": 0}, first), ({"seed": 1, "prior": "zero"}, first), ({"seed": 2, "prior": "zero"}, second),
        ({"objective": "ls-lin", "prior": "zero"}, first), ({"prior": "zero"}, huge(500)), ({}, short),
        ({"policy": "linear"}, first), ({"prior": "zero", "patience": 1, "learning_rate": 5.0}, second),
    ]  # fmt: skip
    return [PolicyLearner(**{**GAUSSIAN, **options}) for options, _ in asked], [logs for _, logs in asked]


def outcome(learners: list[PolicyLearner]) -> list[Any]:
    fitted = [learner for learner in learners if hasattr(learner, "policy_")]
    return [(learner.answer_.lower, learner.policy_.describe()) for learner in fitted]


def fit_and_tell(checkpoint: Path | None, progress: Any = None) -> tuple[list[Any], str]:
    learners, logs = some_problems()
    with pytest.raises(FitManyError) as told:
        fit_many(learners, logs, checkpoint=checkpoint, progress=progress)
    return outcome(learners), str(told.value)


def test_a_killed_run_of_many_resumes_to_the_same_bits(tmp_path: Path) -> None:
    reports = list[tuple[int, int]]()
    whole = fit_and_tell(None, lambda number, epoch, *_: reports.append((number, epoch)))
    assert len(whole[0]) == 7
    # Killed once in every report: with luck in every state of every group.
    for death in range(0, len(reports), 3):
        folder, seen = tmp_path / str(death), list[tuple[int, int]]()

        def killed(number: int, epoch: int, *_: Any, seen: Any = seen, death: int = death) -> None:
            seen.append((number, epoch))
            if len(seen) == death + 1:
                raise KeyboardInterrupt

        learners, logs = some_problems()
        with pytest.raises(KeyboardInterrupt):
            fit_many(learners, logs, checkpoint=folder, progress=killed)
        again = list[tuple[int, int]]()
        assert fit_and_tell(folder, lambda number, epoch, *_, again=again: again.append((number, epoch))) == whole
        assert len(again) < len(reports) - death + 8
        # Once more: nothing is left to train.
        again.clear()
        assert fit_and_tell(folder, lambda number, epoch, *_, again=again: again.append((number, epoch))) == whole
        assert again == []


def test_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    logs, folder = [logs_of(problem(300, seed)) for seed in range(2)], tmp_path / "kept"

    def asked(**options: Any) -> list[PolicyLearner]:
        return [PolicyLearner(**{**GAUSSIAN, "prior": "zero", "seed": seed, **options}) for seed in range(2)]

    expected = outcome(fit_many(asked(epochs=4), logs))
    fit_many(asked(epochs=2), logs, checkpoint=folder)
    with pytest.raises(sl.UsageError, match=r"0000\.safetensors is the checkpoint of another training run"):
        fit_many(asked(delta=0.1), logs, checkpoint=folder)
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        fit_many(asked(), logs[::-1], checkpoint=folder)
    assert outcome(fit_many(asked(epochs=4), logs, checkpoint=str(folder))) == expected
    file = folder / "0000.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(sl.UsageError, match="cannot be read as safetensors"):
        fit_many(asked(epochs=4), logs, checkpoint=folder)
    with pytest.raises(sl.UsageError, match="checkpoint= must name a folder"):
        fit_many(asked(), logs, checkpoint=file)


def test_an_interruption_ends_all() -> None:
    def interrupted(*_: Any) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit_many([PolicyLearner(**FEW) for _ in range(2)], logs_of(problem(200)), progress=interrupted)
