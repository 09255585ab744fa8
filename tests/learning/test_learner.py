"""Learn a policy with its certificate: input formats, objectives, files, checkpoints."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import surelift as sl
from surelift.arrays import FloatArray
from surelift.grids import Grid
from surelift.learning.data.features import FeatureSurvey
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.rules import GaussianRule
from surelift.learning.training import blocks

FEW: dict[str, Any] = {"epochs": 3, "learning_rate": 0.05}
GAUSSIAN: dict[str, Any] = {"policy": "gaussian", **FEW}


def problem(rounds: int = 2_000, seed: int = 0) -> dict[str, Any]:
    """Three actions; the context shows which one is best."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(rounds, 3))
    logging = 0.7 * rng.dirichlet(np.ones(3), rounds) + 0.1
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    reward = (rng.random(rounds) < np.where(action == contexts.argmax(axis=1), 0.8, 0.2)).astype(float)
    return {
        "contexts": contexts, "action": action, "reward": reward, "logging": logging,
        "propensity": logging[np.arange(rounds), action],
    }  # fmt: skip


def logs_of(data: dict[str, Any]) -> sl.Logs:
    return sl.Logs(**data)


def means(learner: PolicyLearner) -> Any:
    rule = learner.policy_.rule
    assert isinstance(rule, GaussianRule)
    return rule.means


def fit(data: dict[str, Any], **options: Any) -> PolicyLearner:
    return PolicyLearner(**{**GAUSSIAN, **options}).fit(logs_of(data))


@pytest.fixture(scope="module")
def learned() -> PolicyLearner:
    return fit(problem())


def test_fit_learns_and_certifies(learned: PolicyLearner) -> None:
    answer: Any = learned.answer_
    assert answer.certified
    assert answer.about == "improvement"
    assert 0.0 < answer.lower < answer.estimate
    assert answer.rounds == 1_800
    stated = learned.certificate_.content
    assert stated["question"]["kind"] == "learn"
    assert stated["answer"]["divergence"] == pytest.approx(learned.policy_.rule.divergence)  # type: ignore[union-attr]
    assert "fitted on the first 200 rounds" in stated["answer"]["prior"]
    fresh = sl.compare(logs_of(problem(seed=1)), {"new": learned})
    assert fresh.certified
    value: Any = sl.evaluate(logs_of(problem(seed=1)), {"new": learned.policy_})["new"]
    assert value.lower > 0.4
    chosen = sl.select(logs_of(problem(seed=1)), {"new": learned, "same": "production"}).chosen
    assert chosen == "new"


@pytest.mark.parametrize("kind", ["arrays", "pandas", "polars", "parquet", "csv"])
def test_every_input_format_gives_the_same_policy(kind: str, learned: PolicyLearner, tmp_path: Path) -> None:
    data = problem()
    columns = {f"x{k}": data["contexts"][:, k] for k in range(3)}
    beside: dict[str, Any] = {name: data[name] for name in ("reward", "propensity", "logging")}
    learner = PolicyLearner(**GAUSSIAN)
    if kind == "arrays":
        learner.fit(data["contexts"], data["action"], **beside)
    elif kind in ("pandas", "polars"):
        frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
        learner.fit(frame, data["action"], **beside)
    else:
        names = {f"l{k}": data["logging"][:, k] for k in range(3)}
        table = pa.table({**columns, **names, **{name: data[name] for name in ("action", "reward", "propensity")}})
        path = tmp_path / f"log.{kind}"
        if kind == "csv":
            import pyarrow.csv

            pyarrow.csv.write_csv(table, path)
        else:
            pq.write_table(table, path, row_group_size=300)
        logs = sl.Logs(
            path, reward="reward", propensity="propensity", action="action", logging=list(names), contexts=list(columns)
        )
        learner.fit(logs)
    assert learner.answer_.lower == pytest.approx(learned.answer_.lower, abs=1e-9)
    np.testing.assert_array_equal(means(learner), means(learned))


