"""A column that tells of the action is found and refused by name; one that was known before it never is."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surelift as sl
from surelift.statistics.restricted import Taken

ACTIONS = 6
LAWS = [np.array([[0.5, 0.3, 0.2]]), np.array([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]]), np.array([[0.98, 0.01, 0.01]])]
Table = dict[str, Any]


def logs_of(table: Table, *, vectors: bool, **declared: Any) -> sl.Logs:
    known = {"logging": "l"} if vectors else {"action_count": ACTIONS}
    listed = {name: list(column) if np.ndim(column) == 2 else column for name, column in table.items()}
    return sl.Logs(listed, reward="r", propensity="p", action="a", **known, **declared)


def drawn(seed: int, rounds: int = 6_000, *, catalogs: bool = False) -> Table:
    """Four contexts, three countries; with catalogs, each country has two actions that no other has."""
    rng = np.random.default_rng(seed)
    country, context = rng.integers(0, 3, rounds), rng.integers(0, 4, rounds)
    vectors = np.random.default_rng(1).dirichlet(np.full(ACTIONS, 2.0), 4)[context]
    if catalogs:
        vectors = np.where(np.arange(ACTIONS) // 2 == country[:, None], vectors, 0.0)
        vectors /= vectors.sum(axis=1, keepdims=True)
    action = (rng.random(rounds)[:, None] > np.cumsum(vectors, axis=1)[:, :-1]).sum(axis=1)
    click = rng.random(rounds) < 0.1 + 0.1 * action
    return {
        "r": click.astype(float), "p": vectors[np.arange(rounds), action], "a": action, "l": vectors,
        "new": np.roll(vectors, 1, axis=1)[np.arange(rounds), action], "country": np.array(["fr", "ch", "us"])[country],
        "copy": np.array([f"item {one}" for one in range(ACTIONS)])[action], "category": action // 2,
        "finer": 10 * action + rng.integers(0, 3, rounds), "price": np.array([5, 5, 9, 9, 9, 20])[action],
        "clicked": np.where(click, action.astype(str), ""), "weekday": rng.integers(0, 7, rounds),
    }  # fmt: skip


def told(health: sl.results.Health) -> list[Any]:
    return [found for found in health.evidence if found.family.kind == "telling"]


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_mean_of_the_e_value_is_at_most_one(law: Any, vectors: bool) -> None:
    """Over all logs of four rounds, whatever production's distribution in each."""
    mean, total = 0.0, 0.0
    for taken in itertools.product(range(3), repeat=4):
        rows = law[np.arange(4) % len(law)]
        q = rows[np.arange(4), list(taken)]
        if q.min() > 0.0:
            table = {"r": np.zeros(4), "p": q, "a": np.array(taken), "l": rows, "s": ["x"] * 4}
            (found,) = (
                told(sl.check(logs_of(table, vectors=vectors), by="s", level=1e-200))
                if vectors
                else told(sl.check(sl.Logs({**table, "l": q}, reward="r", propensity="p", action="a"), by="s", level=1e-200))
            )
            total, mean = total + math.prod(q), mean + math.prod(q) * found.e_value
    assert total == pytest.approx(1.0)
    assert mean <= 1.0


def test_an_e_value_by_hand() -> None:
    """Ten rounds, always action 1 of two, each with a chance of 1/2: 2^9, since the first round says what to bet on."""
    taken = Taken(10, 1, 1, 10 * math.log(2), math.log(2), 20.0, 2.0, (0.0, 10.0), None, None)
    assert taken._one() == pytest.approx(9 * math.log(2))
    known = Taken(10, 1, 1, 10 * math.log(2), math.log(2), 20.0, 2.0, (0.0, 10.0), (5.0, 5.0), (0.0, -8.0, -6.0))
    assert known._of_set() == pytest.approx(10 * math.log(2) - math.log(8))  # 2 places, 2 sizes, 2 sets
    assert known._of_favourite() == (-math.inf, 6.0)
    both = known + known
    assert (both.rounds, both.seen, both.action) == (20, 1, 1)


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("column", ["copy", "category", "finer", "price", "clicked"])
def test_a_column_that_tells_of_the_action_is_refused_by_name(column: str, vectors: bool) -> None:
    logs = logs_of(drawn(0), vectors=vectors)
    health = sl.check(logs, {"new": "new"}, by=["country", column])
    (finding,) = [found for found in health.findings if found.severity == "refuse"]
    assert finding.statement.startswith(f"by '{column}': it tells of the action: in segment ")
    assert "known before the action" in finding.remedy
    assert not [found for found in health.evidence if found.family == ("column", column)]
    for ask in (sl.evaluate, sl.compare, sl.select, sl.power, sl.profile):
        if column != "clicked":
            with pytest.raises(sl.LogsError, match=f"by '{column}': it tells of the action"):
                ask(logs, {"new": "new"}, by=column)


