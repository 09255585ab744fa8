"""A softmax over many items: unbiased in training, and certified from the logged items alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray
from surelift.learning import ItemSoftmax, LearnedPolicy, PolicyLearner
from surelift.learning.objectives.objective import PlainEstimate
from surelift.learning.policies.items import SampledSoftmax
from surelift.learning.policies.rules import ItemRule, SoftmaxRule, arrays_of


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Such small matrix products do not gain from threads, and other tests run at the same time."""
    threads, of_index = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    faiss.omp_set_num_threads(of_index)


def market(rounds: int, items: int, seed: int = 0, columns: int = 6) -> tuple[dict[str, Any], Any, FloatArray]:
    """Visitors like similar items, and production follows that weakly. Returns the log, the embeddings, and click rates."""
    rng = np.random.default_rng(seed)
    embeddings = np.random.default_rng(99).normal(size=(items, columns)).astype(np.float32)
    contexts = rng.normal(size=(rounds, columns))
    liking = contexts @ embeddings.T.astype(np.float64) / np.sqrt(columns)
    logging = np.exp(0.5 * liking)
    logging /= logging.sum(axis=1, keepdims=True)
    chance = 1.0 / (1.0 + np.exp(2.0 - 1.5 * liking))
    action = (rng.random(rounds)[:, None] > np.cumsum(logging, axis=1)[:, :-1]).sum(axis=1)
    rows = np.arange(rounds)
    data = {
        "contexts": contexts, "action": action, "reward": (rng.random(rounds) < chance[rows, action]).astype(float),
        "propensity": logging[rows, action], "action_count": items,
    }  # fmt: skip
    return data, embeddings, chance


def exact(policy: SampledSoftmax, features: torch.Tensor, action: torch.Tensor) -> tuple[Any, Any]:
    """Exact probabilities, and the gradient of each with respect to the query."""
    items: Any = policy.items
    wanted = (features @ policy.weights.T).detach().double().requires_grad_()
    p = torch.softmax(wanted @ items.double().T, dim=1).gather(1, action[:, None])[:, 0]
    (slopes,) = torch.autograd.grad(p.sum(), wanted)
    return p.detach().numpy(), slopes.numpy()


class ArbitraryIndex:
    """An index that returns arbitrary items, and fewer than requested."""

    def nearest(self, queries: torch.Tensor, count: int) -> torch.Tensor:
        return torch.tensor([-1, 3, 17]).expand(len(queries), -1).contiguous()