def test_rounds_that_do_not_fit_in_memory_are_read_again(learned: PolicyLearner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MEMORY", 1)
    again = fit(problem())
    np.testing.assert_array_equal(means(again), means(learned))


def test_the_training_bound_is_the_certified_bound() -> None:
    """In single precision too, however large the offsets of a control are: it selects the best epoch."""
    scores: list[float] = []
    learner = PolicyLearner("gaussian", epochs=1, batch_size=2048, learning_rate=0.02, prior="zero")
    learner.fit(logs_of(problem(40_000)), progress=lambda _, __, score: scores.append(score))
    answer: Any = learner.answer_
    assert answer.lower == pytest.approx(scores[0], abs=1e-6)
    assert answer.lower > 0.1


def test_seeds_are_reproducible(learned: PolicyLearner) -> None:
    assert fit(problem()).answer_.lower == learned.answer_.lower
    before = torch.get_rng_state()
    assert fit(problem(), seed=1).answer_.lower != learned.answer_.lower
    assert torch.equal(torch.get_rng_state(), before)


def test_a_killed_run_resumes_to_the_same_result(tmp_path: Path) -> None:
    path = str(tmp_path / "state.safetensors")
    whole = fit(problem(), checkpoint=str(tmp_path / "whole.safetensors"), epochs=4)

    def kill(epoch: int, _: int, __: float) -> None:
        if epoch == 2:
            raise KeyboardInterrupt

    half = PolicyLearner(**{**GAUSSIAN, "epochs": 4}, checkpoint=path)
    with pytest.raises(KeyboardInterrupt):
        half.fit(logs_of(problem()), progress=kill)
    passes: list[int] = []
    half.fit(logs_of(problem()), progress=lambda epoch, *_: passes.append(epoch))
    assert passes == [3, 4]
    np.testing.assert_array_equal(means(half), means(whole))
    assert half.answer_.lower == whole.answer_.lower
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        fit(problem(), checkpoint=path, delta=0.01)
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        fit(problem(seed=3), checkpoint=path, epochs=4)


def test_save_and_load(learned: PolicyLearner, tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    learned.save(str(path))
    again = LearnedPolicy.load(path)
    contexts = problem(seed=4)["contexts"]
    np.testing.assert_array_equal(again.predict_proba(contexts), learned.predict_proba(contexts))
    assert sl.verify(again.certificate, logs_of(problem()), again).same  # type: ignore[arg-type]
    other = sl.verify(again.certificate, logs_of(problem(seed=1)), again)  # type: ignore[arg-type]
    assert not other.same
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(sl.LogsError, match="cannot be read as safetensors"):
        LearnedPolicy.load(path)
    (tmp_path / "x.safetensors").write_bytes(b"no such thing")
    with pytest.raises(sl.LogsError):
        LearnedPolicy.load(tmp_path / "x.safetensors")


def test_sample_and_predict(learned: PolicyLearner) -> None:
    contexts = problem(seed=5)["contexts"]
    shares = learned.predict_proba(contexts[:1])
    drawn = learned.sample(np.repeat(contexts[:1], 20_000, axis=0), seed=0)
    assert np.bincount(drawn, minlength=3) / 20_000 == pytest.approx(shares[0], abs=0.02)
    assert (learned.sample(contexts, seed=1) == learned.sample(contexts, seed=1)).all()
    with pytest.warns(UserWarning, match="Use sample"):
        assert (learned.predict(contexts) == learned.predict_proba(contexts).argmax(axis=1)).all()


def test_labels_and_categorical_contexts(tmp_path: Path) -> None:
    shop = sl.datasets.shop(4_000)
    learner = PolicyLearner(**GAUSSIAN).fit(shop.logs())
    table = shop.table.select(["visitor", "device", "daypart"])
    assert set(learner.sample(table, seed=0)) <= set(sl.datasets.shop(10).columns()["actions"])
    unseen = pa.table({"visitor": ["unseen", None], "device": ["phone", "phone"], "daypart": ["day", "day"]})
    assert learner.predict_proba(unseen).sum(axis=1) == pytest.approx(1.0)
    assert learner.certificate_ is not None


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "value"}, {"objective": "value", "control": "none"}, {"objective": "ls-lin"},
        {"objective": "ls-lin", "smoothing": 0.1}, {"objective": "moments", "order": 2},
        {"objective": "implicit-exploration"}, {"objective": "clipping"}, {"objective": "clipping-with-baseline"},
        {"objective": "exponential-smoothing"}, {"objective": "improvement", "control": "none"},
        {"objective": "improvement", "grid": "planned"}, {"prior": "zero"}, {"covariance": "diagonal"},
        {"prior": np.zeros((3, 4))},
    ],
    ids=lambda options: " ".join(f"{name}={value}" for name, value in options.items())[:40].replace("\n", " "),
)  # fmt: skip
def test_every_objective_learns_and_verifies(options: dict[str, Any]) -> None:
    data = problem()
    learner = fit(data, **options)
    answer: Any = learner.answer_
    assert answer.rounds == (1_800 if options.get("prior", "fitted") is not None and "prior" not in options else 2_000)
    assert sl.verify(learner.certificate_, logs_of(data), learner.policy_).same
    truth = float((learner.predict_proba(data["contexts"]) * rewards(data)).sum(axis=1).mean())
    production = float((data["logging"] * rewards(data)).sum(axis=1).mean())
    assert answer.lower <= (truth if answer.about == "value" else truth - production) + 0.01
    assert truth > production + 0.02


