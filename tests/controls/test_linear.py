"""One ridge regression per action: by hand, never using future rounds, with vectors and text as contexts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.controls.linear import Linear
from tests.controls.test_models import DECLARED, columns, logs_of, predictions


def test_by_hand() -> None:
    """Contexts -1 and 1, each with both actions: already standardised, so the penalty is 1/2."""
    contexts, action = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([0, 0, 1, 1])
    model = Linear.fitted(contexts, action, np.array([0.0, 1.0, 1.0, 0.5]), 3)
    # Action 0: the slope is (1/2 + 1/2)/(2 + 1/2); action 1: -(1/4 + 1/4)/(2 + 1/2). Action 2 has no data.
    assert model.weights[:, 0] == pytest.approx([0.4, -0.2, 0.0])
    assert model.constants == pytest.approx([0.5, 0.75, 0.625])
    assert model.predict(np.array([[0.5], [np.nan]])) == pytest.approx(np.array([[0.7, 0.65, 0.625], [0.5, 0.75, 0.625]]))


def test_units_do_not_matter_and_constants_are_ignored() -> None:
    rng = np.random.default_rng(0)
    contexts, action, reward = rng.normal(size=(80, 3)), rng.integers(0, 2, 80), rng.random(80)
    contexts[:, 2] = 7.0
    scaled = contexts * [1e6, 1e-6, 1.0] + [5.0, -3.0, 0.0]
    first, second = (Linear.fitted(x, action, reward, 2).predict(x) for x in (contexts, scaled))
    assert first == pytest.approx(second, abs=1e-6)
    without = Linear.fitted(contexts[:, :2], action, reward, 2).predict(contexts[:, :2])
    assert first == pytest.approx(without, abs=1e-12)


@given(seed=st.integers(0, 10_000), changed=st.integers(0, 299), size=st.integers(1, 200))
def test_a_prediction_does_not_depend_on_its_own_or_later_rounds(seed: int, changed: int, size: int) -> None:
    table = columns(seed, 300)
    other = {name: np.array(column, copy=True) for name, column in table.items()}
    other["r"][changed:] = 1 - other["r"][changed:]
    model = sl.models.refitted("linear")
    first, second = predictions(model, table, [300]), predictions(model, other, [size])
    assert first[: changed + 1] == pytest.approx(second[: changed + 1], abs=1e-12)


def test_a_vector_equals_its_separate_columns() -> None:
    table = columns(3, 400)
    rng = np.random.default_rng(5)
    table["v"] = rng.normal(size=(400, 2)) + table["x"][:, None]
    table |= {"v0": table["v"][:, 0], "v1": table["v"][:, 1]}
    model = sl.models.refitted("linear")
    vector = predictions(model, table, [150], contexts=["v", "name"])
    separate = predictions(model, table, [400], contexts=["v0", "v1", "name"])
    assert vector == pytest.approx(separate, abs=1e-12)
    assert vector[300:].std() > 0.05


def test_it_narrows_bounds_and_is_stored_in_the_certificate() -> None:
    table = columns(8, 3_000)
    table["r"] = table["q"][np.arange(3_000), table["a"]]
    logs = logs_of(table)
    controls = {"linear": sl.models.refitted("linear"), "weights": "weights", "truth": sl.models.given("q")}
    answers = {name: sl.compare(logs, {"new": "new"}, control=control) for name, control in controls.items()}
    width = {name: answer.upper - answer.lower for name, answer in answers.items()}
    assert width["linear"] < 0.98 * width["weights"]
    assert width["linear"] == pytest.approx(width["truth"], rel=1e-3)
    certificate = sl.Certificate.of(answers["linear"])
    assert certificate.content["question"]["method"]["control"]["estimator"] == "linear"
    assert sl.verify(certificate, logs).same


def test_invalid_models_and_contexts_are_rejected() -> None:
    table = columns(9, 100)
    with pytest.raises(sl.UsageError, match="unknown reward model 'quadratic'; use 'linear'"):
        sl.models.refitted("quadratic")
    table["v"] = [[1.0, 2.0]] * 50 + [[1.0]] * 49 + [None]
    logs = sl.Logs(
        {**table, "l": list(table["l"]), "new": list(table["new"]), "q": list(table["q"])}, **DECLARED, contexts=["v"]
    )
    with pytest.raises(
        sl.LogsError, match=r"'v' of the reward model: 50 of 100 values are missing, or are vectors that differ"
    ):
        sl.compare(logs, {"new": "new"}, control=sl.models.refitted("linear"))
    for bad, error, says in (
        (np.inf, sl.LogsError, "context 'x' of the reward model: 1 of 100 values are infinite"),
        (1.7e308, sl.UsageError, "too large to square"),
    ):
        broken = columns(9, 100)
        broken["x"][3] = bad
        with pytest.raises(error, match=says):
            sl.compare(logs_of(broken), {"new": "new"}, control=sl.models.refitted("linear"))
    words = sl.Logs(
        {**{name: list(column) for name, column in columns(9, 100).items()}, "v": [["a", "b"]] * 100}, **DECLARED,
        contexts=["v"],
    )  # fmt: skip
    with pytest.raises(sl.LogsError, match="an entry that is missing or not finite"):
        sl.compare(words, {"new": "new"}, control=sl.models.refitted("linear"))
