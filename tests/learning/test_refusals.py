"""What a learner refuses: wrong options, unfit logs, known ways to cheat, tampered certificates."""

import json
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

import surelift as sl
from surelift.learning.data.rounds import checked_rounds
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.rules import GaussianRule
from surelift.saving import sealed
from tests.learning.test_learner import GAUSSIAN, fit, logs_of, problem


@pytest.fixture(scope="module")
def learned() -> PolicyLearner:
    return fit(problem())


def test_a_certificate_does_not_verify_another_policy(learned: PolicyLearner) -> None:
    rule = learned.policy_.rule
    assert isinstance(rule, GaussianRule)
    other = LearnedPolicy(GaussianRule(1.5 * rule.means, rule.deviation, rule.prior), learned.policy_.layout, None, 3)
    assert not sl.verify(learned.certificate_, logs_of(problem()), other).same
    stated = json.loads(json.dumps(learned.certificate_.content))
    stated["answer"]["lower"] += 0.01
    assert not sl.verify(sealed(stated), logs_of(problem()), learned.policy_).same


def test_known_cheats_are_refused(learned: PolicyLearner) -> None:
    data = problem()
    with pytest.raises(sl.UsageError, match="learned from these very rounds"):
        sl.compare(logs_of(data), {"new": learned})
    with pytest.raises(sl.UsageError, match="learned from these very rounds"):
        sl.evaluate(logs_of(data).part(200, 2_000), {"new": learned})
    # Another declared range does not hide the rounds.
    with pytest.raises(sl.UsageError, match="learned from these very rounds"):
        sl.compare(sl.Logs(**data, reward_range=(0, 1.0000001)), {"new": learned})
    zero = fit(data, prior="zero", intercept=True)
    # Neither does a prior learned from them.
    detour = fit(problem(seed=8), prior=zero)
    with pytest.raises(sl.UsageError, match="voids the certificate"):
        fit(data, prior=detour)
    with pytest.raises(sl.UsageError, match="learned from these very rounds"):
        sl.compare(logs_of(data), {"new": detour})
    for options in ({}, {"prior": "zero"}, {"policy": "linear", "objective": "doubly-robust"}):
        with pytest.raises(sl.UsageError, match="fitted on the rounds it predicts"):
            fit(data, control=sl.models.fitted_on(logs_of(data)), **options)
    with pytest.raises(sl.UsageError, match="voids the certificate"):
        fit(data, prior=zero)
    other = fit(problem(seed=8), prior="zero")
    assert fit(data, prior=other).answer_.certified


