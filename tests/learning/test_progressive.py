"""Stages of a policy, each judged on the rounds after those it learned from (Theorem C)."""

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import surelift as sl
from surelift.bounds.mixture import log_wealth
from surelift.engines import collect
from surelift.learning.data.features import as_table
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.learned import LearnedPolicy
from surelift.learning.learner import PolicyLearner
from surelift.learning.policies.rules import SoftmaxRule, StagesRule
from surelift.learning.questions import ASSUMED, PlayedStages
from surelift.policies.resolve import as_policy
from surelift.questions.certificate import Certificate
from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.method import choose_method
from surelift.questions.question import Question
from surelift.statistics.plan import Plan, Request
from surelift.statistics.splits import Segment
from surelift.statistics.sums import COUNT, requests_of
from tests.learning.test_learner import logs_of, problem

FEW: dict[str, Any] = {"epochs": 3, "learning_rate": 0.05}


def _table(contexts: Any, names: Any = ("x0", "x1", "x2")) -> Any:
    return as_table(contexts, names)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return problem()


@pytest.fixture(scope="module")
def learned(data: dict[str, Any]) -> PolicyLearner:
    return PolicyLearner(**FEW, progressive=3).fit(logs_of(data))


def test_stages_are_learned_from_the_past_and_judged_on_what_follows(learned: PolicyLearner, data: dict[str, Any]) -> None:
    rule: Any = learned.policy_.rule
    assert rule.rounds == (500, 500, 500)
    answer: Any = learned.answer_
    assert answer.certified
    assert answer.rounds == 1_500
    assert set(ASSUMED) <= set(answer.assumptions)
    played = np.concatenate(
        [
            rule.stages[stage].probabilities(
                learned.policy_.layout.encode(_table(data["contexts"][500 * (stage + 1) : 500 * (stage + 2)]))
            )
            for stage in range(3)
        ]
    )
    by_hand = sl.compare(logs_of(data).part(500, 2_000), {"learned": np.concatenate([played[:500], played])})
    assert answer.lower == pytest.approx(by_hand.lower, abs=1e-12)


def test_a_stage_does_not_know_what_judges_it(learned: PolicyLearner, data: dict[str, Any]) -> None:
    other = {name: values.copy() for name, values in data.items()}
    other["reward"][1_000:] = 1.0 - other["reward"][1_000:]
    again: Any = PolicyLearner(**FEW, progressive=3).fit(logs_of(other)).policy_.rule
    rule: Any = learned.policy_.rule
    for stage in (0, 1):
        np.testing.assert_array_equal(rule.stages[stage].weights, again.stages[stage].weights)
    assert (rule.stages[2].weights != again.stages[2].weights).any()


def test_what_is_deployed_is_the_draw_over_the_stages(learned: PolicyLearner, data: dict[str, Any], tmp_path: Path) -> None:
    rule: Any = learned.policy_.rule
    contexts = data["contexts"][:50]
    encoded = learned.policy_.layout.encode(_table(contexts))
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
    assert any("each stage was learned from rounds before those that judge it" in a for a in learned.answer_.assumptions)


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


def test_it_verifies_in_a_process_that_learned_nothing(learned: PolicyLearner, data: dict[str, Any], tmp_path: Path) -> None:
    learned.save(str(tmp_path / "p.safetensors"))
    np.savez(tmp_path / "log.npz", **data)
    script = (
        "import sys, numpy as np, surelift as sl\n"
        f"policy = sl.LearnedPolicy.load({str(tmp_path / 'p.safetensors')!r})\n"
        f"logs = sl.Logs(**np.load({str(tmp_path / 'log.npz')!r}))\n"
        "assert sl.verify(policy.certificate, logs, policy).same\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_stages_of_different_sizes_are_drawn_by_their_rounds(data: dict[str, Any]) -> None:
    """Rounds of one time stay together, so that the edges move."""
    times = np.repeat([0, 1, 2, 3, 4, 5], [400, 300, 100, 500, 500, 200])
    logs = sl.Logs(**data, time=times)
    fitted = PolicyLearner(**FEW, progressive=3).fit(logs)
    rule: Any = fitted.policy_.rule
    assert rule.rounds == (600, 500, 200)
    assert fitted.certificate_.content["rows"] == [700, 2_000]
    encoded = fitted.policy_.layout.encode(_table(data["contexts"][:9]))
    parts = [stage.probabilities(encoded) for stage in rule.stages]
    drawn = sum(rounds * part for rounds, part in zip(rule.rounds, parts, strict=True)) / 1_300
    np.testing.assert_allclose(fitted.predict_proba(data["contexts"][:9]), drawn, atol=1e-15)
    assert sl.verify(fitted.certificate_, logs, fitted.policy_).same


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
        ({"progressive": 2, "holdout": 0.5}, "remove holdout="),
        ({"progressive": 2, "policy": "gaussian"}, "progressive= is for policies judged on held-out"),
    ],
)
def test_what_it_refuses(options: dict[str, Any], says: str, data: dict[str, Any]) -> None:
    with pytest.raises(sl.UsageError, match=says):
        PolicyLearner(**{**FEW, **options}).fit(logs_of(data))


