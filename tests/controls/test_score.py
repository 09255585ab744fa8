"""Control by a score: with labels drawn as stated every factor has mean 1, whatever the score is worth."""

import math
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.arrays import FloatArray, IntArray
from surelift.bounds import mixture
from surelift.controls import ScoreControl
from surelift.controls.weights import controlled_by_score
from surelift.engines import collect
from surelift.kernels.control import ControlledTerms
from surelift.logs.rewards import LabelledLine
from surelift.logs.units import Piece, Weights
from surelift.policies.resolve import name_policies
from surelift.quantities import Gain, Quantity, Value
from surelift.statistics import Component, Needed, Term, by_score, plan_of
from tests.controls.exact import cases, factors_of
from tests.laws import LAWS, Law
from tests.term_sums import offset_of

SCORES = (0.25, 0.7)
JUDGES: dict[str, Callable[[float], float]] = {
    "good": lambda reward: 0.1 + 0.8 * reward,
    "useless": lambda reward: 0.5,
    "opposite": lambda reward: 0.9 - 0.8 * reward,
}
"""The chance of the higher score, given the reward."""


def drawing(action: IntArray, score: FloatArray) -> FloatArray:
    """A probability of the label that depends on all that is known before it is drawn."""
    return np.where(score > 0.5, 0.3, 0.07) / (1 + action)


def outcomes(law: Law, judge: str) -> tuple[FloatArray, dict[str, Any]]:
    """Every outcome of action, reward, score and label, with its chance."""
    rows = [
        (q * chance * (seen if score > 0.5 else 1 - seen), action, reward, score, drawn)
        for action, (q, high) in enumerate(zip(law.logging, law.high_chance, strict=True))
        for reward, chance in zip(law.reward_levels, (1 - high, high), strict=True)
        for seen in [JUDGES[judge](reward)]
        for score, drawn in product(SCORES, (True, False))
        if q * chance > 0
    ]
    chances, action, reward, score, drawn = (np.array(column) for column in zip(*rows, strict=True))
    kappa = drawing(action, score)
    columns = {
        "reward": np.where(drawn, reward, np.nan), "propensity": np.array(law.logging)[action], "score": score,
        "label_probability": kappa, "new": np.array(law.candidate)[action], "rival": np.array(law.rival)[action],
    }  # fmt: skip
    return chances * np.where(drawn, kappa, 1 - kappa), columns


def logs_of(columns: dict[str, Any], **declared: Any) -> sl.Logs:
    roles = {name: name for name in ("reward", "propensity", "score", "label_probability")}
    return sl.Logs(columns, **{**roles, **declared})


def term_of(candidate: str, quantity: Quantity, policies: Any) -> Term:
    offset = offset_of(candidate, quantity, policies)
    needed = mixture.plan(quantity=quantity, offset=offset, count=lambda: 1, narrowing=by_score)
    assert math.fsum(component.prior for component in needed.components) == pytest.approx(1.0, abs=1e-12)
    assert any(isinstance(component.control, ScoreControl) for component in needed.components)
    return Term(candidate, quantity, needed)


def divided(component: Component, factor: FloatArray, target: float) -> FloatArray:
    return factor / (1 + component.smoothing * (target + component.offset))


@pytest.mark.parametrize("name, judge, alpha", list(product(LAWS, JUDGES, (0.05, 1.0))))
def test_every_factor_has_mean_1(name: str, judge: str, alpha: float) -> None:
    law, (chances, columns) = LAWS[name], outcomes(LAWS[name], judge)
    policies = name_policies({"new": sl.blend("new", alpha), "rival": sl.blend("rival", alpha / 2)})
    now = law.value(law.logging)
    new, rival = (now + share * (law.value(p) - now) for p, share in ((law.candidate, alpha), (law.rival, alpha / 2)))
    for candidate, quantity, target in cases(new, now, rival):
        term = term_of(candidate, quantity, policies)
        for component, factor in factors_of(logs_of(columns), plan_of(policies, (term,)), term).items():
            mean = math.fsum(chances * divided(component, factor, target))
            assert mean <= 1.0 + 1e-12, (quantity, component)
            if law.full_support:
                assert mean == pytest.approx(1.0, abs=1e-12), (quantity, component)


