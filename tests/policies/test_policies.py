"""Every form of a policy gives the right probability of the logged action."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import surelift as sl
from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.logs.decisions import Probabilities
from surelift.policies.resolve import as_policy, from_description, name_of, name_policies

ROWS, ACTIONS = 500, 4
RNG = np.random.default_rng(8)
LOGGING = RNG.dirichlet(np.full(ACTIONS, 2.0), ROWS)
NEW = RNG.dirichlet(np.full(ACTIONS, 1.0), ROWS)
SCORES = RNG.normal(size=(ROWS, ACTIONS))
ACTION = np.array([RNG.choice(ACTIONS, p=row) for row in LOGGING])
AT = (np.arange(ROWS), ACTION)
LABELS = ["hat", "coat", "shoe", "sock"]


def columns() -> dict[str, Any]:
    return {
        "r": RNG.random(ROWS),
        "p": LOGGING[AT],
        "a": ACTION,
        "item": np.array(LABELS)[ACTION].tolist(),
        "logging": LOGGING,
        "p_new": NEW[AT],
        "new": NEW,
        "scores": SCORES,
        "pick": SCORES.argmax(axis=1),
        "pick_item": np.array(LABELS)[SCORES.argmax(axis=1)].tolist(),
        "k": np.full(ROWS, ACTIONS),
        "x0": SCORES[:, 0],
        "x1": SCORES[:, 1],
        **{f"n{i}": NEW[:, i] for i in range(ACTIONS)},
    }


def read(policy: Any, **options: Any) -> Probabilities:
    logs = sl.Logs(columns(), **{"reward": "r", "propensity": "p", "action": "a", "logging": "logging", **options})
    (batch,) = logs.batches(as_policy(policy).needs(logs))
    found = Batch(logs, batch)
    probabilities = as_policy(policy).probabilities(found.decisions, "policy")
    assert found.fit
    return probabilities


def softmax(temperature: float) -> FloatArray:
    exponentials = np.exp(SCORES / temperature)
    shares: FloatArray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares


GREEDY = np.eye(ACTIONS)[SCORES.argmax(axis=1)]
FORMS: dict[str, tuple[Any, FloatArray]] = {
    "list column": ("new", NEW),
    "list of columns": (["n0", "n1", "n2", "n3"], NEW),
    "matrix": (NEW, NEW),
    "function of a matrix": (lambda table: np.column_stack([table[f"n{i}"].to_numpy() for i in range(ACTIONS)]), NEW),
    "production": ("production", LOGGING),
    "blend": (sl.blend("new", 0.3), 0.7 * LOGGING + 0.3 * NEW),
    "blend of a blend": (sl.blend(sl.blend("new", 0.5), 0.2), 0.9 * LOGGING + 0.1 * NEW),
    "softmax of a list column": (sl.softmax("scores", 0.5), softmax(0.5)),
    "softmax of a matrix": (sl.softmax(SCORES, 2.0), softmax(2.0)),
    "chosen": (sl.chosen("pick"), GREEDY),
    "epsilon-greedy of scores": (sl.epsilon_greedy("scores", 0.2), 0.8 * GREEDY + 0.2 / ACTIONS),
    "epsilon-greedy of a choice": (sl.epsilon_greedy(sl.chosen("pick"), 0.2), 0.8 * GREEDY + 0.2 / ACTIONS),
    "uniform": (sl.uniform(), np.full((ROWS, ACTIONS), 1 / ACTIONS)),
    "bounded": (sl.bounded("new", 1e9), NEW),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_with_vectors(form: str) -> None:
    policy, expected = FORMS[form]
    probabilities = read(policy)
    assert probabilities.logged == pytest.approx(expected[AT], rel=1e-12)
    assert probabilities.vectors is not None
    assert probabilities.vectors.values.reshape(ROWS, ACTIONS) == pytest.approx(expected, rel=1e-12)


SINGLES: dict[str, tuple[Any, FloatArray]] = {
    "column": ("p_new", NEW[AT]),
    "array": (NEW[AT], NEW[AT]),
    "function": (lambda table: table["p_new"].to_numpy(), NEW[AT]),
    "blend": (sl.blend("p_new", 0.3), 0.7 * LOGGING[AT] + 0.3 * NEW[AT]),
}


@pytest.mark.parametrize("form", SINGLES)
def test_forms_with_one_number_per_round(form: str) -> None:
    policy, expected = SINGLES[form]
    probabilities = read(policy, action=None, logging=None)
    assert probabilities.logged == pytest.approx(expected, rel=1e-12)
    assert probabilities.vectors is None


@pytest.mark.parametrize("options", [{"action_count": 4}, {"action_count": "k"}, {"actions": LABELS, "action": "item"}])
def test_the_action_count_can_be_declared(options: dict[str, Any]) -> None:
    assert read(sl.uniform(), **{"logging": None, **options}).logged == pytest.approx(0.25)
    greedy = sl.epsilon_greedy(sl.chosen("pick_item" if "actions" in options else "pick"), 0.4)
    assert read(greedy, **{"logging": None, **options}).logged == pytest.approx((0.6 * GREEDY + 0.1)[AT])


def test_labels_map_to_positions() -> None:
    assert read(sl.chosen("pick_item"), action="item", actions=LABELS).logged == pytest.approx(GREEDY[AT])
    assert read(sl.chosen("pick"), action="a", actions=LABELS).logged == pytest.approx(GREEDY[AT])
    numbers = [10, 20, 30, 40]
    logs = sl.Logs({**columns(), "n": np.array(numbers)[ACTION]}, reward="r", propensity="p", action="n", actions=numbers)
    (batch,) = logs.batches(as_policy("new").needs(logs))
    assert as_policy("new").probabilities(Batch(logs, batch).decisions, "").logged == pytest.approx(NEW[AT])


def test_a_function_gets_the_declared_contexts_or_what_it_may_see() -> None:
    seen: list[list[str]] = []

    def spy(table: Any) -> Any:
        assert isinstance(table, pa.Table)
        seen.append(table.column_names)
        return np.full(table.num_rows, 0.5)

    read(spy, contexts=["x1", "x0"])
    read(spy)
    assert seen[0] == ["x1", "x0"]
    assert set(seen[-1]) == set(columns()) - {"r", "p"}


def test_model_classes_are_matched_to_actions() -> None:
    # Fitted without "hat", so that action gets probability 0.
    labels = np.array(LABELS)[np.where(ACTION == 0, 1, ACTION)]
    model = LogisticRegression().fit(SCORES[:, :2], labels)
    probabilities = read(model, contexts=["x0", "x1"], action="item", actions=LABELS)
    expected = np.zeros((ROWS, ACTIONS))
    expected[:, [LABELS.index(label) for label in model.classes_]] = model.predict_proba(SCORES[:, :2])
    assert probabilities.logged == pytest.approx(expected[AT])


def test_a_model_fitted_on_a_frame_gets_its_column_names() -> None:
    frame = pa.table({"x1": SCORES[:, 1], "x0": SCORES[:, 0]}).to_pandas()
    model = LogisticRegression().fit(frame, ACTION)
    assert read(model).logged == pytest.approx(model.predict_proba(frame)[AT])


@pytest.mark.parametrize(
    "policy, options, says",
    [
        ("new", {"logging": None, "action": None}, "which action was taken"),
        (sl.softmax("scores", 1.0), {"logging": None, "action": None}, "which action was taken"),
        (sl.softmax("p_new", 1.0), {}, "one score per action"),
        (sl.epsilon_greedy("p_new", 0.1), {}, "one score per action"),
        (sl.uniform(), {"logging": None}, "how many actions were available"),
        (sl.chosen("nothing"), {}, "no column 'nothing' for chosen"),
        ("p_nwe", {}, "Did you mean 'p_new'"),
        (np.full(ROWS + 1, 0.5), {}, "has 501 rows, but the logs have 500"),
        (np.full((ROWS, 2, 2), 0.5), {}, "must have shape"),
        (lambda table: np.full(3, 0.5), {}, r"shape \(3,\)"),
        (lambda table: ["x"] * table.num_rows, {}, "numbers of shape"),
        (object(), {}, "a policy cannot be a object"),
        (LogisticRegression(), {"contexts": ["x0"]}, "no classes_"),
    ],
)
def test_invalid_policies_are_rejected(policy: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        read(policy, **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sl.blend("p", 1.5),
        lambda: sl.blend("p", -0.1),
        lambda: sl.softmax("p", 0.0),
        lambda: sl.epsilon_greedy("p", 2.0),
        lambda: sl.bounded("p", float("nan")),
    ],
)
def test_out_of_range_parameters_are_rejected(make: Any) -> None:
    with pytest.raises(sl.UsageError):
        make()


def test_a_blend_knows_its_smallest_weight() -> None:
    """Its weights are at least 1 - alpha."""
    assert sl.blend("p", 0.1).limits.drop == 0.1
    assert sl.blend(sl.blend("p", 0.5), 0.1).limits.drop == 0.05
    assert sl.bounded(sl.blend("p", 0.1), 5.0).limits.drop == 0.1
    assert sl.blend("production", 0.3).limits.drop == 0.0
    assert as_policy("p").limits.drop == 1.0


@pytest.mark.parametrize("form", [form for form in FORMS if "matrix" not in form])
def test_a_policy_of_columns_round_trips_through_its_description(form: str) -> None:
    policy, expected = FORMS[form]
    assert read(from_description(as_policy(policy).describe())).logged == pytest.approx(expected[AT], rel=1e-12)


def test_arrays_functions_and_models_must_be_passed_again() -> None:
    for policy in (NEW, lambda table: table, LogisticRegression()):
        with pytest.raises(sl.UsageError, match="it was built from"):
            from_description(as_policy(sl.blend(policy, 0.5)).describe())
    with pytest.raises(ValueError, match="unknown policy kind"):
        from_description({"kind": "oracle"})
    with pytest.raises(sl.UsageError, match="alpha must be"):
        from_description({"kind": "blend", "alpha": 5, "of": {"kind": "uniform"}})


def test_names() -> None:
    assert list(name_policies("p")) == ["p"]
    assert list(name_policies(["p", "q"])) == ["p", "q"]
    assert list(name_policies({"a": "p"})) == ["a"]
    assert name_of(sl.blend("p_new", 0.1)) == "10% p_new"
    assert name_of(sl.chosen("pick")) == "pick"
    for wrong in ({}, ["p", "p"], {"production": "p"}):
        with pytest.raises(sl.UsageError):
            name_policies(wrong)


def test_vector_sums_are_corrected_conservatively() -> None:
    """Vectors may miss a sum of 1 by 1e-6; the correction never raises an importance weight."""
    exact = read("new").logged
    overstated = read(NEW * (1 + 5e-7)).logged
    assert overstated == pytest.approx(exact, rel=1e-12)
    assert read(NEW * (1 - 5e-7)).logged == pytest.approx(exact * (1 - 5e-7), rel=1e-12)
    logs = sl.Logs(
        {**columns(), "short": LOGGING * (1 - 5e-7), "q": LOGGING[AT] * (1 - 9e-7)},
        reward="r",
        propensity="q",
        action="a",
        logging="short",
    )
    (batch,) = logs.batches()
    found = Batch(logs, batch).read()
    assert found.fit
    # Neither the smaller column nor the short vector understates the propensity.
    assert found.propensity == pytest.approx(LOGGING[AT], rel=1e-12)


def test_float32_vectors_have_a_wider_tolerance() -> None:
    single = (NEW * (1 + 5e-6)).astype(np.float32)
    assert read(single).logged == pytest.approx(NEW[AT], rel=1e-6)
    with pytest.raises(AssertionError):
        read(NEW * (1 + 5e-6))


def test_vectors_of_different_lengths_as_lists() -> None:
    logging = [[0.5, 0.5], [0.2, 0.3, 0.5], [1.0]]
    new = [[0.1, 0.9], [0.5, 0.25, 0.25], [1.0]]
    rows = np.arange(3)
    logs = sl.Logs(reward=[1, 0, 1], propensity=[0.5, 0.5, 1.0], action=[1, 2, 0], logging=logging, contexts=rows)
    plain = sl.evaluate(logs, {"new": new}, control="none")["new"]
    assert plain.estimate == pytest.approx((1.8 + 1.0) / 3)
    of_rows = {"new": lambda table: [new[row] for row in table["x0"].to_pylist()]}
    by_row = sl.evaluate(logs, of_rows, control="none")
    assert by_row["new"].estimate == pytest.approx((1.8 + 1.0) / 3)
    with pytest.raises(sl.LogsError, match="differ in length"):
        sl.evaluate(logs, {"new": [[0.1, 0.9], [0.5, 0.5], [1.0]]})


def test_a_masked_probability_is_missing() -> None:
    logs = sl.Logs(reward=[1.0, 1.0], propensity=[0.5, 0.5], contexts=np.arange(2))
    masked = np.ma.array([0.5, 0.9], mask=[False, True])
    for policy in (masked, lambda table: masked[table["x0"].to_numpy()]):
        with pytest.raises(sl.LogsError, match="1 of 2 values are NaN"):
            sl.evaluate(logs, {"new": policy})


@pytest.mark.parametrize("policy", ["new", sl.chosen("pick"), sl.uniform(), sl.softmax("scores", 1.0)])
def test_discrete_policies_are_rejected_for_continuous_actions(policy: Any) -> None:
    logs = sl.Logs(columns(), reward="r", propensity="p", action="a", density=True, action_count=4)
    with pytest.raises(sl.UsageError, match=r"and density \(density=True\) do not go together: continuous actions"):
        sl.evaluate(logs, {"new": policy})


def test_conflicting_names_are_rejected() -> None:
    for wrong in ({1: "p", "1": "q"}, [sl.blend("p", 0.1), "p"]):
        with pytest.raises(sl.UsageError, match="name"):
            name_policies(wrong)
    logs = sl.Logs(reward=[1.0], propensity=[0.5])
    for policy, over in (
        ({"production": [0.5]}, "production"),
        ("production", "production"),
        ({"a": [0.5]}, {"a": "production"}),
        ([0.5], [0.4]),
    ):
        with pytest.raises(sl.UsageError, match=r"name of production|compared with itself"):
            sl.compare(logs, policy, over=over)


def test_a_probability_slightly_above_one_counts_as_one() -> None:
    logs = sl.Logs(reward=[1.0, 0.0], propensity=[1 + 9e-7, 0.5])
    assert sl.evaluate(logs, {"new": [1 + 9e-7, 0.5]})["new"].estimate == pytest.approx(0.5 / (1 + 9e-7), rel=1e-12)
    for p, new in (([1 + 2e-6, 0.5], [0.5, 0.5]), ([0.5, 0.5], [1 + 2e-6, 0.5])):
        with pytest.raises(sl.LogsError, match="1 of 2 values lie outside"):
            sl.evaluate(sl.Logs(reward=[1.0, 0.0], propensity=p), {"new": new})
    single = np.array([1 + 9e-6, 0.5], dtype=np.float32)
    assert sl.evaluate(sl.Logs(reward=[1.0, 0.0], propensity=single), {"new": single})["new"].rounds == 2
    with pytest.raises(sl.LogsError, match="1 of 2 values lie outside"):
        sl.evaluate(sl.Logs(reward=[1.0, 0.0], propensity=np.array([1 + 2e-5, 0.5], dtype=np.float32)), "production")
