"""Every question, of logs of every kind, in every engine: the same sums, the same answer, or a refusal and a way out.

What is asked of one log in one engine is joined into one plan and added up once, which is also how a report is made.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.engines import collect, count_units
from surelift.logs.sources.tables import SqlTable
from surelift.questions.question import Question
from surelift.statistics import Sums
from surelift.statistics.memories import DuplicateSample, IdMemory
from surelift.statistics.plan import Plan
from surelift.statistics.redraws import Resamples
from surelift.statistics.single_rounds import TailSums
from surelift.statistics.splits import RandomBlocks
from tests.engines.cases import KINDS
from tests.numpy_loops import in_numpy
from tests.same_answers import assert_same_answer
from tests.same_sums import assert_same_sums

DATABASES = ("duckdb", "postgres")
ENGINES = ("local", "spark", *DATABASES)
CASES = [(kind, name) for kind, logs in KINDS.items() for name in logs.questions]
# What a database cannot add up, by the kind of log and by the question. Whatever is not here, it can.
LOGS_REFUSED = {
    "vectors": "distributions (logging=)", "clustered": "clusters", "sequences": "clusters",
    "sampled": "sampled (keep_probability=)", "drawn": "wins (propensity=wins(...))", "labelled": "labels (score=)",
}  # fmt: skip
TESTS, MOMENTS = "the squares of rewards and propensities", "moments beyond the mean and the square"
DATABASES_REFUSE = {
    "evaluate, second-moment": MOMENTS, "evaluate, moments": MOMENTS, "evaluate, implicit-exploration": MOMENTS,
    "evaluate, empirical-bernstein": MOMENTS, "evaluate, bootstrap": "bootstrap resamples",
    "compare, bootstrap": "bootstrap resamples", "estimate, ls": MOMENTS, "estimate, clipped": MOMENTS,
    "estimate by, ls": MOMENTS,
    "check": TESTS, "check by": TESTS, "check by several": TESTS, "gate": TESTS, "gate, a guardrail": TESTS, "report": TESTS,
    "report in order": TESTS, "report in order, planned": TESTS, "gate, blocks": TESTS, "report, blocks": TESTS,
}  # fmt: skip
SPARK_REFUSES = {
    "report in order": "the order of the rounds", "report in order, planned": "the order of the rounds",
    "evaluate, efron-stein": "what efron-stein redraws",
}  # fmt: skip
# Random dealing into blocks differs from engine to engine, and so does where a row lies.
# What a database does without.
IN_PER_CENT = ("relative_lower", "relative_upper", "relative_note", "tipping_factor")
CHANCE = {
    "power": ("rounds_needed", "rounds_needed_range", "more_rounds", "more_rounds_range"),
    "report": ("forecasts", "row"), "report, blocks": ("forecasts", "row"), "check": ("row",), "gate": ("row",),
    "evaluate, bootstrap": ("lower", "upper"), "compare, bootstrap": ("lower", "upper", "certified"),
}  # fmt: skip


@dataclass(frozen=True)
class Plain:
    """A question with what NumPy alone says to it."""

    question: Question
    plan: Plan
    sums: Sums
    answer: Any


@cache
def table_of(kind: str) -> pa.Table:
    return KINDS[kind].table()


@cache
def plain(kind: str, name: str) -> Plain:
    with in_numpy():
        logs = KINDS[kind].logs(table_of(kind))
        question = KINDS[kind].questions[name].of(logs)
        plan = question.plan(partial(count_units, logs) if question.counts_rounds else None)
        sums = collect(logs, plan)
        return Plain(question, plan, sums, question.answer(sums))


def refusal(engine: str, kind: str, name: str) -> str | None:
    """What this engine cannot add up for a question."""
    if engine == "spark":
        # A part of a sampled log stands for nothing known, so its report shows no history, in no order.
        return None if kind == "sampled" else SPARK_REFUSES.get(name)
    return LOGS_REFUSED.get(kind) or DATABASES_REFUSE.get(name) if engine in DATABASES else None


@pytest.fixture(scope="session")
def placed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The logs of one kind in one engine."""
    folder: Path = tmp_path_factory.mktemp("logs")

    def source(engine: str, kind: str) -> Any:
        path = folder / f"{kind}.parquet"
        if not path.exists():
            pq.write_table(table_of(kind), path, row_group_size=1_000)
        if engine == "local":
            return str(path)
        if engine == "spark":
            return request.getfixturevalue("spark").read.parquet(str(path)).repartition(3)
        import ibis

        connection = ibis.duckdb.connect() if engine == "duckdb" else request.getfixturevalue("postgres")
        return connection.create_table(kind, table_of(kind), overwrite=True)

    return cache(lambda engine, kind: KINDS[kind].logs(source(engine, kind)))


