"""The campaign of coverage: what it allows is derived, and too many misses are told."""

import pytest
from campaigns.campaign import Told
from campaigns.coverage import CHANCE, DELTAS, NAMES, allowed, judge
from scipy import stats


def test_what_is_allowed_is_the_tail_of_the_binomial_distribution() -> None:
    most = allowed(1_000, 0.05, claims=400)
    assert stats.binom.sf(most, 1_000, 0.05) <= CHANCE / 400 < stats.binom.sf(most - 1, 1_000, 0.05)


@pytest.mark.parametrize("missed, wrong", [(60, 0), (150, 1)])
def test_misses_are_added_up_over_the_cases_of_a_law(missed: int, wrong: int) -> None:
    told = [Told("a law", {("value", 0.05): (missed // 2, 500)}, 500)] * 2
    assert len(list(judge(told))) == wrong


def test_there_are_laws_enough() -> None:
    assert len(NAMES) >= 60
    assert min(DELTAS) == 0.05
