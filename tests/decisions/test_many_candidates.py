"""Thousands of candidates: the cost is linear in their number, memory is bounded, and answers stay readable."""

import time
from collections.abc import Callable
from cProfile import Profile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.bounds import mixture
from surelift.logs.batch import LEAST_ROWS, NUMBERS_PER_BATCH, VECTOR_NUMBERS_PER_BATCH, Needs, rows_per_batch
from surelift.logs.sources.files import Files
from surelift.logs.sources.frames import Arrays
from surelift.logs.sources.recognise import open_source
from surelift.policies.resolve import name_policies
from surelift.quantities import Gain
from surelift.questions.report import MOST_FOLLOWED
from surelift.statistics import Term, plan_of
from surelift.statistics.looped import program_of
from surelift.statistics.terms import LogSums
from surelift.views.figures import MOST_SHOWN

ROUNDS = 40
DECLARED: dict[str, Any] = {"reward": "r", "propensity": "q"}
Ask = Callable[[sl.Logs, list[str]], Any]


def logs_of(candidates: int, rounds: int = ROUNDS) -> tuple[sl.Logs, list[str]]:
    """Candidates repeat after ten: what each of them costs is then the same, however many there are."""
    rng = np.random.default_rng(1)
    propensity, reward = rng.uniform(0.3, 0.7, rounds), rng.integers(0, 2, rounds).astype(float)
    forms = [np.clip(propensity + rng.uniform(-0.1, 0.1, rounds), 0, 1).astype(np.float32) for _ in range(10)]
    names = [f"p{place:05d}" for place in range(candidates)]
    columns = {name: forms[place % 10] for place, name in enumerate(names)}
    return sl.Logs(pa.table({"r": reward, "q": propensity, **columns}), **DECLARED), names


def certified_and_verified(logs: sl.Logs, names: list[str]) -> None:
    assert sl.verify(sl.Certificate.of(sl.select(logs, names)), logs).same


def monitored(logs: sl.Logs, names: list[str]) -> None:
    monitor = sl.Monitor(names, **DECLARED)
    for sequence, part in enumerate((logs.part(0, logs.count() // 2), logs.part(logs.count() // 2, logs.count())), 1):
        monitor.update(part.source, sequence=sequence)
    repr(monitor), monitor.state(), monitor.history().text()


ASKED: dict[str, Ask] = {
    "select": lambda logs, names: sl.select(logs, names),
    "select over another": lambda logs, names: sl.select(logs, names[1:], over=names[0]),
    "discoveries": lambda logs, names: sl.select(logs, names, many="e-bh").to_csv(),
    "evaluate": lambda logs, names: sl.evaluate(logs, names),
    "blends": lambda logs, names: sl.select(logs, {name: sl.blend(name, 0.5) for name in names}),
    "estimate": lambda logs, names: sl.estimate(logs, names),
    "check": lambda logs, names: sl.check(logs, names).text(),
    "report": lambda logs, names: sl.report(logs, names).text(),
    "certificate": certified_and_verified,
    "monitor": monitored,
}


def calls_of(ask: Ask, candidates: int) -> int:
    """How many functions are called to answer, Python's own included."""
    logs, names = logs_of(candidates)
    with Profile() as profile:
        ask(logs, names)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
def test_twice_the_candidates_cost_twice_as_much(asked: str) -> None:
    """Calls are counted, not seconds: one more call for each pair of candidates would show."""
    ask = ASKED[asked]
    ask(*logs_of(MOST_FOLLOWED + 10))  # what is made once is made
    few, some, many = (calls_of(ask, candidates) for candidates in (120, 160, 240))
    assert many - some <= 2.03 * (some - few)


def test_looking_up_columns_and_terms_takes_no_time() -> None:
    """Searching a list for each of twenty thousand takes a minute, and a dict hundredths of a second."""
    logs, names = logs_of(20_000, rounds=1)
    policies = name_policies(names)
    needed = mixture().plan(quantity=Gain(), offset=1.0, count=lambda: 1)
    plan = plan_of(policies, [Term(name, Gain(), needed) for name in names])
    start = time.process_time()
    assert len(plan.needs(logs).columns()) == 20_000
    terms = [request.statistic for request in plan.requests if isinstance(request.statistic, LogSums)]
    assert len(terms) == 20_000
    program = program_of(tuple(terms), True)
    policies_of = [{piece.policy for piece in program.plan.terms[place].pieces} for _, (place,) in program.places]
    assert policies_of == [{term.candidate} for term in terms]
    assert time.process_time() - start < 5.0


def test_batches_of_many_columns_are_short(tmp_path: Path) -> None:
    columns, rows = 3_000, NUMBERS_PER_BATCH // 3_000 + 100
    numbers = np.zeros(rows, dtype=np.float32)
    table = {f"p{place}": numbers for place in range(columns)}
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    needs = Needs(read=tuple(table))
    for source in (Arrays(table), open_source(pa.table(table)), Files([tmp_path / "log.parquet"])):
        sizes = [batch.table.num_rows for batch in source.batches(needs)]
        assert sum(sizes) == rows
        assert max(sizes) * columns <= NUMBERS_PER_BATCH
        few = next(iter(source.batches(Needs(read=("p0", "p1")))))
        assert few.table.num_rows == rows
    # Of very many columns not too short, or twice the candidates would need twice the batches; of long vectors they are.
    assert rows_per_batch(1_000_000) == LEAST_ROWS
    assert rows_per_batch(3, widest=1_000_000) == VECTOR_NUMBERS_PER_BATCH // 1_000_000


def test_of_many_candidates_the_best_are_shown() -> None:
    logs, names = logs_of(500, rounds=400)
    selection = sl.select(logs, names)
    text = str(selection)
    assert len(text.splitlines()) < MOST_SHOWN + 10
    assert f"The best {MOST_SHOWN} of 500" in text
    best = max(selection.improvements.values(), key=lambda one: one.lower)
    assert text.splitlines()[2].split()[0] == repr(best.policy)
    assert len(selection.figure().rows) == len(selection.to_dict()["improvements"]) == 500
    assert f"The best {MOST_SHOWN} of 500" in selection._repr_html_()
    assert len(str(sl.check(logs, names)).splitlines()) < 3 * MOST_SHOWN
    assert "and 440 more" in str(sl.check(logs, names))


def test_of_many_costs_the_lowest_are_shown() -> None:
    logs, names = logs_of(100, rounds=400)
    values = sl.evaluate(sl.Logs(logs.source, cost="r", propensity="q"), names)
    first = str(values).splitlines()[3].split()[0]
    assert first == repr(min(values.values(), key=lambda value: value.upper or 0.0).policy)


def test_a_report_follows_up_to_a_hundred_candidates() -> None:
    logs, names = logs_of(MOST_FOLLOWED + 1, rounds=100)
    assert sl.report(logs, names[:2]).history is not None
    many = sl.report(logs, names)
    assert many.history is None
    assert many.forecasts == {}
    assert many.selection is not None
    assert len(many.selection.improvements) == MOST_FOLLOWED + 1


def test_a_monitor_of_many_candidates_keeps_a_small_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surelift.decisions.monitor.MOST_REMEMBERED", 40)
    logs, names = logs_of(10, rounds=10)
    monitor = sl.Monitor(names, **DECLARED)
    for sequence in range(1, 10):
        monitor.update(logs.source, sequence=sequence)
    assert len(monitor.history_points) * len(names) <= 40