def rewards(data: dict[str, Any]) -> FloatArray:
    expected = np.full(data["logging"].shape, 0.2)
    expected[np.arange(len(expected)), data["contexts"].argmax(axis=1)] = 0.8
    return expected


def test_a_given_reward_model_certifies() -> None:
    data = problem()
    with_model = PolicyLearner(**GAUSSIAN, control=sl.models.given(_predicted(data))).fit(logs_of(data))
    assert with_model.answer_.certified
    certificate: Any = with_model.certificate_
    assert sl.verify(certificate, logs_of(data), with_model.policy_, control=sl.models.given(_predicted(data))).same
    with pytest.raises(sl.UsageError, match="pass it in control="):
        sl.verify(with_model.certificate_, logs_of(data), with_model.policy_)


@pytest.mark.parametrize("prior", ["zero", "fitted"])
def test_a_refitted_reward_model_tightens_the_bound_and_verifies(prior: str) -> None:
    """It is fitted on earlier rounds only, and described in the certificate, so that anyone can recompute it."""
    data = problem(3_000)
    data["reward"] = np.clip(0.5 + 0.2 * data["contexts"][np.arange(3_000), data["action"]], 0.0, 1.0)
    logs = sl.Logs(**data, time=np.arange(3_000))
    lower: dict[str, Any] = {
        name: PolicyLearner(**GAUSSIAN, prior=prior, control=control).fit(logs).answer_.lower
        for name, control in {"weights": "weights", "linear": sl.models.refitted("linear")}.items()
    }
    assert lower["linear"] > lower["weights"] + 0.001
    learner = PolicyLearner(**GAUSSIAN, prior=prior, control=sl.models.refitted("linear")).fit(logs)
    assert sl.verify(learner.certificate_, logs, learner.policy_).same
    with pytest.raises(sl.UsageError, match="name the column of decision times"):
        PolicyLearner(**GAUSSIAN, control="model").fit(logs_of(problem(300)))


def _predicted(data: dict[str, Any]) -> Any:
    return lambda table: (
        0.2 + 0.6 * (np.column_stack([table[f"x{k}"].to_numpy() for k in range(3)]).argmax(axis=1)[:, None] == np.arange(3))
    )


def test_costs_and_reward_ranges() -> None:
    data = problem()
    plain = fit(data)
    cents = {**data, "cost": 100.0 * (1.0 - data["reward"])}
    del cents["reward"]
    learner = PolicyLearner(**GAUSSIAN).fit(sl.Logs(**cents, reward_range=(0, 100)))
    answers: list[Any] = [learner.answer_, plain.answer_]
    assert answers[0].lower == pytest.approx(100.0 * answers[1].lower, rel=1e-6)
    value: Any = PolicyLearner(**GAUSSIAN, objective="value").fit(sl.Logs(**cents, reward_range=(0, 100))).answer_
    assert value.lower is None
    assert value.upper > value.estimate
    assert "upper bound" in str(value)


def test_other_policies_are_certified_on_held_out_rounds() -> None:
    data = problem(4_000)
    for policy in (
        "linear",
        "network",
        torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)),
    ):
        learner = PolicyLearner(policy, **FEW).fit(logs_of(data))
        assert learner.answer_.certified
        assert learner.answer_.rounds == 1_200
        judged = logs_of(data).part(2_800, 4_000)
        assert sl.verify(learner.certificate_, judged, learner.policy_).same
        with pytest.raises(sl.UsageError, match="learned from these very rounds"):
            sl.compare(logs_of(data).part(0, 2_800), {"new": learner})
    for objective in ("ips", "snips"):
        assert PolicyLearner("linear", objective=objective, **FEW).fit(logs_of(data)).answer_.certified
    robust = PolicyLearner("linear", objective="doubly-robust", control=sl.models.given(_predicted(data)), **FEW)
    assert robust.fit(logs_of(data)).answer_.certified


