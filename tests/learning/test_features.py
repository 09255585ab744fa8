"""A context that was text when a policy was learned is text wherever the policy is asked."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surelift as sl

pytest.importorskip("torch")


def log(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 2, 600)
    place = np.array(["7", "07", "8"])[rng.integers(0, 3, 600)]
    reward = (rng.random(600) < np.where((place == "07") == (action == 1), 0.9, 0.1)).astype(float)
    return {"r": reward, "p": np.full(600, 0.5), "a": action, "zip": place}


DECLARED: dict[str, Any] = {"reward": "r", "propensity": "p", "action": "a", "actions": [0, 1], "contexts": ["zip"]}


def test_digits_stay_text_in_a_csv(tmp_path: Path) -> None:
    policy = sl.PolicyLearner("gaussian", epochs=3).fit(sl.Logs(log(1), **DECLARED)).policy_
    pd.DataFrame(log(2)).to_csv(tmp_path / "fresh.csv", index=False)
    from_csv = sl.compare(sl.Logs(tmp_path / "fresh.csv", **DECLARED), policy)
    from_frame = sl.compare(sl.Logs(pd.DataFrame(log(2)), **DECLARED), policy)
    assert from_csv.lower == pytest.approx(from_frame.lower, abs=1e-12)
    assert from_csv.certified


@pytest.mark.parametrize("numbers", [[7, 8], [7.0, 8.0], [True, False]])
def test_numbers_in_the_place_of_text_are_refused(numbers: list[Any]) -> None:
    policy = sl.PolicyLearner("gaussian", epochs=1).fit(sl.Logs(log(1), **DECLARED)).policy_
    with pytest.raises(sl.LogsError, match=r"context 'zip' was text when the policy was learned, but holds .* here"):
        policy.sample({"zip": numbers})
    assert len(policy.sample({"zip": [None, "new"]})) == 2