def test_how_likely_the_action_was_is_no_segment() -> None:
    """A copy of the propensity tells whether production explored."""
    table, rng = drawn(0), np.random.default_rng(0)
    best, explores = rng.integers(0, ACTIONS, 6_000), rng.random(6_000) < 0.3
    table["l"] = np.where(np.arange(ACTIONS) == best[:, None], 0.75, 0.05)
    table["a"] = np.where(explores, rng.integers(0, ACTIONS, 6_000), best)
    table["p"] = table["l"][np.arange(6_000), table["a"]]
    table["bucket"] = np.where(table["p"] > 0.5, "greedy", "explored")
    with pytest.raises(sl.LogsError, match="by 'bucket': it tells of the action"):
        sl.compare(logs_of(table, vectors=True), {"new": "p"}, by="bucket")


@pytest.mark.parametrize("vectors", [True, False])
def test_catalogs_of_countries_are_segments(vectors: bool) -> None:
    """Every action tells its country, and every country its actions: the propensities account for it."""
    logs = logs_of(drawn(0, 60_000, catalogs=True), vectors=vectors)
    health = sl.check(logs, {"new": "p"}, by=["country", "weekday"])
    assert health.ok
    assert max(found.e_value for found in told(health)) < 1.0
    assert sl.compare(logs, {"new": "p"}, by="country")


def test_an_action_that_rules_drop_in_one_segment_is_said_of_the_propensities() -> None:
    table = drawn(0)
    ruled = (table["country"] == "ch") & (table["a"] == 2)
    table["a"] = np.where(ruled, 0, table["a"])
    table["p"] = table["l"][np.arange(6_000), table["a"]]
    health = sl.check(logs_of(table, vectors=True), by="country")
    findings = [found for found in health.findings if found.severity == "refuse"]
    assert {found.subject for found in findings} == {"propensity"}
    assert any("country ch" in (found.segment or "") for found in findings)


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [True, False])
def test_right_columns_are_refused_as_rarely_as_promised(vectors: bool) -> None:
    runs, level, alarms = 150, 0.05, 0
    for seed in range(runs):
        table = drawn(seed, 300, catalogs=seed % 2 == 0)
        table["one"] = np.arange(300) // 3
        (found, other) = told(sl.check(logs_of(table, vectors=vectors), by=["country", "one"]))
        alarms += found.e_value >= 1 / level or other.e_value >= 1 / level
    assert alarms <= stats.binom.isf(1e-6, runs, 2 * level)


def test_actions_beyond_the_places_and_parts_that_add_up() -> None:
    """With a thousand actions their places are shared; a copy is found all the same, also from parts of the log."""
    rng = np.random.default_rng(0)
    action = rng.integers(0, 3, 900) * 300
    table = {"r": np.zeros(900), "p": np.full(900, 1 / 3), "a": action, "s": action, "n": np.full(900, 1 / 3)}
    declared: dict[str, Any] = {"reward": "r", "propensity": "p", "action": "a"}
    question = sl.Question.of("compare", declared, {"new": "n"}, by="s")
    parts = [{name: column[part] for name, column in table.items()} for part in (slice(0, 400), slice(400, 900))]
    total = sl.partial_sums([parts[0]], question) + sl.partial_sums([parts[1]], question)
    with pytest.raises(sl.LogsError, match="by 's': it tells of the action"):
        question.answer(total)
