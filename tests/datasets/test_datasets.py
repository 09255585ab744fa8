import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.datasets import encode_labels, faulty_policy, ideal_policy, shop, supervised_to_bandit


def test_the_shop_is_reproducible() -> None:
    assert shop(100).table.equals(shop(100).table)
    assert not shop(100, seed=1).table.equals(shop(100).table)
    assert shop(100, seed=1).true_values == shop(100).true_values


def test_the_true_values_of_the_shop_match_many_rounds() -> None:
    data = shop(400_000, seed=5)
    logs = data.logs()
    estimates = sl.evaluate(logs, {"production": "production", **data.policies()})
    for name, truth in data.true_values.items():
        assert estimates[name].estimate == pytest.approx(truth, abs=0.003)
        lower, upper = estimates[name].lower, estimates[name].upper
        assert lower is not None
        assert upper is not None
        assert lower <= truth <= upper


def test_the_candidates_of_the_shop_are_ranked_by_their_names() -> None:
    truth = shop(1).true_values
    assert truth["worse"] < truth["production"] < truth["slight"] < truth["better"]
    assert truth["better"] > 1.4 * truth["production"]
    assert truth["slight"] < 1.05 * truth["production"]


def test_policies_by_hand() -> None:
    codes, names = encode_labels(["b", "a", "c"])
    assert (codes.tolist(), names) == ([1, 0, 2], ("a", "b", "c"))
    # exp(1/1) = e against two of exp(0) = 1.
    assert ideal_policy(codes, 3, temperature=1.0)[0, 1] == pytest.approx(math.e / (math.e + 2))
    # For labels 0 and 1 the peak is on the next label.
    assert faulty_policy(codes, 3, temperature=0.1).argmax(axis=1).tolist() == [2, 1, 2]
    assert ideal_policy(codes, 3, temperature=1e-3).max() == 1.0


def test_the_right_label_pays() -> None:
    labels = np.array(["x", "y"] * 20_000)
    logging = np.full((40_000, 2), 0.5)
    feedback = supervised_to_bandit(np.zeros((40_000, 1)), labels, logging, noise=0.1, rng=np.random.default_rng(0))
    right = feedback.action == encode_labels(labels)[0]
    assert feedback.reward[right].mean() == pytest.approx(0.9, abs=0.01)
    assert feedback.reward[~right].mean() == pytest.approx(0.1, abs=0.01)
    ideal = ideal_policy(encode_labels(labels)[0], 2, temperature=0.5)
    assert feedback.true_value(logging) == pytest.approx(0.5)
    answer = sl.compare(feedback.logs(), {"ideal": ideal})
    assert answer.certified
    assert answer.lower <= feedback.true_value(ideal) - 0.5 <= answer.upper
    for invalid in ({"noise": 0.7}, {"noise": -0.1}):
        with pytest.raises(sl.UsageError):
            supervised_to_bandit(np.zeros((2, 1)), ["a", "b"], logging[:2], rng=np.random.default_rng(0), **invalid)
    with pytest.raises(sl.UsageError, match="one column per label"):
        supervised_to_bandit(np.zeros((2, 1)), ["a", "b"], logging[:3], rng=np.random.default_rng(0))


@pytest.mark.parametrize("name, temperature", [("ecoli", 0.2), ("vehicle", 0.25), ("kropt", 0.3)])
def test_the_papers_problems_on_real_data(data_folder: Path, name: str, temperature: float) -> None:
    """A faulty policy logs, an ideal one is evaluated: the bounds hold, and kropt's 28,056 rounds certify it."""
    table = pq.read_table(data_folder / f"{name}.parquet")
    features = np.column_stack([table[column].to_numpy() for column in table.column_names if column != "label"])
    codes, names = encode_labels(table["label"].to_pylist())
    logging = faulty_policy(codes, len(names), temperature=temperature)
    feedback = supervised_to_bandit(features, table["label"].to_pylist(), logging, noise=0.1, rng=np.random.default_rng(0))
    ideal = ideal_policy(codes, len(names), temperature=0.1)
    truth = feedback.true_value(ideal)
    value = sl.evaluate(feedback.logs(), {"ideal": ideal})["ideal"]
    assert value.lower is not None
    assert value.upper is not None
    assert value.lower <= truth <= value.upper
    gain = sl.compare(feedback.logs(), {"ideal": ideal})
    assert gain.lower <= truth - feedback.true_value(logging) <= gain.upper
    assert gain.certified or name != "kropt"


@pytest.mark.parametrize("simulated", [sl.datasets.shop, sl.datasets.routing])
@pytest.mark.parametrize("rounds", [0, -5, 2.5, "a"])
def test_a_number_of_rounds_that_cannot_be(simulated: Any, rounds: Any) -> None:
    with pytest.raises(sl.UsageError, match="rounds must be a whole number of at least 1"):
        simulated(rounds)
    assert len(repr(simulated(2))) < 300
