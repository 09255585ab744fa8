"""Sums add up: a log cut anywhere gives the sums of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift import grids
from surelift.engines import collect
from surelift.policies.resolve import name_policies
from surelift.quantities import Decline, Difference, Gain, Quantity, Shortfall, Value
from surelift.statistics import Sums, Term, on_grid, plan_of
from tests.same_sums import assert_same_sums
from tests.strategies import LoggedRounds, logged_rounds
from tests.term_sums import offset_of

QUANTITIES: tuple[Quantity, ...] = (Value(), Shortfall(), Gain(), Decline(), Difference("other"))


def sums_of(rounds: LoggedRounds) -> Sums:
    policies = name_policies({"new": rounds.probability, "other": rounds.other})
    terms = tuple(Term("new", one, on_grid(grids.anytime(), offset=offset_of("new", one, policies))) for one in QUANTITIES)
    return collect(rounds.logs(), plan_of(policies, terms))


@given(rounds=logged_rounds(), data=st.data())
def test_cut_anywhere(rounds: LoggedRounds, data: st.DataObject) -> None:
    first, rest = rounds.cut(data.draw(st.integers(0, len(rounds.reward))))
    parts = [sums_of(part) for part in (first, rest) if len(part.reward)]
    assert_same_sums(sum(parts, Sums()), sums_of(rounds), least=1e-300)


def test_a_million_rounds_in_a_thousand_batches() -> None:
    rng = np.random.default_rng(9)
    rounds, parts = 1_000_000, 1_000
    propensity = rng.uniform(0.01, 1.0, rounds)
    whole = LoggedRounds(
        (rng.random(rounds) < 0.05).astype(float), propensity, rng.random(rounds) * propensity, rng.random(rounds)
    )
    edges = np.sort(rng.integers(0, rounds, parts - 1))
    total = Sums()
    for start, stop in zip([0, *edges], [*edges, rounds], strict=True):
        if stop > start:
            columns = (whole.reward, whole.propensity, whole.probability, whole.other)
            total = total + sums_of(LoggedRounds(*(column[start:stop] for column in columns)))
    assert_same_sums(total, sums_of(whole), least=1e-300)


def test_sums_of_different_questions_do_not_add() -> None:
    logs = sl.Logs(reward=[1.0], propensity=[0.5])
    policies = name_policies({"new": [0.5]})
    plans = [plan_of(policies, (Term("new", Value(), on_grid(grids.single(s), offset=0.0)),)) for s in (0.5, 0.25)]
    with pytest.raises(ValueError, match="different questions, so they do not add up"):
        collect(logs, plans[0]) + collect(logs, plans[1])


def test_faults_add_up_and_the_first_row_stays_first() -> None:
    bad = [sl.Logs(reward=[1.0, 2.0, 3.0], propensity=[0.5] * 3), sl.Logs(reward=[5.0], propensity=[0.5])]
    total = collect(bad[0], plan_of({})) + collect(bad[1], plan_of({}))
    ((_, tally),) = total.invalid.items()
    assert (tally.count, tally.row, tally.value) == (3, 0, "5.0")
    assert total.units == 0


def test_a_smallest_weight_that_is_false_is_refused_not_clamped() -> None:
    """THEORY, section 8: w_min declared 0.95 where it was 0.62, then clamped, certified "better" every time."""
    logs = sl.Logs(reward=[1.0, 1.0], propensity=[0.5, 0.5])
    policies = name_policies({"new": [0.31, 0.5]})
    term = Term("new", Gain(), on_grid(grids.single(1.0), offset=0.05))
    with pytest.raises(sl.LogsError, match="outside what was declared possible"):
        collect(logs, plan_of(policies, (term,)))


def test_rounding_below_the_floor_is_clamped() -> None:
    logs = sl.Logs(reward=[1.0] * 3, propensity=[0.1, 0.3, 0.7])
    policies = name_policies({"none": sl.blend([0.0, 0.0, 0.0], 0.1)})
    term = Term("none", Gain(), on_grid(grids.anytime(), offset=offset_of("none", Gain(), policies)))
    sums = collect(logs, plan_of(policies, (term,)))
    assert sums.of(term).log_sums == pytest.approx(np.zeros(27), abs=1e-12)