def test_sampling_by_the_label_and_the_reward() -> None:
    """Rounds may be kept for their label: all labelled ones, more of those with a reward, and few of the rest."""
    law, (chances, columns) = LAWS["even"], outcomes(LAWS["even"], "good")
    keep = np.where(np.isnan(columns["reward"]), 0.2, 0.5 + 0.5 * np.nan_to_num(columns["reward"]))
    logs = logs_of({**columns, "kept": keep}, keep_probability="kept", rounds_before_sampling=100)
    policies = name_policies({"new": "new"})
    for quantity, target in (
        (Value(), law.value(law.candidate)),
        (Gain(), law.value(law.candidate) - law.value(law.logging)),
    ):
        term = term_of("new", quantity, policies)
        for component, factor in factors_of(logs, plan_of(policies, (term,)), term).items():
            # A round that was dropped has the factor 1.
            mean = math.fsum(chances * divided(component, keep * factor + (1 - keep), target))
            assert mean == pytest.approx(1.0, abs=1e-11)


def test_clusters_labelled_as_a_whole() -> None:
    """Labels of one cluster may be drawn together: the mean of its terms does not mind."""
    policies, value = name_policies({"new": "new"}), 2.0 * 0.5 * 0.6
    term = term_of("new", Value(), policies)
    means = np.zeros(len(term.needed.components))
    for first, second, drawn in product((0.0, 1.0), (0.0, 1.0), (True, False)):
        chance = (0.6 if first else 0.4) * (0.6 if second else 0.4) * (0.3 if drawn else 0.7)
        columns = {
            "reward": np.where(drawn, [first, second], np.nan), "propensity": [0.5, 0.5], "score": [0.9, 0.2],
            "label_probability": [0.3, 0.3], "new": [0.5, 0.5], "user": [1, 1],
        }  # fmt: skip
        logs = logs_of(columns, cluster="user", cluster_size=2)
        means += chance * np.exp(collect(logs, plan_of(policies, (term,))).of(term).log_sums)
    normaliser = [1 + part.smoothing * (value + part.offset) for part in term.needed.components]
    assert means / normaliser == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "quantity, new, reward, score, cap, drawn, left",
    # By hand, with propensity 1/2 and kappa 1/4. w = 2: 8 - min(4, 3) + min(1, 3/4), and min(1, 3/4) without a label.
    # w = 1/2: base -1/2, cap 1 - 1/2, so -1/2 + 2 - min(1.6, 1/2) + min(.4, 1/8), and -1/2 + 1/8.
    [(Value(), 1.0, 1.0, 0.5, 3.0, 5.75, 0.75), (Gain(), 0.25, 0.0, 0.2, 1.0, 1.125, -0.375)],
)
def test_by_hand(quantity: Quantity, new: float, reward: float, score: float, cap: float, drawn: float, left: float) -> None:
    assert 0.25 * drawn + 0.75 * left == (new / 0.5 - quantity.paired) * reward
    policies = name_policies({"new": "new"})
    component = Component(0.125, cap, 1.0, ScoreControl(1.0, cap))
    term = Term("new", quantity, Needed(offset=offset_of("new", quantity, policies), components=(component,)))
    for label, expected in ((reward, drawn), (None, left)):
        columns = {"reward": [label], "propensity": [0.5], "score": [score], "label_probability": [0.25], "new": [new]}
        sums = collect(logs_of(columns), plan_of(policies, (term,))).of(term)
        assert sums.log_sums[0] == pytest.approx(math.log1p(0.125 * (expected + cap)), abs=1e-14)
        assert sums.sums[0] == pytest.approx(expected + cap, abs=1e-14)


def drawn_and_left(reward: float, score: float, kappa: float) -> LabelledLine:
    """A round that was drawn, and the same one that was not."""
    return LabelledLine(np.array([reward, np.nan]), np.array([True, False]), np.full(2, kappa), np.full(2, score))


def controlled(line: LabelledLine, at_zero: float, at_one: float, share: float, *, by_score: bool) -> ControlledTerms:
    weights = {name: Weights(np.full(2, end), np.full(2, end)) for name, end in (("z", at_zero), ("o", at_one))}
    batch: Any = SimpleNamespace(judged=line, weights=weights)
    return controlled_by_score(batch, (Piece("z", False, 1.0, 0.0), Piece("o", False, 0.0, 1.0)), share, by_score=by_score)


