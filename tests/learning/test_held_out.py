"""What a certificate on held-out rounds promises, and what it may not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.learning import search
from surelift.learning.learner import PolicyLearner
from tests.learning.test_learner import logs_of, problem

FEW: dict[str, Any] = {"epochs": 2, "learning_rate": 0.05}


@pytest.mark.parametrize("options", [{}, {"progressive": 3}, {"policy": "gaussian"}], ids=str)
def test_where_the_judging_rounds_begin_is_fixed_by_their_number(options: dict[str, Any]) -> None:
    """They are a share of the log, so that a log that is learned from again and again has a new test each time."""
    data = problem(600)
    fitted = PolicyLearner(**FEW, **options).fit(logs_of(data))
    assert fitted.answer_.promise == "one look"
    assert any("was not chosen by looking" in line for line in fitted.answer_.assumptions)
    assert sl.verify(fitted.certificate_, logs_of(data), fitted.policy_).same


def test_with_a_zero_prior_no_round_is_set_aside() -> None:
    """Theorem 4 holds for all numbers of rounds and all policies at once."""
    fitted = PolicyLearner("gaussian", **FEW, prior="zero").fit(logs_of(problem(600)))
    assert fitted.answer_.promise == "any number of looks"
    assert not any("was not chosen by looking" in line for line in fitted.answer_.assumptions)


@pytest.mark.parametrize("method", ["mixture", "blocks", "logarithmic-smoothing"])
def test_a_certificate_by_any_method_verifies(method: str) -> None:
    data = problem(600)
    fitted = PolicyLearner(**FEW, method=method).fit(logs_of(data))
    for given in (logs_of(data), logs_of(data).part(420, 600)):
        assert sl.verify(fitted.certificate_, given, fitted.policy_).same


@pytest.mark.parametrize("method", ["normal", "bootstrap", "second-moment"])
def test_a_method_that_cannot_certify_an_improvement_is_refused_before_learning(method: str) -> None:
    learners = [PolicyLearner(**FEW, method=method)]
    for learn in (learners[0].fit, lambda logs: search(logs, learners)):
        with pytest.raises(sl.UsageError, match=f"method={method!r} does not certify improvements; use .*blocks"):
            learn(logs_of(problem(600)))


@pytest.mark.parametrize("options", [{}, {"progressive": 3}, {"policy": "gaussian"}], ids=str)
def test_a_round_that_comes_again_in_another_part_is_found_by_its_id(options: dict[str, Any]) -> None:
    ids = np.arange(600)
    ids[590] = 3
    with pytest.raises(sl.LogsError, match="id 'id': 1 of 599 come more than once"):
        PolicyLearner(**FEW, **options).fit(sl.Logs(**problem(600), id=ids))


def with_texts(data: dict[str, Any], times: Any) -> sl.Logs:
    """Three numbers and a text, with times that come in pairs."""
    contexts = {f"x{k}": data["contexts"][:, k] for k in range(3)} | {"t": data["text"]}
    shares = {f"l{k}": data["logging"][:, k] for k in range(3)}
    columns = {name: data[name] for name in ("action", "reward", "propensity")}
    named: dict[str, Any] = {name: name for name in columns}
    return sl.Logs(
        {**contexts, **shares, **columns, "at": times}, contexts=list(contexts), logging=list(shares), time="at",
        **named,
    )  # fmt: skip


def changed_from(data: dict[str, Any], first: int) -> dict[str, Any]:
    """Everything else from there on: contexts by other units, new texts, other actions, rewards and propensities."""
    other = problem(len(data["reward"]), seed=99)
    other["contexts"] = 100.0 + 7.0 * other["contexts"]
    other["reward"] = 1.0 - other["reward"]
    other["text"] = np.array([f"late {number % 5}" for number in range(len(data["reward"]))])
    return {name: np.concatenate([column[:first], other[name][first:]]) for name, column in data.items()}


def learned_by(kind: str, logs: sl.Logs) -> Any:
    if kind == "search":
        each = [PolicyLearner(**FEW), PolicyLearner("network", **FEW), PolicyLearner("gaussian", **FEW)]
        return search(logs, each).learner
    kinds: dict[str, dict[str, Any]] = {"stages": {"progressive": 3}, "network": {"policy": "network"}, "linear": {}}
    return PolicyLearner(**FEW, **kinds[kind]).fit(logs)


@pytest.mark.parametrize("kind", ["linear", "network", "stages", "search"])
def test_rounds_that_judge_tell_nothing_but_the_answer(kind: str) -> None:
    """All of them change, texts, units and times too; the policy, its features, and the rows that judge do not."""
    rng, data, times = np.random.default_rng(0), problem(1_000), np.arange(1_000) // 2
    data["text"] = rng.choice(["a", "b"], 1_000)
    first = learned_by(kind, with_texts(data, times))
    cut = first.certificate_.content["rows"][0]
    begins = cut + sum(first.policy_.rule.rounds[:-1]) if kind == "stages" else cut
    later = np.concatenate([times[:begins], times[-1] + np.arange(1_000 - begins) ** 2])
    second = learned_by(kind, with_texts(changed_from(data, begins), later))
    assert first.certificate_.content["rows"] == second.certificate_.content["rows"]
    assert first.policy_.layout == second.policy_.layout
    assert first.policy_.describe() == second.policy_.describe()
    assert first.answer_.lower != second.answer_.lower


@pytest.mark.parametrize("policy", ["linear", "gaussian"])
def test_a_checkpoint_of_other_parts_is_refused(policy: str, tmp_path: Path) -> None:
    """The same rounds in another order: some that trained before would judge now."""
    data = problem(600)
    options: dict[str, Any] = {**FEW, "policy": policy, "checkpoint": str(tmp_path / "state.safetensors")}
    PolicyLearner(**options).fit(logs_of(data))
    turned = {name: np.roll(column, 300, axis=0) for name, column in data.items()}
    with pytest.raises(sl.UsageError, match="checkpoint of another training run"):
        PolicyLearner(**options).fit(logs_of(turned))
