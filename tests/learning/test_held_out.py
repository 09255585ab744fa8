"""What a certificate on held-out rounds promises, and what it may not."""

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
