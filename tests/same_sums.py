"""Sums that were made in different ways, held against each other."""

from typing import Any

import numpy as np
import pytest

from surelift.errors import is_number
from surelift.statistics import Sums
from surelift.statistics.bets import Bets
from surelift.statistics.terms import MomentSums
from surelift.statistics.weight_table import WeightTable


def assert_same_sums(left: Sums, right: Sums, rel: float = 1e-12, least: float = 1e-14) -> None:
    """Every state of every statistic, for every value of its key."""
    assert left.rows == right.rows
    if left.fingerprint.known and right.fingerprint.known:
        assert left.fingerprint == right.fingerprint
    assert left.states.keys() == right.states.keys()
    for request, states in right.states.items():
        assert left.states[request].keys() == states.keys(), request
        # Moments of paired quantities, bets both ways and shares of a bin cancel: they agree relative to what was added.
        room = 1e-9 if isinstance(request.statistic, MomentSums | Bets | WeightTable) else least
        for value, state in states.items():
            ours, theirs = (_flat(request.statistic.encode(each)) for each in (left.states[request][value], state))
            where = (request.statistic, request.key, value)
            assert [each for each in ours if not is_number(each)] == [each for each in theirs if not is_number(each)], where
            numbers = [[each for each in side if is_number(each)] for side in (ours, theirs)]
            assert numbers[0] == pytest.approx(numbers[1], rel=rel, abs=room), where


def _flat(content: Any) -> list[Any]:
    if isinstance(content, list | tuple):
        return [number for entry in content for number in _flat(entry)]
    if isinstance(content, np.ndarray):
        return _flat(content.tolist())
    return [-1.0 if content is None else content]
