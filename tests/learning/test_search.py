"""A search over learners: what is learned, chosen and certified on which part, and that its certificate stays true."""

from typing import Any

import pytest

import surelift as sl
from surelift.learning import search
from surelift.learning.held_out import parts_of
from surelift.learning.learner import PolicyLearner
from tests.learning.test_learner import logs_of, problem

FEW: dict[str, Any] = {"epochs": 3}


def learners() -> dict[str, PolicyLearner]:
    return {
        "slow": PolicyLearner(**FEW, learning_rate=1e-4),
        "linear": PolicyLearner(**FEW, learning_rate=0.05),
        "network": PolicyLearner("network", **FEW),
        "gaussian": PolicyLearner("gaussian", **FEW, learning_rate=0.05),
        "snips": PolicyLearner(**FEW, objective="snips", learning_rate=0.05),
    }


@pytest.fixture(scope="module")
def logs() -> sl.Logs:
    return logs_of(problem())


def test_the_winner_is_certified_once(logs: sl.Logs) -> None:
    found = search(logs, learners())
    assert [tried.name for tried in found.tried] == ["slow", "linear", "network", "gaussian", "snips"]
    assert found.chosen == max(found.tried, key=lambda tried: tried.expected_lower).name != "slow"
    assert found.certified
    assert "5 learners tried" in str(found)
    assert "Of 5 learners" in found.sentence()
    assert found.answer.rounds == 600
    assert sl.verify(found.policy.certificate, logs, found.policy).same
    assert found.to_dict()["answer"]["lower"] == found.answer.lower
    assert found.learner.certificate_ == found.policy.certificate
    assert list(found.learner.classes_) == [0, 1, 2]


def test_learners_are_what_they_are_alone(logs: sl.Logs) -> None:
    """A search with one learner is its fit."""
    alone = PolicyLearner(**FEW, learning_rate=0.05).fit(logs)
    found = search(logs, [PolicyLearner(**FEW, learning_rate=0.05)])
    assert found.answer == alone.answer_
    assert found.policy.describe() == alone.policy_.describe()


def test_the_rounds_that_certify_change_nothing_but_the_certificate() -> None:
    data = problem()
    _, held_out = parts_of(logs_of(data), 0.3)
    other = {name: values.copy() for name, values in data.items()}
    other["reward"][held_out:] = 1.0 - other["reward"][held_out:]
    one, two = (search(logs_of(each), learners()) for each in (data, other))
    assert one.chosen == two.chosen
    assert one.tried == two.tried
    assert one.policy.describe() == two.policy.describe()
    assert one.answer.lower > 0.0 > two.answer.lower


def test_options_that_a_gaussian_policy_does_not_have_are_those_of_the_others(logs: sl.Logs) -> None:
    tried = [PolicyLearner("gaussian", **FEW), PolicyLearner(**FEW, holdout=0.5, method="blocks")]
    found = search(logs, tried)
    assert (found.answer.rounds, found.answer.method) == (1_000, "blocks")


def test_what_it_refuses(logs: sl.Logs) -> None:
    with pytest.raises(sl.UsageError, match="at least one learner"):
        search(logs, [])
    with pytest.raises(sl.UsageError, match="differ in delta="):
        search(logs, [PolicyLearner(), PolicyLearner(delta=0.1)])
    with pytest.raises(sl.UsageError, match="'bold' has progressive="):
        search(logs, {"bold": PolicyLearner(progressive=2)})
    with pytest.raises(sl.UsageError, match="takes PolicyLearners"):
        search(logs, ["linear"])  # type: ignore[list-item]


def test_learners_are_named_by_what_differs(logs: sl.Logs) -> None:
    found = search(logs, [PolicyLearner(epochs=1), PolicyLearner(epochs=1), PolicyLearner("network", epochs=1)])
    assert [tried.name for tried in found.tried] == ["epochs=1 (1)", "epochs=1 (2)", "policy='network', epochs=1"]
