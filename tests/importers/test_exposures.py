"""GrowthBook's exposures: two experiments of 300 users, a file that the callback of its Python SDK 3.2.2 wrote."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surelift as sl
from surelift import importers
from surelift.errors import LogsError, UsageError

FILE = Path(__file__).parent / "growthbook_exposures.csv"
GIVEN: dict[str, Any] = {
    "weights": [0.7, 0.3],
    "reward": "bought",
    "experiment": "checkout-button",
    "contexts": ["device"],
}


def frame() -> pd.DataFrame:
    return pd.read_csv(FILE, dtype={"variation_id": str}, parse_dates=["timestamp"])


def test_exposures_give_the_answers_of_one_row_per_user() -> None:
    brought = importers.growthbook(FILE, **GIVEN)
    table = frame()
    one = table[table.experiment_id == "checkout-button"].sort_values("timestamp").drop_duplicates("user_id")
    one = one.assign(w0=0.7, w1=0.3, green="1", blue="0")
    plain = sl.Logs(
        one, reward="bought", action="variation_id", actions=["0", "1"], logging=["w0", "w1"], contexts=["device"],
        time="timestamp", id="user_id",
    )  # fmt: skip
    ours = sl.compare(brought.logs, {"1": brought.policies["1"]}, over=brought.policies["0"])
    theirs = sl.compare(plain, {"1": sl.chosen("green")}, over=sl.chosen("blue"))
    assert (ours.lower, ours.upper, ours.rounds) == (theirs.lower, theirs.upper, 300)
    assert ours.provenance.fingerprint == theirs.provenance.fingerprint
    assert brought.left_out == {"later exposures of a user": 95}
    assert any("drawn with the weights" in text for text in ours.assumptions)
    assert sl.check(brought.logs).ok


def test_frames_and_ids_of_other_types_are_the_same_exposures() -> None:
    table = frame()
    numbered = table.assign(variation_id=table.variation_id.astype(int), timestamp=table.timestamp.dt.tz_localize("UTC"))
    by_name = {**GIVEN, "weights": {"0": 0.7, 1: 0.3}}
    answers = [
        sl.evaluate(brought.logs, brought.policies).to_dict()
        for brought in (importers.growthbook(FILE, **GIVEN), importers.growthbook(numbered, **by_name))
    ]
    assert answers[0] == answers[1]


def test_a_targeted_candidate_is_a_function_of_the_contexts() -> None:
    brought = importers.growthbook(FILE, **GIVEN)

    def phones(batch: Any) -> Any:
        return np.array([[0.0, 1.0] if device == "phone" else [1.0, 0.0] for device in batch["device"].to_pylist()])

    assert sl.compare(brought.logs, {"phones": phones}).rounds == 300


def test_what_would_not_be_one_draw_per_user_is_refused() -> None:
    table = frame()
    table = table[table.experiment_id == "checkout-button"].sort_values("timestamp").reset_index(drop=True)
    later = table.index[table.user_id.duplicated()][0]
    for column, value, says in [
        (
            "variation_id",
            {"0": "1", "1": "0"}[table.variation_id[later]],
            r"1 of 395 exposures have another variation than",
        ),
        (
            "bought",
            1 - table.bought[later],
            r"another 'bought' than that user's first; give what the user earned in all",
        ),
        ("variation_id", "2", "that weights= does not name; it names 0, 1. The first is that of user_id"),
        ("user_id", None, "no 'user_id'; a round needs it"),
    ]:
        wrong = table.copy()
        wrong.loc[later, column] = value
        with pytest.raises(LogsError, match=says):
            importers.growthbook(wrong, **GIVEN)


def test_wrong_options_are_refused() -> None:
    faults: list[tuple[dict[str, Any], str]] = [
        ({"weights": [0.7, 0.2]}, "which sum to 1"),
        ({"weights": ["a", "b"]}, "which sum to 1"),
        ({"experiment": None}, "name one, experiment=: banner, checkout-button"),
        ({"experiment": "x"}, "no exposures of 'x'"),
        ({"user": "anonymous_id"}, "no column 'anonymous_id'; they have user_id"),
        ({"reward": "revenue"}, "no column 'revenue'"),
    ]
    for wrong, says in faults:
        with pytest.raises((UsageError, LogsError), match=says):
            importers.growthbook(FILE, **{**GIVEN, **wrong})
    with pytest.raises(UsageError, match="'all_0', which the importer adds"):
        importers.growthbook(frame().assign(all_0=1), **GIVEN)
    with pytest.raises(UsageError, match="must hold moments"):
        importers.growthbook(frame().assign(timestamp="yesterday"), **GIVEN)
    with pytest.raises(LogsError, match="no exposures"):
        importers.growthbook(frame()[:0], **GIVEN)
