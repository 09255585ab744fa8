"""Functions and models as policies: what they see, and that they agree with themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import surelift as sl
from surelift import embeddings, models
from surelift.logs.functions import ASKED_AGAIN

ROUNDS = 5_000


def table(rounds: int = ROUNDS) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    action = rng.integers(0, 2, rounds)
    return {
        "x": rng.normal(size=rounds), "click": (rng.random(rounds) < 0.3 + 0.2 * action) * 1.0, "p": np.full(rounds, 0.5),
        "a": action, "v": np.full((rounds, 2), 0.5), "kept": np.ones(rounds), "e": action,
    }  # fmt: skip


def logs_of(rounds: int = ROUNDS, **declared: Any) -> sl.Logs:
    named = {"reward": "click", "propensity": "p", "action": "a", "logging": "v", **declared}
    return sl.Logs(table(rounds), **named)


def ask(policy: Any, rounds: int = ROUNDS, **declared: Any) -> Any:
    return sl.evaluate(logs_of(rounds, **declared), {"new": policy})


def vectors(first: Any) -> Any:
    return np.column_stack([first, 1.0 - first])


def plain(batch: Any) -> Any:
    return vectors(1.0 / (1.0 + np.exp(batch["x"].to_numpy())))


def test_functions_do_not_see_rewards_and_propensities() -> None:
    shown: set[str] = set()

    def policy(batch: Any) -> Any:
        shown.update(batch.column_names)
        return plain(batch)

    ask(policy, rounds_before_sampling=ROUNDS, keep_probability="kept")
    assert shown == {"x", "a", "v", "e"}
    shown.clear()
    ask(policy, contexts=["x"])
    assert shown == {"x"}
    shown.clear()
    embedding = embeddings.known(
        lambda batch: (policy(batch) is None, np.tile(np.eye(2), (batch.num_rows, 1, 1)))[1], column="e"
    )
    ask("v", embedding=embedding)
    assert shown == {"x", "a", "v", "kept", "e"}


@pytest.mark.parametrize("read", [lambda batch: batch["click"], lambda batch: batch.to_pandas().click])
def test_a_function_that_asks_for_the_reward_is_told(read: Any) -> None:
    with pytest.raises(sl.UsageError, match="policy 'new' asks for column 'click', which is the reward"):
        ask(lambda batch: vectors(np.asarray(read(batch))))
    with pytest.raises(sl.UsageError, match="asks for column 'click', which is the cost"):
        ask(lambda batch: vectors(np.asarray(read(batch))), reward=None, cost="click")
    with pytest.raises(sl.UsageError, match=r"asks for column 'e', which is not among contexts="):
        ask(lambda batch: vectors(batch["e"].to_numpy()), contexts=["x"])
    with pytest.raises(KeyError, match="unheard"):
        ask(lambda batch: batch["unheard"])


def test_rewards_are_no_contexts() -> None:
    for name, role in (("click", "reward"), ("p", "propensity"), ("kept", "keep_probability")):
        with pytest.raises(sl.UsageError, match=f"contexts= names '{name}', the {role}"):
            logs_of(contexts=["x", name], keep_probability="kept", rounds_before_sampling=ROUNDS)
    import pandas as pd

    columns = table(100)
    frame = pd.DataFrame({name: columns[name] for name in ("x", "click")})
    model = LogisticRegression().fit(frame, columns["a"])
    with pytest.raises(sl.UsageError, match="the model names 'click', the reward"):
        ask(model, 100)


class Counting:
    """Gives the first call other numbers than the next."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, batch: Any) -> Any:
        self.calls += 1
        return plain(batch) if self.calls == 1 else vectors(np.full(batch.num_rows, 0.5))


class Ranking:
    classes_ = np.array([0, 1])

    def predict_proba(self, features: Any) -> Any:
        return vectors(features[:, 0].argsort().argsort() / len(features))


def ranked(batch: Any) -> Any:
    return vectors(batch["x"].to_numpy().argsort().argsort() / batch.num_rows)


def ragged(batch: Any) -> Any:
    return [*ranked(batch)[:-1].tolist(), [1.0]]


@pytest.mark.parametrize("rounds", [2, 5, ROUNDS])
@pytest.mark.parametrize(
    "policy",
    [
        ranked, ragged, Ranking(), Counting(), lambda batch: vectors(np.random.default_rng().random(batch.num_rows)),
        lambda batch: vectors(np.random.default_rng(0).random(ROUNDS))[: batch.num_rows],
    ],
    ids=["ranked", "ragged", "model", "counting", "random", "by place"],
)  # fmt: skip
def test_functions_that_disagree_with_themselves_are_refused(policy: Any, rounds: int) -> None:
    if isinstance(policy, Counting):
        policy.calls = 0
    with pytest.raises(sl.UsageError, match=r"policy 'new' does not agree with itself: for row \d"):
        ask(policy, rounds, contexts=["x"])


def test_reward_models_and_embeddings_agree_with_themselves_too() -> None:
    with pytest.raises(sl.UsageError, match="the reward model does not agree with itself"):
        sl.evaluate(logs_of(), {"new": plain}, control=models.given(ranked))
    embedding = embeddings.known(lambda batch: np.stack([ranked(batch), ranked(batch)], axis=1), column="e")
    with pytest.raises(sl.UsageError, match="the embedding function does not agree with itself"):
        ask("v", embedding=embedding)


def test_the_first_row_that_differs_is_named() -> None:
    def policy(batch: Any) -> Any:
        odd = np.zeros(batch.num_rows)
        odd[-1] = 0.5 if batch.num_rows > 1000 and batch.num_rows < 2000 else 0.0
        return vectors(odd + 0.25)

    with pytest.raises(sl.UsageError, match=f"for row {ASKED_AGAIN // 3 - 1:,} it returns other numbers"):
        ask(policy)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rounding_is_no_disagreement(kind: Any) -> None:
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(300, 2)).astype(np.float32)

    def policy(batch: Any) -> Any:
        x = batch["x"].to_numpy().astype(np.float32)
        scores = np.sin(np.outer(x, np.arange(1, 301, dtype=np.float32))) @ weights
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return (shares / shares.sum(axis=1, keepdims=True)).astype(kind)

    assert ask(policy)["new"].rounds == ROUNDS
    assert ask(lambda batch: 1e6 * policy(batch) / policy(batch).sum(axis=1, keepdims=True) / 1e6)["new"].rounds == ROUNDS


def test_one_round_is_asked_about_again() -> None:
    with pytest.raises(sl.UsageError, match="does not agree with itself"):
        ask(lambda batch: vectors(np.random.default_rng().random(batch.num_rows)), 1)
    assert ask(plain, 1)["new"].rounds == 1


def test_the_check_costs_little(tmp_path: Path) -> None:
    rounds, asked = 1 << 17, 0
    pq.write_table(pa.table({"x": np.zeros(rounds), "r": np.zeros(rounds), "p": np.ones(rounds)}), tmp_path / "log.parquet")

    def policy(batch: Any) -> Any:
        nonlocal asked
        asked += batch.num_rows
        return np.ones(batch.num_rows)

    sl.evaluate(sl.Logs(tmp_path / "log.parquet", reward="r", propensity="p"), {"new": policy})
    assert rounds < asked <= 1.1 * rounds
