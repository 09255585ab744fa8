"""Several loggers: what is declared of them, and rows that cannot be."""

import json
from typing import Any

import pytest

import surelift as sl
from surelift.traits.declaration import Declaration

BOTH = {"a": "p_a", "b": "p_b"}
ROWS: dict[str, list[Any]] = {
    "version": ["a", "a", "b", "b"], "r": [0, 1, 1, 0], "p_a": [0.5, 0.5, 0.25, 0.5], "p_b": [0.25, 0.75, 0.5, 1.0],
    "p_new": [0.5] * 4,
}  # fmt: skip


def logs(rows: dict[str, list[Any]] = ROWS, **declared: Any) -> sl.Logs:
    return sl.Logs(rows, **{"reward": "r", "logger": "version", "loggers": BOTH, **declared})


@pytest.mark.parametrize(
    "declared, says",
    [
        ({"loggers": None}, "several loggers need both"),
        ({"logger": None}, "several loggers need both"),
        ({"loggers": {"a": "p_a"}}, "fewer than two loggers"),
        ({"loggers": ["p_a", "p_b"]}, "each logger the column of its probabilities"),
        ({"loggers": {"a": "p_a", "b": "p_a"}}, "one column for two loggers"),
        ({"loggers": {1: "p_a", "1": "p_b"}}, "names a logger twice"),
        ({"loggers": {"a": "p_a", "b": "p_c"}}, "no column 'p_c' for loggers, 'b'"),
        ({"logger_rounds": {"a": 2, "c": 2}}, "names 'a', 'c', but loggers= 'a', 'b'"),
        ({"logger_rounds": {"a": 4, "b": 0}}, "logger_rounds of 'b' must be a whole number of at least 1"),
        ({"logger_rounds": 4}, "logger_rounds must give each logger its number of rounds"),
        ({"logger_shares": {"a": 0.5, "b": 0.4}}, "must sum to 1"),
        ({"logger_shares": {"a": 1.0, "b": 0.0}}, "the probability with which it was drawn, above 0 and below 1"),
        ({"logger_rounds": {"a": 2, "b": 2}, "logger_shares": {"a": 0.5, "b": 0.5}}, "not both"),
        ({"propensity": "p_a"}, "propensity= cannot be given with loggers="),
        ({"keep_probability": "p_a"}, "balanced loggers .* and sampled .* do not go together"),
        ({"cluster": "version", "cluster_size": 2}, r"loggers \(loggers=\) and clusters \(cluster=\) do not go"),
        ({"contexts": ["p_a"]}, "the propensity of logger 'a'; a policy decides without it"),
    ],
)
def test_a_bad_declaration_gets_a_sentence(declared: dict[str, Any], says: str) -> None:
    with pytest.raises(sl.UsageError, match=says):
        logs(**declared)


@pytest.mark.parametrize(
    "column, values, says",
    [
        ("version", ["a", "a", "b", "c"], "logger 'version': 1 of 4 values are not among the declared loggers"),
        ("version", ["a", None, "b", "b"], "logger 'version': 1 of 4 values are missing"),
        ("version", ["a", "", "b", "b"], "logger 'version': 1 of 4 values are missing"),
        ("version", ["a", "a", "a", "a"], "logger 'b' took none of the 4 rounds"),
        ("p_b", [0.25, 1.5, 0.5, 1.0], "loggers, 'b': 'p_b': 1 of 4 values lie outside"),
        ("p_b", [-0.25, 0.75, 0.5, 1.0], "loggers, 'b': 'p_b': 1 of 4 values lie outside"),
        ("p_b", [0.25, 0.75, 0.0, 1.0], "are zero, though this logger took the row; the first is 0.0 in row 2"),
        ("p_a", [0.5, None, 0.25, 0.5], "loggers, 'a': 'p_a': 1 of 4 values are missing"),
    ],
)
def test_a_row_that_cannot_be_gets_a_sentence(column: str, values: list[Any], says: str) -> None:
    with pytest.raises(sl.LogsError, match=says):
        sl.evaluate(logs({**ROWS, column: values}), "p_new")


def test_another_loggers_probability_may_be_zero() -> None:
    assert sl.evaluate(logs({**ROWS, "p_b": [0.0, 0.75, 0.5, 1.0]}), "p_new").rounds == 4


def test_weights_are_balanced_by_hand() -> None:
    # q = (p_a + p_b)/2 = 3/8, 5/8, 3/8, 3/4; weights of 1/2: 4/3, 4/5, 4/3, 2/3; rewarded are rounds 1 and 2.
    value = sl.estimate(logs(), "p_new")["p_new"].estimate
    assert value == pytest.approx((4 / 5 + 4 / 3) / 4, rel=1e-12)
    uneven = {**ROWS, "version": ["a", "b", "b", "b"]}
    # Now q = p_a/4 + 3 p_b/4: 11/16 in round 1, 7/16 in round 2.
    assert sl.estimate(logs(uneven), "p_new")["p_new"].estimate == pytest.approx((8 / 11 + 8 / 7) / 4, rel=1e-12)


def test_arrays_and_numbered_loggers() -> None:
    given = sl.Logs(reward=ROWS["r"], logger=[1, 1, 2, 2], loggers={1: ROWS["p_a"], 2: ROWS["p_b"]})
    named = sl.estimate(logs(), "p_new")["p_new"].estimate
    assert sl.estimate(given, {"new": ROWS["p_new"]})["new"].estimate == named


def test_a_declaration_comes_back_from_json() -> None:
    declared = logs(logger_rounds={"a": 2, "b": 2}).declaration
    assert Declaration.from_description(json.loads(json.dumps(declared.describe()))) == declared


def test_a_function_does_not_see_who_logged() -> None:
    def peeks(table: Any) -> Any:
        return table["version"].to_numpy()

    with pytest.raises(sl.UsageError, match="asks for column 'version', which is the logger"):
        sl.evaluate(logs(), {"peeks": peeks})