ROUNDS = 3
PAYS = np.array([[0.3, 0.8], [0.6, 0.1]])  # the expected rewards, (contexts, actions); contexts are equally likely
LAYOUT = FeatureLayout(("x",), {}, {}, True)
CORNERS = LAYOUT.encode(_table(np.arange(2.0)[:, None], ["x"]))


class Course(NamedTuple):
    """What three rounds can look like: for each the context, action, reward, production's shares, and the stage."""

    chance: float
    rounds: tuple[tuple[int, int, int, tuple[float, float], SoftmaxRule], ...]
    improvements: tuple[float, ...]  # of each round's stage, given the rounds before


def courses(drift: float, least: float) -> Iterator[Course]:
    """Production and stages both go after what paid in the rounds before; with ``drift`` the second action fades."""

    def grown(course: Course, slope: float, share: float) -> Iterator[Course]:
        number = len(course.rounds)
        if number == ROUNDS:
            yield course
            return
        pays = np.clip(PAYS - drift * number * np.array([0.0, 1.0]), 0.0, 1.0)
        stage = SoftmaxRule(np.array([[0.0, 0.0], [slope, -0.5 * slope]], dtype=np.float32))
        shares = np.array([[1.0 - share, share], [share, 1.0 - share]])
        improvement = float(((stage.probabilities(CORNERS) - shares) * pays).sum(axis=1).mean())
        for x, a, r in product((0, 1), repeat=3):
            chance = 0.5 * shares[x, a] * (pays[x, a] if r else 1.0 - pays[x, a])
            after = (*course.rounds, (x, a, r, tuple(shares[x]), stage))
            told = Course(course.chance * chance, after, (*course.improvements, improvement))
            towards = (2 * a - 1) * (2 * r - 1) * (2 * x - 1)
            yield from grown(told, slope + 2.0 * towards, least if towards > 0 else 1.0 - 2.0 * least)

    return grown(Course(1.0, (), ()), 0.5, 0.4)


@pytest.mark.parametrize("control", ["auto", "none", "weights"])
@pytest.mark.parametrize("drift, least", [(0.0, 0.2), (0.3, 0.02)])
def test_the_wealth_of_stages_has_mean_one_at_most(control: str, drift: float, least: float) -> None:
    """Every log of three rounds, as production and stages adapt, by the sums, components and wealth of a certificate.

    The courses stand one after the other in one log, of which each row has a stage of its own.
    """
    tree = list(courses(drift, least))
    assert sum(course.chance for course in tree) == pytest.approx(1.0, abs=1e-12)
    x, a, r, shares, stages = zip(*(step for course in tree for step in course.rounds), strict=True)
    logs = sl.Logs(
        {"x": np.array(x, dtype=float), "a": a, "r": r, "q": [p[k] for p, k in zip(shares, a, strict=True)],
         "l0": [p[0] for p in shares], "l1": [p[1] for p in shares], "course": np.repeat(np.arange(len(tree)), ROUNDS)},
        reward="r", propensity="q", action="a", logging=["l0", "l1"], contexts=["x"],
    )  # fmt: skip
    policy = LearnedPolicy(StagesRule(tuple(stages), (1,) * len(stages)), LAYOUT, None, 2)
    played = {"learned": as_policy(PlayedStages(policy.rule, policy.layout, None, 2, first=0))}
    question = ImprovementQuestion(
        declaration=logs.declaration, policies=played, method=choose_method("mixture", control),
        known=frozenset(() if control == "none" else ("learned",)),
    )  # fmt: skip
    claim = question.claim("learned", lambda: ROUNDS)
    gain, decline = terms = (claim.low, claim.high)
    assert {part.control is None for part in gain.needed.components} == ({True} if control == "none" else {True, False})
    by = Segment(("course",))
    requests = [Request(COUNT, (by,)), *requests_of(question.everyone, terms, (by,))]
    parts = collect(logs, Plan(question.everyone, tuple(requests))).parts(by)
    for term, sign in ((gain, 1.0), (decline, -1.0)):
        wealth, exact = 0.0, np.zeros(len(term.needed.components))
        for number, course in enumerate(tree):
            sums = parts[by, str(number)].of(term)
            means = sign * np.array(course.improvements)
            wealth += course.chance * math.exp(log_wealth(float(means.mean()), sums))
            fair = [sum(math.log1p(one.smoothing * (mean + one.offset)) for mean in means) for one in term.needed.components]
            exact += course.chance * np.exp(sums.log_sums - fair)
        np.testing.assert_allclose(exact, 1.0, rtol=0.0, atol=1e-12)
        assert wealth <= 1.0 + 1e-12


def test_a_rule_of_stages_says_what_is_wrong() -> None:
    stage = SoftmaxRule(np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="number of rounds"):
        StagesRule((stage,), (1, 2))
    assert PlayedStages(StagesRule((stage,), (1,)), LAYOUT, None, 2).learned_from.memories == {}
