"""Stages of a policy, each judged on the rounds after those it learned from (Theorem C)."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.rules import SoftmaxRule, StagesRule
from surelift.learning.progressive import ASSUMED, PlayedStages
from surelift.questions.certificate import Certificate
from surelift.questions.question import Question
from tests.learning.test_learner import logs_of, problem

FEW: dict[str, Any] = {"epochs": 3, "learning_rate": 0.05}


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return problem()


@pytest.fixture(scope="module")
def learned(data: dict[str, Any]) -> PolicyLearner:
    return PolicyLearner(**FEW, progressive=3).fit(logs_of(data))


def test_stages_are_learned_from_the_past_and_judged_on_what_follows(
    learned: PolicyLearner, data: dict[str, Any]
) -> None:
    rule: Any = learned.policy_.rule
    assert rule.rounds == (500, 500, 500)
    answer: Any = learned.answer_
    assert answer.certified
    assert answer.rounds == 1_500
    assert set(ASSUMED) <= set(answer.assumptions)
    played = np.concatenate(
        [
            rule.stages[stage].probabilities(
                learned.policy_.features.encode(_table(data["contexts"][500 * (stage + 1) : 500 * (stage + 2)]))
            )
            for stage in range(3)
        ]
    )
    by_hand = sl.compare(logs_of(data).part(500, 2_000), {"learned": np.concatenate([played[:500], played])})
    assert answer.lower == pytest.approx(by_hand.lower, abs=1e-12)


def _table(contexts: Any) -> Any:
    from surelift.learning.data.features import as_table

    return as_table(contexts, ["x0", "x1", "x2"])


def test_a_stage_does_not_know_what_judges_it(learned: PolicyLearner, data: dict[str, Any]) -> None:
    other = {name: values.copy() for name, values in data.items()}
    other["reward"][1_000:] = 1.0 - other["reward"][1_000:]
    again: Any = PolicyLearner(**FEW, progressive=3).fit(logs_of(other)).policy_.rule
    rule: Any = learned.policy_.rule
    for stage in (0, 1):
        np.testing.assert_array_equal(rule.stages[stage].weights, again.stages[stage].weights)
    assert (rule.stages[2].weights != again.stages[2].weights).any()


def test_what_is_deployed_is_the_draw_over_the_stages(
    learned: PolicyLearner, data: dict[str, Any], tmp_path: Path
) -> None:
    rule: Any = learned.policy_.rule
    contexts = data["contexts"][:50]
    encoded = learned.policy_.features.encode(_table(contexts))
    mean = sum(stage.probabilities(encoded) for stage in rule.stages) / 3
    np.testing.assert_allclose(learned.predict_proba(contexts), mean, atol=1e-15)
    learned.save(str(tmp_path / "p.safetensors"))
    loaded = sl.LearnedPolicy.load(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(contexts), learned.predict_proba(contexts))
    assert sl.verify(learned.certificate_, logs_of(data), loaded).same
    assert sl.verify(learned.certificate_, logs_of(data).part(500, 2_000), loaded).same
    assert not sl.verify(learned.certificate_, logs_of(problem(seed=5)), loaded).same


def test_what_it_assumes_is_true_of_stages(learned: PolicyLearner) -> None:
    """Later stages did learn from rounds that judge earlier ones."""
    assert not any("fitted on these rounds" in line for line in learned.answer_.assumptions)
    assert any(
        "each stage was learned from rounds before those that judge it" in a for a in learned.answer_.assumptions
    )


def test_its_question_has_the_options_of_a_comparison(learned: PolicyLearner, data: dict[str, Any]) -> None:
    judged, policies = logs_of(data).part(500, 2_000), {"learned": learned.policy_}
    plain: Any = Question.of("progressive", judged, policies).ask(judged)
    assert plain.lower == learned.answer_.lower
    more: Any = Question.of("progressive", judged, policies, margin=plain.lower + 1e-6).ask(judged)
    assert plain.certified
    assert not more.certified
    assert more.margin == plain.lower + 1e-6
    over: Any = Question.of("progressive", judged, policies, over={"even": np.full((2_000, 3), 1 / 3)}).ask(judged)
    assert (over.over, over.lower) != ("production", plain.lower)
    with pytest.raises(sl.UsageError, match="remove by="):
        Question.of("progressive", judged, policies, by="x0").ask(judged)


@pytest.mark.parametrize("change", ["rounds", "order", "the last stage alone"])
def test_a_policy_with_other_stages_has_not_this_certificate(
    change: str, learned: PolicyLearner, data: dict[str, Any]
) -> None:
    rule: Any = learned.policy_.rule
    forged = {
        "rounds": StagesRule(rule.stages, (1, 1, 1_498)),
        "order": StagesRule(rule.stages[::-1], rule.rounds),
        "the last stage alone": StagesRule((rule.stages[-1],) * 3, rule.rounds),
    }[change]
    found = sl.verify(learned.certificate_, logs_of(data), replace(learned.policy_, rule=forged))
    assert any("another one than the certificate speaks of" in line for line in found.differences)
    assert any("fingerprint differs" in line for line in found.differences)


@pytest.mark.parametrize("rows", [[0, 1_500], [400, 1_900], [500, 1_999], [999, 2_000]])
def test_other_rows_have_not_this_certificate(rows: list[int], learned: PolicyLearner, data: dict[str, Any]) -> None:
    forged = Certificate({**learned.certificate_.content, "rows": rows})
    with pytest.raises((sl.LogsError, sl.UsageError), match=r"cannot have held out|were judged on 1,500 rounds"):
        sl.verify(forged, logs_of(data), learned.policy_)


def test_its_rounds_cannot_judge_it_again(learned: PolicyLearner, data: dict[str, Any]) -> None:
    with pytest.raises(sl.UsageError, match="learned from these very rounds"):
        sl.compare(logs_of(data), learned)


@pytest.mark.parametrize(
    "options, says",
    [
        ({"progressive": 0}, "progressive"),
        ({"progressive": 5_000}, "too few for 5000 stages"),
        ({"progressive": 2, "method": "blocks"}, "does not support method='blocks'"),
        ({"progressive": 2, "checkpoint": "x"}, "does not support checkpoint="),
        ({"progressive": 2, "policy": "gaussian"}, "progressive= is for policies judged on held-out"),
    ],
)
def test_what_it_refuses(options: dict[str, Any], says: str, data: dict[str, Any]) -> None:
    with pytest.raises(sl.UsageError, match=says):
        PolicyLearner(**{**FEW, **options}).fit(logs_of(data))


def test_the_wealth_of_stages_has_mean_one_at_most() -> None:
    """Every log of three rounds over two actions; the second and third stage copy what paid in the rounds before."""
    rates = (0.1, 0.4, 0.49)
    pay = {0: 0.3, 1: 0.6}
    for logged, drift in product((0.2, 0.5), (0.0, 0.3)):
        truth, mean = [], dict.fromkeys(rates, 0.0)
        for path in product((0, 1), (0, 1), repeat=3):
            rounds = [path[2 * k : 2 * k + 2] for k in range(3)]
            probability, wealth, target = 1.0, dict.fromkeys(rates, 1.0), 0.5
            for k, (action, reward) in enumerate(rounds):
                propensity = logged if action == 1 else 1.0 - logged
                paid = {a: min(pay[a] + drift * k, 1.0) for a in pay}
                chance = paid[action]
                probability *= propensity * (chance if reward else 1.0 - chance)
                own = target if action == 1 else 1.0 - target
                gain = own / propensity * reward - reward
                truth_k = target * paid[1] + (1 - target) * paid[0] - logged * paid[1] - (1 - logged) * paid[0]
                for rate in rates:
                    wealth[rate] *= (1.0 + rate * gain) / (1.0 + rate * truth_k)
                target = min(max(target + (0.3 if (action == 1) == bool(reward) else -0.3), 0.0), 1.0)
            for rate in rates:
                mean[rate] += probability * wealth[rate]
            truth.append(probability)
        assert sum(truth) == pytest.approx(1.0)
        assert all(value == pytest.approx(1.0, abs=1e-12) for value in mean.values())


def test_a_rule_of_stages_says_what_is_wrong() -> None:
    stage = SoftmaxRule(np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="number of rounds"):
        StagesRule((stage,), (1, 2))
    assert PlayedStages.learned_from.memories == {}