def test_where_the_candidate_acts_like_production_no_label_is_needed() -> None:
    """d = (w - 1) r is certainly 0, labelled or not; (L/kappa)(w r + 1 - r) - 1 would add a variance of 1/kappa."""
    line = drawn_and_left(1.0, 0.5, 0.05)
    assert line.terms(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
    assert controlled(line, 0.0, 0.0, 1.0, by_score=True).capped(3.0).tolist() == [0.0, 0.0]


@given(
    st.floats(-1, 50), st.floats(-1, 50), st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 1), st.floats(1, 1e6),
    st.sampled_from([0.5, 1.0]), st.booleans(),
)  # fmt: skip
def test_mean_and_floor_of_any_round(
    at_zero: float, at_one: float, reward: float, score: float, kappa: float, cap: float, share: float, by_score: bool
) -> None:
    line = drawn_and_left(reward, score, kappa)
    drawn, left = controlled(line, at_zero, at_one, share, by_score=by_score).capped(cap).tolist()
    truth = at_zero + (at_one - at_zero) * reward
    assert kappa * drawn + (1 - kappa) * left == pytest.approx(truth, abs=1e-9)
    assert min(drawn, left) >= -cap - 1e-9 * (1 + cap)


def means(rounds: list[list[tuple[float, dict[str, float]]]], together: bool = False) -> FloatArray:
    """Of the product over rounds, each with its outcomes and their chances, held against the mean value 1/2 in each."""
    policies = name_policies({"new": "new"})
    term = term_of("new", Value(), policies)
    total = np.zeros(len(term.needed.components))
    for outcome in zip(*rounds, strict=True) if together else product(*rounds):
        columns = {name: [row[name] for _, row in outcome] for name in outcome[0][1]}
        chance = outcome[0][0] if together else math.prod(chance for chance, _ in outcome)
        logs = logs_of({**columns, "propensity": [0.5] * len(outcome), "new": [0.5] * len(outcome)})
        total += chance * np.exp(collect(logs, plan_of(policies, (term,))).of(term).log_sums)
    normaliser = np.array([1 + part.smoothing * (0.5 + part.offset) for part in term.needed.components])
    return np.asarray(total / normaliser ** len(rounds))


def coin(reward: float, score: float, unseen: float | None = None) -> list[tuple[float, dict[str, float]]]:
    row = {"score": score, "label_probability": 0.5}
    missing = {**row, "score": score if unseen is None else unseen, "reward": math.nan}
    return [(0.5, {**row, "reward": reward}), (0.5, missing)]


def test_a_judge_and_a_probability_that_learn_from_earlier_labels() -> None:
    """The second round's score, and how likely its label is, depend on the label of the first."""
    policies = name_policies({"new": "new"})
    term = term_of("new", Value(), policies)
    total = np.zeros(len(term.needed.components))
    for rewards, drawn in product(product((0.0, 1.0), repeat=2), product((True, False), repeat=2)):
        found = drawn[0] and rewards[0] == 1.0
        kappa, score = [0.5, 0.6 if found else 0.2], [0.3, 0.9 if found else 0.1]
        chance = 0.25 * math.prod(k if seen else 1 - k for k, seen in zip(kappa, drawn, strict=True))
        columns = {"reward": np.where(drawn, rewards, np.nan), "propensity": [0.5] * 2, "score": score}
        logs = logs_of({**columns, "label_probability": kappa, "new": [0.5] * 2})
        total += chance * np.exp(collect(logs, plan_of(policies, (term,))).of(term).log_sums)
    normaliser = [(1 + part.smoothing * (0.5 + part.offset)) ** 2 for part in term.needed.components]
    assert total / normaliser == pytest.approx(1.0, abs=1e-12)


def test_a_score_that_knows_the_draw_breaks_it() -> None:
    assert means([coin(0.5, 0.5)]).max() <= 1.0 + 1e-12
    # The score of rounds without a label is 1, of others 0.
    assert means([coin(0.5, 0.0, unseen=1.0)]).max() > 1.1


def test_a_number_of_labels_fixed_beforehand_breaks_it() -> None:
    """One of two rounds, either with chance 1/2: a coin for each has mean 1, and this has more."""
    first, second = coin(1.0, 0.0), coin(0.0, 1.0)
    assert means([first, second]).max() <= 1.0 + 1e-12
    assert means([first, second[::-1]], together=True).max() > 1.02
