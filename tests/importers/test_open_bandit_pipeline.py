"""Open Bandit Pipeline's dict and the Open Bandit Dataset's CSV."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift import importers
from surelift.errors import LogsError, UsageError
from tests.cli.test_cli import run


def feedback(positions: int = 1, rounds: int = 1_000) -> tuple[dict[str, Any], Any]:
    """Bandit feedback as obp's synthetic dataset returns it."""
    rng = np.random.default_rng(0)
    pi_b = np.stack([rng.dirichlet(np.ones(4), rounds) for _ in range(positions)], axis=2)
    position = rng.integers(0, positions, rounds)
    chances = pi_b[np.arange(rounds), :, position]
    action = np.array([rng.choice(4, p=row) for row in chances])
    feed = {
        "n_rounds": rounds, "n_actions": 4, "context": rng.normal(size=(rounds, 3)), "action_context": np.eye(4),
        "action": action, "position": None if positions == 1 else position,
        "reward": (rng.random(rounds) < 0.2 + 0.2 * (action == 1)).astype(float), "expected_reward": None,
        "pi_b": pi_b, "pscore": chances[np.arange(rounds), action],
    }  # fmt: skip
    return feed, np.stack([rng.dirichlet(np.ones(4), rounds) for _ in range(positions)], axis=2)


@pytest.mark.parametrize("positions", [1, 3])
def test_obp_gives_the_same_bounds_as_plain_arrays(positions: int) -> None:
    feed, dist = feedback(positions)
    imported = importers.obp(feed, dist)
    position = np.zeros(1_000, dtype=int) if feed["position"] is None else feed["position"]
    at = np.arange(1_000)
    logs = sl.Logs(
        reward=feed["reward"], propensity=feed["pscore"], action=feed["action"], logging=feed["pi_b"][at, :, position]
    )
    ours, theirs = sl.compare(imported.logs, imported.policies["new"]), sl.compare(logs, {"new": dist[at, :, position]})
    assert (ours.lower, ours.upper, ours.control) == (theirs.lower, theirs.upper, "weights")
    feed.pop("pi_b")
    plain = importers.obp(feed, dist)
    logged = dist[at, feed["action"], position]
    three = sl.compare(sl.Logs(reward=feed["reward"], propensity=feed["pscore"]), {"new": logged})
    assert sl.compare(plain.logs, plain.policies["new"]).lower == pytest.approx(three.lower, abs=1e-12)


def test_invalid_feedback_is_rejected() -> None:
    feed, dist = feedback()
    with pytest.raises(UsageError, match="a propensity has no default"):
        importers.obp({**feed, "pscore": None}, dist)
    with pytest.raises(UsageError, match="no 'reward'"):
        importers.obp({name: value for name, value in feed.items() if name != "reward"})
    with pytest.raises(UsageError, match="is a list"):
        importers.obp([1])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="shape"):
        importers.obp(feed, dist[:10])
    with pytest.raises(UsageError, match=r"3 positions.*put each round's own, counted from 0, in .* action_dist\[:, :, 0\]"):
        importers.obp(feed, np.repeat(dist, 3, axis=2))
    for wrong in (
        {"position": np.full(1_000, 0.5)},
        {"position": ["a"] * 1_000},
        {"position": [0]},
        {"n_actions": "x", "pi_b": None},
    ):
        with pytest.raises(UsageError):
            importers.obp({**feed, **wrong}, dist)
    for bad in ("text", [[1], [1, 2]]):
        with pytest.raises(UsageError, match=r"not an array of probabilities|cannot be read as numbers"):
            importers.obp(feed, bad)
    assert importers.obp(feed).policies == {}


def test_arrays_of_one_position_are_taken_as_matrices_everywhere() -> None:
    """obp's shape (rounds, actions, 1): the same answer and fingerprint as without the last axis."""
    feed, dist = feedback()
    logs = importers.obp(feed).logs
    rewards = np.random.default_rng(1).random((1_000, 4, 1))  # as obp's RegressionModel.predict returns them
    ours, plain = (
        sl.compare(logs, {"new": policy}, control=sl.models.given(predictions))
        for policy, predictions in ((dist, rewards), (dist[:, :, 0], rewards[:, :, 0]))
    )
    assert ours.to_dict() == plain.to_dict()
    assert ours.control == "model"
    assert "the reward model was not fitted on these rounds" in ours.assumptions
    wide = np.repeat(dist, 3, axis=2)
    remedy = r"\(1000, 4, 3\)\. .*take the one of each round, array\[np.arange\(rounds\), :, position\]"
    with pytest.raises(UsageError, match=remedy):
        sl.compare(logs, wide)
    with pytest.raises(UsageError, match=remedy):
        sl.compare(logs, dist, control=sl.models.given(wide))