def test_held_out_rounds_do_not_affect_the_feature_layout() -> None:
    """A category that occurs only in held-out rounds is treated as unseen."""
    data = problem(1_000)
    table = {"x": data["contexts"][:, 0], "t": np.where(np.arange(1_000) < 700, "a", "late")}
    beside: dict[str, Any] = {name: data[name] for name in ("reward", "propensity", "logging")}
    learner = PolicyLearner("linear", **FEW).fit(table, data["action"], **beside)
    assert learner.policy_.layout.texts == {"t": ("a",)}
    late, other = (learner.predict_proba({"x": [0.3], "t": [text]}) for text in ("late", "other"))
    np.testing.assert_array_equal(late, other)


def test_save_and_load_a_torch_module(tmp_path: Path) -> None:
    def network() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

    learner = PolicyLearner(network(), **FEW).fit(logs_of(problem()))
    learner.save(str(tmp_path / "p.safetensors"))
    with pytest.raises(sl.UsageError, match="module="):
        LearnedPolicy.load(tmp_path / "p.safetensors")
    again = LearnedPolicy.load(tmp_path / "p.safetensors", module=network())
    contexts = problem(seed=6)["contexts"]
    np.testing.assert_array_equal(again.predict_proba(contexts), learner.predict_proba(contexts))


def test_scikit_learn_interface() -> None:
    from sklearn.base import clone

    learner = PolicyLearner(epochs=2, delta=0.1)
    again = clone(learner)
    assert again.get_params()["delta"] == 0.1
    assert again.set_params(delta=0.2).delta == 0.2
    assert "delta=0.1" in repr(learner)
    with pytest.raises(sl.UsageError, match="no parameter"):
        learner.set_params(detla=0.1)