@pytest.fixture(scope="session")
def engine_sums(placed: Any) -> Any:
    """The sums of all questions that an engine answers about one log, made at once."""

    def made(engine: str, kind: str) -> Sums:
        asked = [plain(kind, name).plan for name in KINDS[kind].questions if refusal(engine, kind, name) is None]
        policies = {name: policy for plan in asked for name, policy in plan.policies.items()}
        joined = Plan(policies, tuple(request for plan in asked for request in plan.requests))
        return collect(placed(engine, kind), joined)

    return cache(made)


@pytest.fixture
def rows_fetched(monkeypatch: pytest.MonkeyPatch) -> list[SqlTable]:
    """The tables whose rows were read into this process."""
    fetched, batches = [], SqlTable.batches

    def counted(self: SqlTable, needs: Any) -> Iterator[Any]:
        fetched.append(self)
        return batches(self, needs)

    monkeypatch.setattr(SqlTable, "batches", counted)
    return fetched


@pytest.mark.parametrize(
    "engine, kind, name",
    # A list column would have to be made in PostgreSQL first; DuckDB refuses the same.
    [
        # The same SQL as in DuckDB, more slowly.
        pytest.param(engine, *case, marks=[pytest.mark.slow] if engine == "postgres" else [])
        for engine in ENGINES
        for case in CASES
        if (engine, case[0]) != ("postgres", "vectors")
    ],
    ids=lambda part: part,
)
def test_every_question_in_every_engine(
    engine: str, kind: str, name: str, placed: Any, engine_sums: Any, rows_fetched: list[SqlTable],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    expected = plain(kind, name)
    logs, cannot = placed(engine, kind), refusal(engine, kind, name)
    if cannot is not None:
        with pytest.raises(sl.UsageError) as refused:
            collect(logs, expected.plan)
        assert cannot in str(refused.value)
        assert "logs.here()" in str(refused.value)
        assert refused.value.exit_code == 2
        assert rows_fetched == []
        return
    if engine == "local":
        sums = collect(logs, expected.plan)
        assert sums.fingerprint == expected.sums.fingerprint
    else:
        joined = engine_sums(engine, kind)
        sums = replace(joined, states={request: joined.states[request] for request in expected.plan.requests})
    assert not sums.invalid
    database = engine in ("duckdb", "postgres")
    assert_same_sums(comparable(sums, database=database), comparable(expected.sums, database=database))
    dealt = () if engine == "local" else CHANCE.get(name) or CHANCE.get(name.split()[0], ())
    dealt = (*dealt, *(IN_PER_CENT if database else ()))
    assert_same_answer(expected.question.answer(sums), expected.answer, ignored=dealt)
    assert rows_fetched == []


def comparable(sums: Sums, *, database: bool = False) -> Sums:
    """Without what depends on chance and on where a row lies: blocks are added up, resamples are counted."""
    states = {}
    for request, found in sums.states.items():
        if database and request.statistic.optional:
            continue
        if isinstance(request.statistic, IdMemory):
            continue  # a database has none, and texts have other hashes without compiled loops
        if isinstance(request.statistic, Resamples):
            for state in found.values():
                counts = state[1]
                assert abs(counts.mean() - sums.rows) < 0.1 * sums.rows
            found = {value: np.array(state.shape) for value, state in found.items()}
        splits = [place for place, split in enumerate(request.key) if not isinstance(split, RandomBlocks)]
        merged: dict[Any, Any] = {}
        for value, state in found.items():
            left = tuple(value[place] for place in splits)
            merged[left] = merged[left] + _unplaced(state) if left in merged else _unplaced(state)
        states[request] = dict(sorted(merged.items()))
    return replace(sums, states=states, fingerprint=replace(sums.fingerprint, rounds=0, total=0))


def _unplaced(state: Any) -> Any:
    if isinstance(state, TailSums):
        return replace(state, bins=dict(sorted(state.bins.items())), top=tuple((h[0], 0, *h[2:]) for h in state.top))
    if isinstance(state, DuplicateSample):
        # Which row came before differs at the edges of batches; a hash is of all that was read, by other questions too.
        keys = np.arange(len(state.hashes.keys), dtype=np.uint64)
        return replace(state, same_time=0, hashes=replace(state.hashes, keys=keys, counts=np.sort(state.hashes.counts)))
    return state


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "vectors"])
def test_rounds_are_the_same_rounds_in_every_engine(kind: str, placed: Any, engine_sums: Any) -> None:
    """All engines that see bits make one fingerprint of everything that is read of a log."""
    asked = [plain(kind, name).plan for name in KINDS[kind].questions if refusal("spark", kind, name) is None]
    policies = {name: policy for plan in asked for name, policy in plan.policies.items()}
    joined = Plan(policies, tuple(request for plan in asked for request in plan.requests))
    assert engine_sums("spark", kind).fingerprint == collect(placed("local", kind), joined).fingerprint
    if kind not in LOGS_REFUSED:
        assert not engine_sums("duckdb", kind).fingerprint.known