def test_the_time_of_the_rounds_is_given_beside_the_dict() -> None:
    feed, dist = feedback()
    days = np.datetime64("2024-01-01", "s") + np.arange(1_000) * 3600
    timed, plain = importers.obp(feed, dist, time=days), importers.obp(feed, dist)
    assert timed.logs.declaration.time == "time"
    assert sl.compare(timed.logs, timed.policies).lower == sl.compare(plain.logs, plain.policies).lower
    with pytest.raises(UsageError, match="time"):
        importers.obp(feed, dist, time=days[:10])


def test_the_open_bandit_dataset(data_folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(data_folder / "obd-random-men.parquet").to_pandas()
    table.to_csv(tmp_path / "men.csv")
    items = int(table["item_id"].max()) + 1
    imported = importers.open_bandit(tmp_path / "men.csv", items=items)
    logs = sl.Logs(reward=table["click"].astype(float), propensity=table["propensity_score"])
    ours = sl.evaluate(imported.logs, imported.policies)["uniform"]
    theirs = sl.evaluate(logs, {"uniform": np.full(len(table), 1 / items)})["uniform"]
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=1e-12)
    assert any("items of a page were drawn independently" in text for text in ours.assumptions)
    done = run("evaluate", "men.csv", "--format", "open-bandit", "--action-count", str(items), folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_thompson_sampling_by_its_own_log(data_folder: Path) -> None:
    """The frequencies of the other log, evaluated on the random one, as a matrix made by hand."""
    random, thompson = (pq.read_table(data_folder / f"obd-{policy}-men.parquet").to_pandas() for policy in ("random", "bts"))
    shares = np.zeros((4, 34))
    np.add.at(shares, (thompson["position"], thompson["item_id"]), 1.0)
    shares = shares[1:] / shares[1:].sum(axis=1, keepdims=True)
    brought = importers.open_bandit(data_folder / "obd-random-men.parquet", items=34)
    bts = importers.frequencies(data_folder / "obd-bts-men.parquet", items=34)
    ours = sl.evaluate(brought.logs, {"bts": bts, "bounded": sl.bounded(bts, 8)})
    matrix = shares[random["position"] - 1]
    logs = sl.Logs(
        reward=random["click"].astype(float),
        propensity=random["propensity_score"],
        action=random["item_id"],
        action_count=34,
    )
    theirs = sl.evaluate(logs, {"bts": matrix, "bounded": sl.bounded(matrix, 8)})
    for name in ours:
        low, high = ours[name].lower, ours[name].upper
        assert low is not None
        assert high is not None
        assert (low, high) == pytest.approx((theirs[name].lower, theirs[name].upper), abs=1e-12)
        assert low < thompson["click"].mean() < high
    assert high is not None
    assert high < 0.02  # a bound on the weights: none can hide in rounds not seen


def test_frequencies_of_another_campaign_are_rejected(tmp_path: Path) -> None:
    text = "item_id,position,click,propensity_score\n0,1,1,0.5\n1,2,0,0.5\n"
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(LogsError, match=r"1 values of 'item_id' are no whole numbers from 0 to 0; the first is 1\."):
        importers.frequencies(tmp_path / "log.csv", items=1)
    (tmp_path / "other.csv").write_text(text.replace("1,2,0", "1,3,0"))
    brought = importers.open_bandit(tmp_path / "other.csv", items=2)
    with pytest.raises(LogsError, match=r"position 3 is not in the log whose frequencies are the policy; it has \[1, 2\]"):
        sl.evaluate(brought.logs, {"bts": importers.frequencies(tmp_path / "log.csv", items=2)})
    (tmp_path / "log.csv").write_text(text.replace("1,2,0", "hat,2,0"))
    with pytest.raises(LogsError, match="'item_id' are no whole numbers"):
        importers.frequencies(tmp_path / "log.csv", items=2)


def test_a_csv_with_other_columns_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("click,propensity\n1,0.5\n")
    with pytest.raises(UsageError, match="no column 'item_id'"):
        importers.open_bandit(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_text("item_id,position,click,propensity_score\n0,1,1,0.5\n1,2,0,\n")
    with pytest.raises(LogsError, match="missing"):
        sl.evaluate(importers.open_bandit(tmp_path / "log.csv", items=3).logs, "production")