def test_features_of_lists_texts_and_scaled_numbers() -> None:
    table = pa.table({"v": pa.array([[1.0, 2.0], [3.0, 4.0]]), "t": ["a", "b"], "n": [10.0, 30.0]})
    layout = FeatureLayout(("v", "t", "n"), {"t": ("a", "c")}, {"v": 2}, True, (2.0, 3.0, 20.0), (1.0, 1.0, 10.0))
    assert layout.encode(table).tolist() == [
        [-1.0, -1.0, 1.0, 0.0, 0.0, -1.0, 1.0],
        [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    ]
    assert FeatureLayout.from_description(json.loads(json.dumps(layout.describe()))) == layout


def test_standardisation_does_not_depend_on_the_batches() -> None:
    values = np.random.default_rng(0).normal(1e3, 1e-2, size=1_000)
    table = pa.table({"n": values, "t": ["a"] * 1_000})
    survey = FeatureSurvey(("n", "t"), intercept=True)
    for part in (table.slice(0, 1), table.slice(1, 600), table.slice(601, 399)):
        survey.update(part)
        survey.standardise(part)
    layout = survey.layout()
    assert layout.centre == pytest.approx((np.float32(values).astype(float).mean(),), rel=1e-12)
    assert layout.scale == pytest.approx((np.float32(values).astype(float).std(),), rel=1e-9)
    assert layout.texts == {"t": ("a",)}


def test_a_context_that_turns_out_to_be_text_is_not_standardised() -> None:
    """A column of a CSV file may look numeric in its first batch."""
    survey = FeatureSurvey(("code", "n"), intercept=True)
    for code in ([1.0, 2.0], ["1", "x"]):
        table = pa.table({"code": code, "n": [3.0, 5.0]})
        survey.update(table)
        survey.standardise(table)
    layout = survey.layout()
    assert (layout.centre, layout.scale) == ((4.0,), (1.0,))
    assert layout.texts == {"code": ("1", "x")}


def test_a_saved_policy_is_used_without_torch(learned: PolicyLearner, tmp_path: Path) -> None:
    learned.save(str(tmp_path / "p.safetensors"))
    script = (
        "import sys, numpy as np, surelift as sl\n"
        f"policy = sl.LearnedPolicy.load({str(tmp_path / 'p.safetensors')!r})\n"
        "policy.sample(np.zeros((3, 3)))\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_weights_of_unseen_texts_keep_the_prior() -> None:
    """They are N(prior, 1), whatever the deviation of the others: that is the policy the bound covers."""
    rng = np.random.default_rng(0)
    data = problem(1_000)
    table = {"x": data["contexts"][:, 0], "t": rng.choice(["a", "b"], 1_000)}
    beside: dict[str, Any] = {name: data[name] for name in ("reward", "propensity", "logging")}
    learner = PolicyLearner(**GAUSSIAN, prior="zero").fit(table, data["action"], **beside)
    rule = learner.policy_.rule
    assert isinstance(rule, GaussianRule)
    assert learner.policy_.layout.size == 1 + 3 + 1
    unseen = learner.policy_.layout.unseen()
    assert unseen == [3]
    assert rule.deviation[3] == 1.0
    assert rule.deviation[0] != 1.0
    assert not rule.means[:, 3].any()
    spread = rule.deviation.astype(float) ** 2
    assert learner.predict_proba({"x": [0.5], "t": ["new"]}) == pytest.approx(
        GaussianRule(rule.means, np.sqrt(spread).astype(np.float32), rule.prior).probabilities(
            np.array([[0.5, 0.0, 0.0, 1.0, 1.0]], np.float32)
        )
    )


def test_clipping_learns_with_many_actions() -> None:
    """Smoothings far too large for a clip of 1/K must not give infinities."""
    rng, actions = np.random.default_rng(1), 20
    contexts, logging = rng.normal(size=(1_000, actions)), np.full((1_000, actions), 1.0 / actions)
    action = rng.integers(0, actions, 1_000)
    reward = (action == contexts.argmax(axis=1)).astype(float)
    for objective in ("clipping", "clipping-with-baseline"):
        scores: list[float] = []
        learner = PolicyLearner("gaussian", objective=objective, prior="zero", **FEW)
        learner.fit(
            contexts, action, reward=reward, propensity=logging[:, 0], logging=logging,
            progress=lambda _, __, score, kept=scores: kept.append(score),  # type: ignore[misc]
        )  # fmt: skip
        assert np.isfinite(scores).all()
        assert len(set(scores)) == len(scores)


def test_a_certified_policy_does_not_change_with_the_module() -> None:
    network = torch.nn.Linear(4, 3)
    first = PolicyLearner(network, **FEW).fit(logs_of(problem()))
    contexts = problem(seed=6)["contexts"]
    before = first.predict_proba(contexts)
    again = PolicyLearner(network, **FEW).fit(logs_of(problem()))
    np.testing.assert_array_equal(first.predict_proba(contexts), before)
    np.testing.assert_array_equal(again.predict_proba(contexts), before)


def test_a_checkpoint_depends_on_contexts_and_prior(tmp_path: Path) -> None:
    path, data = str(tmp_path / "state.safetensors"), problem()
    fit(data, checkpoint=path)
    other = {**data, "contexts": data["contexts"] + 1.0}
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        fit(other, checkpoint=path)
    path, prior = str(tmp_path / "prior.safetensors"), np.zeros((3, 4))
    fit(data, checkpoint=path, prior=prior)
    prior = prior.copy()
    prior[1, 2] = 1e-3
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        fit(data, checkpoint=path, prior=prior)


def test_a_prior_from_other_rounds_provides_the_feature_layout() -> None:
    first = fit(problem(seed=8))
    second = fit(problem(), prior=first)
    assert second.policy_.layout == first.policy_.layout
    assert second.answer_.certified


def test_given_predictions_and_a_custom_grid() -> None:
    data = problem()
    grid = Grid("own", (0.01, 0.1, 1.0), (0.25, 0.5, 0.25))
    learner = fit(data, control=sl.models.given(rewards(data)), grid=grid)
    again: Any = learner.certificate_
    assert sl.verify(again, logs_of(data), learner.policy_, control=sl.models.given(rewards(data))).same


def test_a_checkpoint_depends_on_the_reward_model(tmp_path: Path) -> None:
    """On its content, not its address: an equal model resumes, another one is refused."""
    data, path = problem(300), str(tmp_path / "checkpoint")
    others = [logs_of(problem(200, seed)) for seed in (7, 7, 8)]

    def fit_with(other: sl.Logs, epochs: int) -> PolicyLearner:
        control = sl.models.fitted_on(other, "linear")
        return PolicyLearner("gaussian", epochs=epochs, control=control, prior="zero", checkpoint=path).fit(logs_of(data))

    fit_with(others[0], 1)
    fit_with(others[1], 2)
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        fit_with(others[2], 3)
