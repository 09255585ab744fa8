"""The profile of single smoothings."""

from typing import Any

import pytest

import surelift as sl
from tests.results.samples import every_result, logs


def test_the_mixture_is_below_the_best_single_smoothing() -> None:
    profile: Any = every_result()["Profile"]
    single = sl.compare(logs()[0], {"new": "good"}, method="logarithmic-smoothing", smoothing=profile.smoothings[7])
    assert profile.bounds[7] == pytest.approx(single.lower, abs=1e-9)
    assert profile.best[1] >= profile.lower
