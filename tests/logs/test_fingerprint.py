import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import surelift as sl
from surelift.engines import collect
from surelift.logs.fingerprint import Fingerprint
from surelift.policies.resolve import name_policies
from surelift.statistics import plan_of
from tests.strategies import LoggedRounds, logged_rounds


def fingerprint(rounds: LoggedRounds) -> Fingerprint:
    return collect(rounds.logs(), plan_of(name_policies({"new": rounds.probability}))).fingerprint


@given(rounds=logged_rounds(), data=st.data())
def test_order_and_shards_do_not_matter(rounds: LoggedRounds, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(rounds.reward)))))
    shuffled = LoggedRounds(
        *(column[order] for column in (rounds.reward, rounds.propensity, rounds.probability, rounds.other))
    )
    first, rest = rounds.cut(data.draw(st.integers(0, len(rounds.reward))))
    assert fingerprint(shuffled) == fingerprint(rounds)
    parts = [fingerprint(part) for part in (first, rest) if len(part.reward)]
    assert sum(parts, Fingerprint()) == fingerprint(rounds)


@given(rounds=logged_rounds(), data=st.data())
def test_any_changed_number_matters(rounds: LoggedRounds, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(rounds.reward) - 1))
    for name in ("reward", "propensity", "probability"):
        columns = {key: getattr(rounds, key).copy() for key in ("reward", "propensity", "probability", "other")}
        columns[name][row] = 0.123456789 if columns[name][row] != 0.123456789 else 0.5
        assert fingerprint(LoggedRounds(**columns)) != fingerprint(rounds)


def test_zero_sign_and_precision_do_not_matter_but_swapped_columns_do() -> None:
    reward, p, new = np.array([0.0, 1.0]), np.array([0.5, 0.25]), np.array([0.25, 0.5])
    plain = fingerprint(LoggedRounds(reward, p, new, new))
    single = LoggedRounds(np.array([-0.0, 1.0]), p.astype(np.float32), new.astype(np.float32), new)
    assert fingerprint(single) == plain
    assert fingerprint(LoggedRounds(reward, new, p, new)) != plain


def test_vector_entries_are_hashed_with_their_positions() -> None:
    def of(vectors: list[list[float]]) -> Fingerprint:
        logs = sl.Logs({"r": [1.0], "p": [0.5], "a": [0], "v": vectors}, reward="r", propensity="p", action="a")
        return collect(logs, plan_of(name_policies("v"))).fingerprint

    assert of([[0.5, 0.2, 0.3]]) != of([[0.5, 0.3, 0.2]])
    assert of([[0.5, 0.5]]) != of([[0.5, 0.5, 0.0]])
    assert of([[0.5, 0.5]]) == of([[0.5, 0.5]])


def test_a_list_column_and_separate_columns_have_the_same_fingerprint() -> None:
    columns = {
        "r": [1.0, 0.0],
        "p": [0.5, 0.4],
        "a": [0, 1],
        "v": [[0.5, 0.5], [0.6, 0.4]],
        "x": [0.5, 0.6],
        "y": [0.5, 0.4],
    }
    logs = sl.Logs(columns, reward="r", propensity="p", action="a")
    prints = [collect(logs, plan_of(name_policies({"new": form}))).fingerprint for form in ("v", ["x", "y"])]
    assert prints[0] == prints[1]