@pytest.mark.parametrize(
    "options, message",
    [
        ({"objective": "best"}, "unknown objective 'best'"),
        ({"objective": "ips"}, "does not support this policy"),
        ({"policy": "linear", "objective": "improvement"}, "does not support this policy"),
        ({"policy": np.ones(3)}, "must be 'linear', 'network', 'gaussian', a torch module or ItemSoftmax"),
        ({"objective": np.ones(3)}, "unknown objective"),
        ({"grid": np.ones(3)}, "unknown grid"),
        ({"device": None}, "is not available"),
        ({"device": "meta"}, "is not available"),
        ({"policy": "forest"}, "must be 'linear', 'network', 'gaussian', a torch module or ItemSoftmax"),
        ({"objective": "ls-lin", "order": 2}, "does not use order="),
        ({"control": "magic"}, "unknown control 'magic'"),
        ({"prior": np.zeros((2, 2))}, "a finite mean for each of 3 actions and 4 features"),
        ({"prior": np.full((3, 4), np.nan)}, "a finite mean"),
        ({"prior_share": 1.0}, "prior_share must leave rounds"),
        ({"control": None}, "control must be"),
        ({"seed": -1}, "seed must be"),
        ({"weight_decay": -1.0}, "weight_decay must be"),
        ({"policy": torch.nn.Linear(7, 3)}, "does not accept 4 features"),
        ({"policy": torch.nn.Linear(4, 2)}, r"must return scores of shape \(2, 3\)"),
        ({"policy": torch.nn.ReLU()}, "no parameters"),
        ({"prior": "best"}, "unknown prior 'best'"),
        ({"grid": "wide"}, "unknown grid 'wide'"),
        ({"policy": "linear", "holdout": 0.0}, "holdout=0 leaves no rounds, of 300, to certify"),
        ({"delta": 1.5}, "delta"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive"),
        ({"covariance": "full"}, "unknown covariance 'full'"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sl.UsageError, match=message):
        fit(problem(300), **options)


def test_unfit_logs_are_refused() -> None:
    data = problem(300)
    del data["contexts"]
    with pytest.raises(sl.UsageError, match="name their columns in contexts="):
        fit(data)
    data = problem(300)
    del data["action"], data["logging"]
    with pytest.raises(sl.UsageError, match="action="):
        fit(data)
    data = problem(300)
    data["contexts"][7, 1] = np.nan
    with pytest.raises(sl.LogsError, match=r"context 'x1': 1 of 300 values are NaN; the first is nan in row 7"):
        fit(data)
    data = problem(300)
    data["reward"][3] = 2.0
    with pytest.raises(sl.LogsError, match="outside the declared reward range"):
        fit(data)
    with pytest.raises(sl.UsageError, match="is not fitted yet"):
        PolicyLearner().predict_proba(np.zeros((1, 3)))


def test_an_impossible_bound_is_refused() -> None:
    """Propensities that are far too small would certify more than the reward range allows."""
    data = problem(600)
    data["propensity"] = np.full(600, 1e-3)
    del data["logging"]
    with pytest.raises(sl.LogsError, match="suspect the propensities"):
        PolicyLearner(**GAUSSIAN).fit(sl.Logs(**data, action_count=3))


def test_only_policies_are_overwritten(learned: PolicyLearner, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("r,p\n1,0.5\n")
    with pytest.raises(sl.UsageError, match="is not a policy, so it was not overwritten"):
        learned.save(str(tmp_path / "log.csv"))
    learned.save(str(tmp_path / "policy"))
    learned.save(str(tmp_path / "policy"))


def test_tampering_is_detected(learned: PolicyLearner) -> None:
    data, policy, certificate = problem(), learned.policy_, learned.certificate_
    assert certificate is not None
    rule = policy.rule
    assert isinstance(rule, GaussianRule)
    text = json.dumps(dict(certificate.content))
    # A prior moved to the policy, and declared as zero.
    forged = LearnedPolicy(GaussianRule(rule.means, rule.deviation, rule.means), policy.layout, None, 3)
    stated = json.loads(text)
    stated["question"]["learning"] |= {"prior": "zero", "set_aside": 0}
    with pytest.raises(sl.LogsError, match="states a zero prior"):
        sl.verify(sealed(stated), logs_of(data), forged)
    places: dict[str, tuple[str, ...]] = {
        "delta": (), "set_aside": ("learning",), "control": ("method",), "prior": ("learning",)
    }  # fmt: skip

    def place(stated: dict[str, Any], name: str) -> dict[str, Any]:
        return reduce(lambda content, key: content[key], places[name], stated["question"])

    for name, broken in (("delta", 0), ("delta", "x"), ("set_aside", "x"), ("control", 5), ("prior", None)):
        stated = json.loads(text)
        place(stated, name)[name] = broken
        with pytest.raises((sl.LogsError, sl.UsageError)):
            sl.verify(sealed(stated), logs_of(data), policy)
    for missing in places:
        stated = json.loads(text)
        del place(stated, missing)[missing]
        with pytest.raises(sl.LogsError, match="damaged"):
            sl.verify(sealed(stated), logs_of(data), policy)
    stated = json.loads(text)
    stated["question"]["policies"]["learned"]["mark"] = "0" * 32
    assert "another one" in sl.verify(sealed(stated), logs_of(data), policy).differences[0]
    with pytest.raises(sl.UsageError, match="remove control="):
        sl.verify(certificate, logs_of(data), policy, control=sl.models.given("q"))


def test_contexts_that_are_not_a_table(learned: PolicyLearner) -> None:
    for contexts in (None, "log.csv", np.zeros((2, 2, 2)), np.array([1j, 2j])):
        with pytest.raises(sl.UsageError, match="contexts"):
            PolicyLearner().fit(contexts, [0, 1], reward=[0, 1], propensity=[0.5, 0.5], action_count=2)
    with pytest.raises(sl.UsageError, match="no column 'x2'"):
        learned.predict_proba({"x0": [0.0], "x1": [0.0]})
    with pytest.raises(sl.UsageError, match="already declared by the logs"):
        PolicyLearner().fit(logs_of(problem()), reward_range=(0, 10))
    with pytest.raises(sl.LogsError, match="beyond 1e38"):
        learned.predict_proba(np.full((1, 3), 1e300))


def test_faults_are_counted_over_the_whole_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model fitted on other logs, or a learner, that meets a fault early still tells of all."""
    monkeypatch.setattr("surelift.logs.sources.frames.rows_per_batch", lambda *_: 100)
    data = problem(1_000)
    data["reward"] = np.where(np.arange(1_000) % 10 == 0, np.nan, data["reward"])
    logs = logs_of(data)
    with pytest.raises(sl.LogsError, match="100 of 1,000 values are NaN"):
        list(checked_rounds(logs, logs.batches()))
    fitted = sl.models.fitted_on(logs, LinearRegression())
    with pytest.raises(sl.LogsError, match="100 of 1,000 values are NaN"):
        sl.evaluate(logs_of(problem(500)), {"new": np.full((500, 3), 1 / 3)}, control=fitted)


@pytest.mark.parametrize("policy", ["linear", "gaussian"])
def test_one_action_leaves_nothing_to_learn(policy: str) -> None:
    rounds = 50
    learner = PolicyLearner(policy, epochs=1)
    with pytest.raises(sl.LogsError, match="one action only, so there is nothing to choose"):
        learner.fit(np.ones((rounds, 2)), np.zeros(rounds, int), reward=np.ones(rounds), propensity=np.ones(rounds),
                    action_count=1)  # fmt: skip


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_fewer_rounds_than_the_parts_need(rounds: int) -> None:
    data = problem(rounds)
    with pytest.raises(sl.UsageError, match=r"holdout=0\.3 leaves no rounds"):
        PolicyLearner(epochs=1).fit(logs_of(data))
