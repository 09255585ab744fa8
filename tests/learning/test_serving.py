"""One decision at a time: what is served is what was certified, and a bad context gets a sentence."""

import pickle
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift.learning.data.layout import FeatureLayout, RowEncoder
from surelift.learning.learned import Decision, LearnedPolicy
from surelift.learning.policies.rules import (
    GaussianRule,
    ItemRule,
    ModuleRule,
    NetworkRule,
    Rule,
    SoftmaxRule,
    StagesRule,
)

STORED = Path(__file__).parent.parent / "stored" / "format-3"
KINDS = ("softmax", "network", "stages", "gaussian", "items", "module")
LAYOUT = FeatureLayout(("age", "device", "taste"), {"device": ("desktop", "phone")}, {"taste": 2})
VISITOR = {"age": 0.3, "device": "phone", "taste": [1.0, -0.5]}
LABELS = ("boots", "coat", "hat", "scarf", "socks")


def rule_of(kind: str, actions: int, features: int, seed: int = 0) -> Rule:
    rng = np.random.default_rng(seed)

    def single(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    if kind == "gaussian":
        return GaussianRule(single(actions, features), np.exp(0.3 * single(features)), single(actions, features))
    if kind == "items":
        return ItemRule(single(3, features), single(actions, 3))
    if kind == "module":
        torch.manual_seed(seed)
        return ModuleRule(torch.nn.Sequential(torch.nn.Linear(features, 8), torch.nn.ReLU(), torch.nn.Linear(8, actions)))
    if kind == "network":
        return NetworkRule(single(8, features), single(1, 8), single(actions, 8), single(1, actions))
    if kind == "stages":
        return StagesRule(tuple(SoftmaxRule(single(actions, features)) for _ in range(3)), (5, 7, 9))
    return SoftmaxRule(single(actions, features))


def policy_of(
    kind: str = "softmax", layout: FeatureLayout = LAYOUT, labels: Any = LABELS, actions: int = 5
) -> LearnedPolicy:
    return LearnedPolicy(rule_of(kind, actions, layout.size), layout, labels, actions)


def table_of(layout: FeatureLayout, context: dict[str, Any]) -> pa.Table:
    kinds = {name: pa.string() for name in layout.texts} | {name: pa.list_(pa.float64()) for name in layout.widths}
    return pa.table({name: pa.array([context[name]], kinds.get(name)) for name in layout.names})


@st.composite
def layouts_with_contexts(draw: st.DrawFn) -> tuple[FeatureLayout, dict[str, Any]]:
    numbers = st.one_of(
        st.floats(-1e30, 1e30), st.integers(-(2**63), 2**63 - 1), st.booleans(),
        st.floats(-10, 10, width=32).map(np.float32), st.integers(-5, 5).map(np.int16),
    )  # fmt: skip
    texts: dict[str, tuple[str, ...]] = {}
    widths: dict[str, int] = {}
    context: dict[str, Any] = {}
    names = tuple(f"c{k}" for k in range(draw(st.integers(1, 6))))
    for name in names:
        kind = draw(st.sampled_from(["number", "text", "list"]))
        if kind == "text":
            texts[name] = tuple(draw(st.lists(st.text(max_size=3), max_size=4, unique=True)))
            context[name] = draw(st.one_of(st.none(), st.text(max_size=3), st.sampled_from([*texts[name], "other"])))
        elif kind == "list":
            widths[name] = draw(st.integers(1, 4))
            entries = draw(st.lists(st.floats(-1e30, 1e30), min_size=widths[name], max_size=widths[name]))
            context[name] = np.array(entries) if draw(st.booleans()) else entries
        else:
            context[name] = draw(numbers)
    numeric = sum(widths.get(name, 1) for name in names if name not in texts)
    intercept, centre, scale = draw(st.booleans()), None, None
    if draw(st.booleans()):
        centre = tuple(draw(st.lists(st.floats(-5, 5), min_size=numeric, max_size=numeric)))
        scale = tuple(draw(st.lists(st.floats(0.1, 5), min_size=numeric, max_size=numeric)))
    return FeatureLayout(names, texts, widths, intercept, centre, scale), context


@given(layouts_with_contexts())
@settings(max_examples=300, deadline=None)
def test_a_row_has_the_features_of_a_table(case: tuple[FeatureLayout, dict[str, Any]]) -> None:
    layout, context = case
    expected = layout.encode(table_of(layout, context))
    np.testing.assert_array_equal(RowEncoder(layout)({**context, "more": object()}), expected, strict=True)


@given(st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3), st.booleans(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_an_array_has_the_features_of_a_table(numbers: list[float], standardised: bool, as_list: bool) -> None:
    scaling: Any = ((1.0, 2.0, 3.0), (0.5, 2.0, 7.0)) if standardised else (None, None)
    layout = FeatureLayout(("v",), {}, {"v": 3}, True, *scaling) if as_list else FeatureLayout(
        ("a", "b", "c"), {}, {}, True, *scaling
    )  # fmt: skip
    context = {"v": numbers} if as_list else dict(zip("abc", numbers, strict=True))
    expected = layout.encode(table_of(layout, context))
    for given_as in (np.array(numbers), numbers, tuple(numbers), torch.tensor(numbers, dtype=torch.float64)):
        np.testing.assert_array_equal(RowEncoder(layout)(given_as), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_propensity_is_the_probability_bit_for_bit_also_after_loading(kind: str, tmp_path: Path) -> None:
    policy = policy_of(kind)
    policy.save(tmp_path / "policy.safetensors")
    module = None if kind != "module" else rule_of("module", 5, LAYOUT.size, seed=1).module  # type: ignore[union-attr]
    loaded = LearnedPolicy.load(tmp_path / "policy.safetensors", module=module)
    table = table_of(LAYOUT, VISITOR)
    probabilities = policy.predict_proba(table)
    np.testing.assert_array_equal(loaded.predict_proba(table), probabilities)
    for seed in range(40):
        decision = loaded.decide(VISITOR, rng=seed)
        assert decision == policy.decide(VISITOR, rng=seed)
        assert decision.propensity == probabilities[0, LABELS.index(decision.action)]
        assert decision.action == policy.sample(table, seed)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_larger_batch_probabilities_are_the_same_up_to_rounding(kind: str) -> None:
    """A sum of n products in another order is off by n units in the last place; a module adds in single precision."""
    names = tuple(f"x{k}" for k in range(64))
    policy = policy_of(kind, FeatureLayout(names), None, 10)
    contexts = np.random.default_rng(3).normal(size=(500, 64))
    probabilities = policy.predict_proba(contexts)
    unit = 2.0**-23 if kind == "module" else 2.0**-52
    for row, shares in zip(contexts, probabilities, strict=True):
        decision = policy.decide(row, rng=5)
        # Scores of at most 400, and the slope of a logarithm of a probability is at most 2.
        assert abs(decision.propensity - shares[decision.action]) <= 2 * 400 * 66 * unit


@pytest.mark.parametrize("kind", KINDS)
def test_actions_are_drawn_as_often_as_their_probabilities_say(kind: str) -> None:
    policy, rng, draws = policy_of(kind), np.random.default_rng(11), 20_000
    expected = draws * policy.predict_proba(table_of(LAYOUT, VISITOR))[0]
    counts = Counter(policy.decide(VISITOR, rng).action for _ in range(draws))
    found = np.array([counts[label] for label in LABELS])
    large = expected >= 5
    distance = ((found - expected)[large] ** 2 / expected[large]).sum()
    assert distance < stats.chi2.isf(1e-6, large.sum() - 1)
    assert found[~large].sum() <= stats.poisson.isf(1e-6, expected[~large].sum())


def test_an_action_without_probability_is_never_drawn() -> None:
    weights = np.array([[-1e4], [0.0], [-1e4], [0.0], [-1e4]], dtype=np.float32)
    policy = LearnedPolicy(SoftmaxRule(weights), FeatureLayout(("x",), intercept=False), None, 5)
    decisions = {policy.decide([1.0]) for _ in range(2_000)}
    assert decisions == {Decision(1, 0.5), Decision(3, 0.5)}


def test_threads_share_a_policy() -> None:
    policy = policy_of()
    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(lambda _: policy.decide(VISITOR), range(8_000)))
    shares = dict(zip(LABELS, policy.predict_proba(table_of(LAYOUT, VISITOR))[0].tolist(), strict=True))
    assert all(decision.propensity == shares[decision.action] for decision in decisions)
    counts = Counter(decision.action for decision in decisions)
    for label, share in shares.items():  # not seeded: Hoeffding, wrong once in a billion
        assert abs(counts[label] / 8_000 - share) < np.sqrt(np.log(2e9 * len(LABELS)) / 2 / 8_000)


def test_processes_draw_differently_after_a_fork_and_from_a_copy() -> None:
    code = f"""
import os, sys
from surelift import LearnedPolicy
policy = LearnedPolicy.load({str(STORED / "linear.safetensors")!r})
visitor = dict(visitor="new", device="phone", daypart="day")
policy.decide(visitor)
for _ in range(2):
    if not os.fork():
        print(*[policy.decide(visitor).action for _ in range(40)], flush=True)
        os._exit(0)
    os.wait()
"""
    first, second = run(code).splitlines()
    assert first != second
    policy = policy_of()
    policy.decide(VISITOR)
    copy = pickle.loads(pickle.dumps(policy))
    assert [copy.decide(VISITOR) for _ in range(40)] != [policy.decide(VISITOR) for _ in range(40)]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "kind, more", [("linear", {"scipy"}), ("network", {"scipy"}), ("stages", {"scipy"}), ("gaussian", set())]
)
def test_serving_needs_no_torch_and_no_tables(kind: str, more: set[str]) -> None:
    absent = {"torch", "pyarrow", "narwhals", "faiss", "rich", "surelift.questions.question", *more}
    code = f"""
import sys
sys.modules.update(dict.fromkeys({absent}))
from surelift import LearnedPolicy
policy = LearnedPolicy.load({str(STORED / f"{kind}.safetensors")!r})
print(*policy.decide(dict(visitor="new", device="phone", daypart="day"), rng=1), policy, sep="|")
"""
    action, propensity, told = run(code).split("|")
    policy = LearnedPolicy.load(STORED / f"{kind}.safetensors")
    shares = policy.predict_proba({"visitor": ["new"], "device": ["phone"], "daypart": ["day"]})[0]
    assert float(propensity) == shares[policy.classes_.index(action)]
    assert told.rstrip() == str(policy)


NUMBERS = FeatureLayout(("age", "price"))


@pytest.mark.parametrize(
    "layout, context, says",
    [
        (LAYOUT, {"age": 1.0, "taste": [1, 2]}, "the context has no column 'device'; it has 'age', 'taste'."),
        (LAYOUT, {}, "the context has no column 'age'; it has nothing."),
        (LAYOUT, {**VISITOR, "age": "30"}, "context 'age' was a number when the policy was learned, but is '30' here"),
        (LAYOUT, {**VISITOR, "age": [1.0]}, r"context 'age' was a number .*, but is \[1.0\] here; decide takes one context"),
        (LAYOUT, {**VISITOR, "age": 1j}, "context 'age' was a number when the policy was learned, but is 1j here"),
        (LAYOUT, {**VISITOR, "age": None}, "context 'age' is missing. Fill in the value that meant 'unknown'"),
        (LAYOUT, {**VISITOR, "age": float("nan")}, "context 'age' is not finite: it is nan. Fill in the value"),
        (LAYOUT, {**VISITOR, "age": -np.inf}, "context 'age' is not finite: it is -inf"),
        (LAYOUT, {**VISITOR, "age": 1e39}, "context 'age' has a number beyond 1e38; rescale it."),
        (LAYOUT, {**VISITOR, "age": 10**400}, "context 'age' has a number beyond 1e38; rescale it."),
        (LAYOUT, {**VISITOR, "device": 7}, "context 'device' was text when the policy was learned, but is 7 here; give"),
        (LAYOUT, {**VISITOR, "device": ["phone"]}, r"context 'device' was text .*, but is \['phone'\] here"),
        (LAYOUT, {**VISITOR, "taste": [1.0]}, r"context 'taste' needs a list of 2 numbers, but is \[1.0\]."),
        (LAYOUT, {**VISITOR, "taste": 1.0}, "context 'taste' needs a list of 2 numbers, but is 1.0."),
        (LAYOUT, {**VISITOR, "taste": [1.0, None]}, "context 'taste' is missing"),
        (LAYOUT, {**VISITOR, "taste": [1.0, "2"]}, "context 'taste' was a number when the policy was learned, but is '2'"),
        (LAYOUT, [1.0, 2.0, 3.0], "'age', 'device', 'taste' are not all single numbers; give a dict .*, not list"),
        (NUMBERS, [1.0], r"as a dict or as an array of 2 numbers, but it has shape \(1,\)"),
        (NUMBERS, [[1.0, 2.0]], r"but it has shape \(1, 2\) and type float64. For many contexts at once use sample."),
        (NUMBERS, ["1", "2"], r"array of 2 numbers, but it has shape \(2,\) and type <U1"),
        (NUMBERS, [1.0, None], "array of 2 numbers, but .* type object"),
        (NUMBERS, [1.0, np.nan], "context 'price' is not finite: it is nan"),
        (NUMBERS, np.ma.masked_array([1.0, 2.0], [False, True]), "context 'price' is not finite: it is nan"),
        (NUMBERS, np.array([1e300, 0.0]), "context 'age' has a number beyond 1e38"),
        (NUMBERS, None, r"as a dict or as an array of 2 numbers, but it has shape \(\)"),
        (NUMBERS, "phone", r"array of 2 numbers, but it has shape \(\)"),
        (NUMBERS, pd.DataFrame({"age": [1.0], "price": [2.0]}), "(?s)context 'age' was a number .* decide takes one"),
    ],
)  # fmt: skip
def test_a_bad_context_gets_a_sentence(layout: FeatureLayout, context: Any, says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        policy_of(layout=layout).decide(context)


def test_scores_that_overflow_are_refused() -> None:
    module = torch.nn.Linear(3, 5)
    torch.nn.init.constant_(module.weight, 10.0)
    policy = LearnedPolicy(ModuleRule(module), NUMBERS, None, 5)
    with pytest.raises(sl.UsageError, match="scores for this context are not finite; rescale its numbers"):
        policy.decide([1e38, -1e38])


def test_unseen_and_missing_texts_are_served_as_they_were_learned() -> None:
    policy = policy_of()
    for text in ("tablet", "", None):
        visitor = {**VISITOR, "device": text}
        shares = policy.predict_proba(table_of(LAYOUT, visitor))[0]
        decision = policy.decide(visitor)
        assert decision.propensity == shares[LABELS.index(decision.action)]


def test_a_row_of_a_frame_is_read_by_its_names() -> None:
    policy = policy_of(layout=NUMBERS)
    row = pd.DataFrame({"price": [3.0], "more": [9.0], "age": [1.0]}).iloc[0]
    assert policy.decide(row, rng=2) == policy.decide([1.0, 3.0], rng=2)


def test_a_number_in_the_place_of_a_list_is_refused_in_a_table_too() -> None:
    table = pa.table({"age": [0.3], "device": ["phone"], "taste": [1.0]})
    with pytest.raises(sl.LogsError, match="context 'taste' was a list of 2 numbers when the policy was learned"):
        policy_of().predict_proba(table)
    with pytest.raises(sl.LogsError, match="context 'age': every round needs 1 finite numbers"):
        policy_of(layout=NUMBERS).predict_proba(pa.table({"age": [[1.0, 2.0]], "price": [1.0]}))


def test_printing_takes_a_few_lines() -> None:
    assert repr(policy_of()).splitlines() == [
        "LearnedPolicy: a softmax of linear scores, over 5 actions",
        "  actions      boots, coat, hat, scarf, socks",
        "  contexts     age (number), device (text), taste (list of 2 numbers)",
        "  certificate  none",
    ]
    wide = LearnedPolicy(rule_of("items", 90, 201), FeatureLayout(tuple(f"x{k}" for k in range(200))), None, 90)
    assert "actions      0 to 89\n" in str(wide)
    assert "x7 (number), ... (200 in all)" in str(wide)
    for answer, says in [
        ({"about": "value", "lower": 0.12345, "certified": False}, "value per round of at least 0.1234 ("),
        (
            {"about": "value", "lower": None, "upper": 0.12341, "certified": False},
            "value per round of at most 0.1235 (",
        ),
        (
            {"lower": 0.1, "upper": 0.3, "certified": True},
            "certified: improvement over production of at least +0.1000 (",
        ),
        ({"improvements": {}}, "certificate  see 'surelift explain' (select) (delta 0.1, 7 rounds)"),
    ]:
        content = {"answer": answer, "question": {"kind": "select", "delta": 0.1}, "rounds": 7}
        assert says in str(replace(policy_of(), certificate=sl.Certificate(content)))
    stated = "certificate  not certified: improvement over production of at least -0.0963 (delta 0.05, 540 rounds)"
    assert stated in str(LearnedPolicy.load(STORED / "gaussian.safetensors"))