@pytest.mark.parametrize("kind, name", CASES, ids=lambda part: part)
def test_a_log_cut_anywhere_adds_up(kind: str, name: str) -> None:
    """Parts are added up apart, kept as JSON, read back and added: the sums of the whole, and its answer."""
    expected = plain(kind, name)
    logs, plan = KINDS[kind].logs(table_of(kind)), expected.plan
    total = Sums()
    for first, last in parts_of(kind, np.random.default_rng(len(name))):
        sums = collect(logs.part(first, last), plan)
        kept = Sums.from_state(json.loads(json.dumps(sums.to_state(), allow_nan=False)), plan)
        assert kept.to_state() == sums.to_state()
        total = total + kept
    assert total.fingerprint == expected.sums.fingerprint
    assert_same_sums(comparable(total), comparable(expected.sums))
    assert_same_answer(expected.question.answer(total), expected.answer)


def parts_of(kind: str, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Cut at random, an empty part and a part of one unit among them, between clusters."""
    table = table_of(kind)
    possible = np.arange(table.num_rows + 1)
    if kind in ("clustered", "sequences"):
        clusters = np.asarray(table["c"])
        possible = np.concatenate([[0], np.flatnonzero(np.diff(clusters)) + 1, [len(clusters)]])
    edges = np.sort(rng.choice(possible[2:-1], 4, replace=False))
    cuts = [0, int(possible[1]), *map(int, edges), int(edges[-1]), table.num_rows]
    return list(pairwise(cuts))


@pytest.mark.parametrize("kind, name", [case for case in CASES if refusal("duckdb", *case)], ids=lambda part: part)
def test_here_answers_what_a_database_cannot(kind: str, name: str, placed: Any) -> None:
    expected, here = plain(kind, name), fetched(placed, "duckdb", kind)
    assert_same_answer(expected.question.ask(here), expected.answer)


@pytest.mark.parametrize("kind, name", [case for case in CASES if refusal("spark", *case)], ids=lambda part: part)
def test_here_answers_what_spark_cannot(kind: str, name: str, placed: Any) -> None:
    """Its rows come in no order, and an answer that depends on it is another one of the same quality."""
    expected, here = plain(kind, name), fetched(placed, "spark", kind)
    answer = expected.question.ask(here)
    assert answer.to_dict().keys() == expected.answer.to_dict().keys()


@cache
def fetched(placed: Any, engine: str, kind: str) -> sl.Logs:
    with pytest.MonkeyPatch.context() as patched:
        said: list[str] = []
        patched.setattr("builtins.print", lambda text, **_: said.append(text))
        here: sl.Logs = placed(engine, kind).here()
    assert said == [f"surelift: fetching {table_of(kind).num_rows:,} rows into this process"]
    return here


def test_the_cases_say_everything_there_is() -> None:
    asked = {case.kind for logs in KINDS.values() for case in logs.questions.values()}
    known = {question.kind for question in _kinds(Question)}
    assert asked == known, known ^ asked


def _kinds(kind: type[Question]) -> Iterator[Any]:
    for subclass in kind.__subclasses__():
        if "kind" in subclass.__dict__ and subclass.__module__.startswith("surelift.questions"):
            yield subclass
        yield from _kinds(subclass)
