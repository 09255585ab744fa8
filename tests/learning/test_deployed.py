"""What is deployed is what was certified: the same bits after loading, and draws as often as the probabilities say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import surelift as sl
from surelift.arrays import FloatArray, IntArray
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.rules import arrays_of
from tests.learning.test_learner import logs_of, problem

KINDS: dict[str, dict[str, Any]] = {
    "linear": {}, "network": {"policy": "network"}, "stages": {"progressive": 3},
    "network in stages": {"policy": "network", "progressive": 2}, "gaussian": {"policy": "gaussian"},
}  # fmt: skip
LEVEL = 1e-6
DRAWS = 20_000


def learner(kind: str) -> PolicyLearner:
    return PolicyLearner(epochs=3, **KINDS[kind])


@pytest.fixture(scope="module", params=KINDS)
def fitted(request: pytest.FixtureRequest) -> PolicyLearner:
    return learner(request.param).fit(logs_of(problem()))


def assert_drawn(counts: IntArray, shares: FloatArray) -> None:
    expected = shares * counts.sum()
    assert (expected > 5.0).all()
    assert stats.chi2.sf(float(((counts - expected) ** 2 / expected).sum()), len(shares) - 1) > LEVEL


def test_a_loaded_policy_has_the_same_bits(fitted: PolicyLearner, tmp_path: Path) -> None:
    path, contexts = tmp_path / "p.safetensors", problem(seed=4)["contexts"]
    fitted.save(str(path))
    again = LearnedPolicy.load(path)
    before, after = arrays_of(fitted.policy_.rule), arrays_of(again.rule)
    assert before.keys() == after.keys()
    for name, array in before.items():
        loaded = after[name]
        assert (array.dtype, array.shape, array.tobytes()) == (loaded.dtype, loaded.shape, loaded.tobytes())
    assert again.layout == fitted.policy_.layout
    assert again.predict_proba(contexts).tobytes() == fitted.predict_proba(contexts).tobytes()
    np.testing.assert_array_equal(again.sample(contexts, seed=3), fitted.sample(contexts, seed=3))
    assert again.certificate == fitted.certificate_
    path.unlink()
    again.save(path)
    assert LearnedPolicy.load(path).describe() == fitted.policy_.describe()


def test_actions_are_drawn_as_often_as_the_probabilities_say(fitted: PolicyLearner) -> None:
    contexts = 0.2 * problem(seed=5)["contexts"]
    for number in range(3):
        drawn = fitted.sample(np.repeat(contexts[number : number + 1], DRAWS, axis=0), seed=number)
        assert_drawn(np.bincount(drawn, minlength=3), fitted.predict_proba(contexts[number : number + 1])[0])


def test_the_test_of_draws_can_fail(fitted: PolicyLearner) -> None:
    contexts = 0.2 * problem(seed=5)["contexts"][:1]
    counts = np.bincount(fitted.sample(np.repeat(contexts, DRAWS, axis=0), seed=0), minlength=3)
    with pytest.raises(AssertionError):
        assert_drawn(counts, fitted.predict_proba(contexts)[0] + np.array([0.04, -0.02, -0.02]))


def test_a_rule_or_a_stage_drawn_at_every_decision_acts_alike(fitted: PolicyLearner) -> None:
    """A gaussian policy as it is defined, by weights drawn anew; one in stages, by a stage drawn anew."""
    rule: Any = fitted.policy_.rule
    rng, contexts = np.random.default_rng(0), 0.2 * problem(seed=6)["contexts"][:1]
    features = fitted.policy_.layout.encode(_table(contexts))
    if hasattr(rule, "deviation"):
        scores = features @ rule.means.T + rng.normal(size=(DRAWS, *rule.means.shape)) * rule.deviation @ features[0]
        drawn = scores.argmax(axis=1)
    elif hasattr(rule, "stages"):
        stage = rng.choice(len(rule.stages), DRAWS, p=np.array(rule.rounds) / sum(rule.rounds))
        shares = np.concatenate([one.probabilities(features) for one in rule.stages])[stage]
        drawn = (rng.random((DRAWS, 1)) >= np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    else:  # nothing but the action is drawn
        drawn = fitted.sample(np.repeat(contexts, DRAWS, axis=0), seed=1)
    assert_drawn(np.bincount(drawn, minlength=3), fitted.predict_proba(contexts)[0])


def _table(contexts: Any) -> Any:
    from surelift.learning.data.features import as_table

    return as_table(contexts, ["x0", "x1", "x2"])


@pytest.mark.parametrize("policy", ["linear", "network"])
def test_what_was_judged_is_what_predict_proba_says(policy: str) -> None:
    data = problem()
    fitted = PolicyLearner(policy, epochs=3, learning_rate=0.05).fit(logs_of(data))
    first, last = fitted.certificate_.content["rows"]
    given = sl.compare(logs_of(data).part(first, last), {"learned": fitted.predict_proba(data["contexts"])})
    assert (given.lower, given.upper) == (fitted.answer_.lower, fitted.answer_.upper)


class AgainstTheBatch(torch.nn.Linear):
    """Scores by how a row compares with the others it is judged with: alone, as in production, it is another policy."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scores = super().forward(rows)
        return scores - scores.mean(dim=0)


class Noisy(torch.nn.Linear):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scores = super().forward(rows)
        return scores + torch.randn_like(scores)


@pytest.mark.parametrize("module", [AgainstTheBatch, Noisy])
def test_a_module_whose_scores_are_not_a_function_of_the_row_is_refused(module: Any) -> None:
    with pytest.raises(sl.UsageError, match="must depend on this row alone"):
        PolicyLearner(module(4, 3), epochs=1).fit(logs_of(problem(300)))


def test_a_module_with_a_batch_normalisation_is_learned() -> None:
    """In a policy it has fixed means."""
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
    fitted, contexts = PolicyLearner(module, epochs=1).fit(logs_of(problem(300))), problem(300)["contexts"]
    alone = np.concatenate([fitted.predict_proba(contexts[k : k + 1]) for k in range(5)])
    np.testing.assert_allclose(alone, fitted.predict_proba(contexts)[:5], rtol=1e-5)