@pytest.mark.parametrize("index", ["faiss", "arbitrary"])
@pytest.mark.parametrize("sharpness", [0.3, 1.0])
def test_probabilities_and_gradients_are_unbiased(index: str, sharpness: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    embeddings, weights = rng.normal(size=(50, 3)), sharpness * rng.normal(size=(3, 4))
    policy = SampledSoftmax(ItemSoftmax(embeddings, retrieved=6, draws=12), weights.astype(np.float32))
    if index == "arbitrary":
        monkeypatch.setattr(policy, "_index", ArbitraryIndex())
    features, action = torch.from_numpy(rng.normal(size=(5, 4))).float(), torch.tensor([0, 3, 17, 30, 49])
    p, slopes = exact(policy, features, action)
    torch.manual_seed(0)
    runs = 3_000
    estimates: list[FloatArray] = []
    with torch.no_grad():
        wanted = (features @ policy.weights.T).double()
        for _ in range(runs):
            likely, slope = policy._estimated(wanted, action)
            estimates.append(np.column_stack([likely.numpy(), slope.numpy()]))
    drawn = np.stack(estimates)  # (runs, rows, 1 + columns)
    away = (drawn.mean(axis=0) - np.column_stack([p, slopes])) / (drawn.std(axis=0) / np.sqrt(runs))
    assert np.abs(away).max() < 5.0
    assert drawn.std(axis=0).max() > 0.0


def test_few_items_are_summed_exactly_with_gradients() -> None:
    rng = np.random.default_rng(2)
    embeddings, weights = rng.normal(size=(20, 3)), rng.normal(size=(3, 4)).astype(np.float32)
    features, action = torch.from_numpy(rng.normal(size=(6, 4))).float(), torch.arange(6)
    policy = SampledSoftmax(ItemSoftmax(embeddings, retrieved=8, draws=12), weights)
    p, slopes = exact(policy, features, action)
    probability = policy.logged(features, action)
    assert probability.detach().numpy() == pytest.approx(p, rel=1e-5)
    (gradient,) = torch.autograd.grad(probability.sum(), policy.weights)
    assert gradient.numpy() == pytest.approx(slopes.T @ features.numpy(), abs=1e-5)


@settings(max_examples=20)
@given(items=st.integers(1, 40), rows=st.integers(0, 9), seed=st.integers(0, 1000))
def test_the_probability_of_one_item_equals_that_of_the_whole_softmax(items: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, embeddings = rng.normal(size=(3, 2)).astype(np.float32), rng.normal(size=(items, 3)).astype(np.float32)
    features, action = 30.0 * rng.normal(size=(rows, 2)).astype(np.float32), rng.integers(0, items, rows)
    rule = ItemRule(weights, embeddings)
    every = rule.probabilities(features)
    assert rule.logged(features, action) == pytest.approx(every[np.arange(rows), action], rel=1e-12)
    whole = SoftmaxRule(embeddings.astype(np.float64) @ weights.astype(np.float64))  # type: ignore[arg-type]
    assert every == pytest.approx(whole.probabilities(features), rel=1e-9)


def test_the_linear_estimate_by_hand() -> None:
    from surelift.learning.data.dataset import Examples

    examples = Examples(None, np.array([0, 1]), np.array([1.0, 0.5]), np.array([0.5, 0.25]))
    estimate = PlainEstimate("logarithmic-smoothing", 0.5, linear=True)
    # Both have r/q = 2, so log 2 / 0.5 each.
    terms = estimate.terms(examples, np.array([0.25, 0.5]))
    assert estimate.bound(terms.sum(0), 0.0, rounds=2, delta=0.05) == pytest.approx((0.25 + 0.5) * np.log(2.0) / 0.5 / 2)


@pytest.fixture(scope="module")
def learned() -> tuple[PolicyLearner, sl.Logs]:
    data, embeddings, _ = market(12_000, 1_000)
    start = np.hstack([0.5 * np.eye(6), np.zeros((6, 1))]) / np.sqrt(6)
    logs = sl.Logs(**data)
    learner = PolicyLearner(ItemSoftmax(embeddings, start=start), epochs=4, learning_rate=0.02, batch_size=256)
    return learner.fit(logs), logs


def test_the_learned_policy_is_certified_and_truly_better(learned: tuple[PolicyLearner, sl.Logs]) -> None:
    learner, logs = learned
    answer: Any = learner.answer_
    assert answer.certified
    data, _, chance = market(2_000, 1_000, seed=5)
    logging = np.exp(np.log(chance / (1 - chance)) / 3.0)
    logging /= logging.sum(axis=1, keepdims=True)
    gained = ((learner.predict_proba(data["contexts"]) - logging) * chance).sum(axis=1).mean()
    assert gained > answer.lower > 0.0
    assert sl.verify(learner.certificate_, logs, learner.policy_).same


def test_it_is_saved_evaluated_from_logged_items_and_sampled(learned: tuple[PolicyLearner, sl.Logs], tmp_path: Path) -> None:
    learner, _ = learned
    learner.save(str(tmp_path / "policy.safetensors"))
    again = LearnedPolicy.load(tmp_path / "policy.safetensors")
    data, _, _ = market(3_000, 1_000, seed=7)
    fresh = sl.Logs(**data)
    answer = sl.compare(fresh, {"new": again})
    p = again.predict_proba(data["contexts"])[np.arange(3_000), data["action"]]
    plain = sl.compare(fresh, {"new": p})
    assert (answer.lower, answer.upper) == pytest.approx((plain.lower, plain.upper), abs=1e-12)
    assert sl.evaluate(fresh, {"new": again})["new"].lower is not None
    chosen = again.sample(data["contexts"], seed=0)
    assert chosen.tolist() == again.sample(data["contexts"], seed=0).tolist()
    # Sampled items have the mean log probability that the policy implies.
    shares = again.predict_proba(data["contexts"])
    drawn, expected = np.log(shares[np.arange(3_000), chosen]), (shares * np.log(shares)).sum(axis=1)
    assert drawn.mean() == pytest.approx(expected.mean(), abs=6 * drawn.std() / np.sqrt(3_000))


def test_wrong_arguments_are_refused() -> None:
    data, embeddings, _ = market(200, 1_000)
    logs = sl.Logs(**data)
    with pytest.raises(sl.UsageError, match="999 embeddings, but 1,000 actions"):
        PolicyLearner(ItemSoftmax(embeddings[:-1])).fit(logs)
    with pytest.raises(sl.UsageError, match=r"start must have shape \(6, 7\)"):
        PolicyLearner(ItemSoftmax(embeddings, start=np.eye(6))).fit(logs)
    with pytest.raises(sl.UsageError, match="not linear in the policy"):
        PolicyLearner(ItemSoftmax(embeddings), objective="snips").fit(logs)
    with pytest.raises(sl.UsageError, match="does not support this policy"):
        PolicyLearner(ItemSoftmax(embeddings), objective="improvement").fit(logs)
    with pytest.raises(sl.UsageError, match="embeddings must be finite numbers of shape"):
        ItemSoftmax([1.0, 2.0])
    with pytest.raises(sl.UsageError, match="draws must be a whole number of at least 1, but is 0"):
        ItemSoftmax(embeddings, draws=0)


def test_validation_rounds_choose_the_epoch() -> None:
    """There is nothing to learn: more epochs only give larger weights, and the validation rounds show it."""
    rng = np.random.default_rng(0)
    contexts, action = rng.normal(size=(900, 5)), rng.integers(0, 4, 900)
    logs = sl.Logs(
        contexts=contexts, action=action, reward=(rng.random(900) < 0.5).astype(float), propensity=np.full(900, 0.25),
        action_count=4,
    )  # fmt: skip
    scores: list[float] = []
    learner = PolicyLearner("linear", objective="ips", epochs=30, learning_rate=0.1, patience=None)
    learner.fit(logs, progress=lambda _, __, bound: scores.append(bound))
    assert max(scores) < 0.1
    assert scores[-1] < scores[0]
    # Weights stay near their start, where every action has probability 1/4.
    assert learner.predict_proba(contexts).max() < 0.6


def of_items(items: int, rounds: int, seed: int, **options: Any) -> sl.Logs:
    rng = np.random.default_rng(seed)
    return sl.Logs(
        contexts=rng.normal(size=(rounds, 1)), action=rng.integers(0, items, rounds), propensity=np.full(rounds, 1 / items),
        reward=(rng.random(rounds) < 0.3).astype(float), **options,
    )  # fmt: skip


def test_a_log_with_other_items_is_refused() -> None:
    """An unknown item must not get the probability of another."""
    policy = PolicyLearner(ItemSoftmax(np.eye(40)), epochs=1).fit(of_items(40, 400, 1, action_count=40)).policy_
    for items in (39, 41):
        with pytest.raises(sl.LogsError, match="are action counts that differ from the policy's number of items"):
            sl.compare(of_items(items, 300, 2, action_count=items), {"new": policy})
    with pytest.raises(sl.UsageError, match="needs to know how many actions were available"):
        sl.compare(of_items(40, 300, 2), {"new": policy})


def test_items_with_equal_embeddings_are_retrieved_together() -> None:
    """Three thousand uninformative items do not hide the few that matter."""
    embeddings = np.vstack([np.zeros((3_000, 8)), np.eye(8)])
    policy = SampledSoftmax(ItemSoftmax(embeddings), np.eye(8, dtype=np.float32))
    features, action = 10.0 * torch.eye(8)[:4], torch.tensor([3_000, 3_001, 0, 3_007])
    p, slopes = exact(policy, features, action)
    likely, slope = policy._estimated((features @ policy.weights.T).detach().double(), action)
    assert likely.numpy() == pytest.approx(p, rel=1e-9)
    assert slope.numpy() == pytest.approx(slopes, abs=1e-9)


def test_the_logged_item_is_summed_exactly_whatever_the_index_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings = 0.01 * np.random.default_rng(0).normal(size=(400, 2))
    embeddings[7] = [8.0, 0.0]
    policy = SampledSoftmax(ItemSoftmax(embeddings, retrieved=4, draws=16), np.eye(2, dtype=np.float32))
    monkeypatch.setattr(policy, "_index", ArbitraryIndex())
    features, action = torch.tensor([[1.0, 0.0]]), torch.tensor([7])
    p, _ = exact(policy, features, action)
    torch.manual_seed(0)
    estimates = [float(policy._estimated(features.double(), action)[0]) for _ in range(500)]
    assert np.mean(estimates) == pytest.approx(p[0], rel=0.01)
    assert max(estimates) < 1.1


def test_results_depend_on_the_seed_alone_with_fit_many_too() -> None:
    logs = of_items(600, 1_500, 3, action_count=600)
    embeddings = np.random.default_rng(4).normal(size=(600, 3))

    def learner(seed: int) -> PolicyLearner:
        return PolicyLearner(ItemSoftmax(embeddings, retrieved=8, draws=16), seed=seed, epochs=2, learning_rate=0.05)

    alone = []
    for state in (1, 2):
        torch.manual_seed(state)
        alone.append(learner(0).fit(logs))
    from surelift.learning import fit_many

    several = fit_many([learner(0), learner(1), learner(0)], logs)
    weights = [arrays_of(learner.policy_.rule)["weights"] for learner in (*alone, several[0], several[2])]
    for other in weights[1:]:
        np.testing.assert_array_equal(other, weights[0])


def test_embeddings_of_a_torch_layer() -> None:
    form = ItemSoftmax(torch.nn.Embedding(10, 3).weight)
    assert form.embeddings.shape == (10, 3)
    with pytest.raises(sl.UsageError, match="embeddings holds complex numbers"):
        ItemSoftmax(np.ones((3, 2), dtype=complex))
