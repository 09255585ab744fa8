"""The same log in every container and every engine, with every question: one answer, or one refusal.

A case draws a log of one kind and a question, asks it of an Arrow table in NumPy alone, and then in some other ways.
"""

import atexit
import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.engines.cases import KINDS, LogKind
from tests.engines.test_every_question import CHANCE, IN_PER_CENT, refusal
from tests.same_answers import assert_same_content

import surelift as sl
from campaigns.campaign import Case
from surelift import capabilities
from surelift.engines import collect, count_units
from surelift.kernels.library import INSTRUCTION_SETS, NUMPY, SETTING, compiled
from surelift.questions.question import Question
from surelift.statistics import Sums

SLICE, FULL = 80, 1_000
WAYS_PER_CASE = 6
SPARK_EVERY = 300
Frame = Callable[["Drawn"], Any]


@dataclass(frozen=True)
class Outcome:
    """What was answered, or how it was refused."""

    answer: Any = None
    fingerprint: Any = None
    refusal: str | None = None


@dataclass(frozen=True)
class Drawn:
    case: Case
    kind: str
    name: str
    table: pa.Table
    declared: Mapping[str, Any]
    broken: str
    """What was done to the log, if anything."""

    @property
    def logs_kind(self) -> LogKind:
        return KINDS[self.kind]

    @property
    def folder(self) -> Path:
        return self.case.folder

    @property
    def is_clustered(self) -> bool:
        return "cluster" in self.declared

    def logs(self, source: Any) -> sl.Logs:
        return sl.Logs(source, **self.declared)

    @cached_property
    def question(self) -> Question:
        """As it is asked of the table itself."""
        return self.logs_kind.questions[self.name].of(self.logs(self.table))

    def cuts(self, parts: int) -> list[int]:
        """Places to cut the log at, between clusters."""
        places = np.arange(1, self.table.num_rows)
        if self.is_clustered:
            places = np.flatnonzero(np.diff(np.asarray(self.table[self.declared["cluster"]]))) + 1
        chosen = self.case.rng.choice(places, min(parts - 1, len(places)), replace=False)
        return [0, *sorted(chosen.tolist()), self.table.num_rows]

    def pieces(self, parts: int) -> list[pa.Table]:
        return [self.table.slice(first, last - first) for first, last in pairwise(self.cuts(parts))]


def drawn(case: Case) -> Drawn:
    rng = case.rng
    kind = str(rng.choice(list(KINDS)))
    name = str(rng.choice(list(KINDS[kind].questions)))
    rounds = int(np.exp(rng.uniform(np.log(20), np.log(3_000))))
    table = KINDS[kind].table(int(rng.integers(1 << 30)), rounds)
    declared = dict(KINDS[kind].declared)
    if kind == "sampled":
        declared["rounds_before_sampling"] = 4 * rounds
    broken = ""
    if rng.random() < 0.25 and table.num_rows:
        table, broken = damaged(rng, table)
    return Drawn(case, kind, name, table, declared, broken)


def damaged(rng: np.random.Generator, table: pa.Table) -> tuple[pa.Table, str]:
    """A few numbers that cannot be, in a way that every container can hold."""
    columns = [name for name in ("r", "q", "a", "b", "k") if name in table.column_names]
    name, bad = str(rng.choice(columns)), float(rng.choice([-0.5, 1.7, 1e9, -1e9]))
    values = np.array(table[name].to_pylist(), dtype=np.float64)
    rows = rng.choice(len(values), min(len(values), int(rng.integers(1, 4))), replace=False)
    values[rows] = bad
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values)), f"{name} = {bad} in rows {sorted(rows.tolist())}"


@contextmanager
def loops(setting: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(SETTING, setting)
        compiled.cache_clear()
        yield
    compiled.cache_clear()


@cache
def instruction_sets() -> tuple[str, ...]:
    """Those this machine runs."""
    library = compiled()
    return () if library is None else INSTRUCTION_SETS[: INSTRUCTION_SETS.index(library.instruction_set) + 1]


def asked(question: Question, logs: sl.Logs) -> Outcome:
    try:
        resolved = question.resolved(logs)
        counts = partial(count_units, logs) if resolved.counts_rounds else None
        sums = collect(logs, resolved.plan(counts))
        return Outcome(resolved.answer(sums), sums.fingerprint)
    except (sl.UsageError, sl.LogsError) as error:
        return Outcome(refusal=f"{type(error).__name__}: {error}")


# Containers: the table as something else that Logs reads.


def as_numpy(world: Drawn) -> Any:
    return {name: world.table[name].to_numpy(zero_copy_only=False) for name in world.table.column_names}


def as_lists(world: Drawn) -> Any:
    return world.table.to_pydict()


def as_pandas(world: Drawn) -> Any:
    return world.table.to_pandas()


def as_polars(world: Drawn) -> Any:
    import polars

    return polars.from_arrow(world.table)


def as_polars_query(world: Drawn) -> Any:
    import polars

    return polars.LazyFrame(polars.from_arrow(world.table))


def as_chunks(world: Drawn) -> Any:
    return pa.concat_tables(world.pieces(7))


def as_relation(world: Drawn) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(world.table)


def as_csv(world: Drawn) -> Any:
    path = world.folder / "log.csv"
    pyarrow.csv.write_csv(world.table, path)
    return str(path)


def as_gzipped_csv(world: Drawn) -> Any:
    path = world.folder / "log.csv.gz"
    with pa.CompressedOutputStream(str(path), "gzip") as stream:
        pyarrow.csv.write_csv(world.table, stream)
    return str(path)


def as_parquet(world: Drawn) -> Any:
    path = world.folder / "log.parquet"
    pq.write_table(world.table, path, row_group_size=int(world.case.rng.integers(1, world.table.num_rows + 1)))
    return str(path)


def as_parquet_files(world: Drawn) -> Any:
    folder = world.folder / "parts"
    folder.mkdir()
    for number, piece in enumerate(world.pieces(4)):
        pq.write_table(piece, folder / f"{number}.parquet")
    return str(folder / "*.parquet")


def as_csv_files(world: Drawn) -> Any:
    paths = [world.folder / f"{number}.csv" for number in range(3)]
    pieces = world.pieces(3)
    for path, piece in zip(paths, pieces, strict=False):
        pyarrow.csv.write_csv(piece, path)
    return [str(path) for path, _ in zip(paths, pieces, strict=False)]


def as_ipc(world: Drawn) -> Any:
    path = world.folder / "log.arrow"
    pyarrow.feather.write_feather(world.table, path, chunksize=int(world.case.rng.integers(1, 1_000)))
    return str(path)


CONTAINERS: Mapping[str, Frame] = {
    "dict of arrays": as_numpy, "dict of lists": as_lists, "pandas": as_pandas, "polars": as_polars,
    "polars query": as_polars_query, "chunks": as_chunks, "duckdb relation": as_relation, "csv": as_csv,
    "gzipped csv": as_gzipped_csv, "csv files": as_csv_files, "parquet": as_parquet, "parquet files": as_parquet_files,
    "ipc": as_ipc,
}  # fmt: skip


def in_container(name: str) -> Callable[[Drawn], Outcome]:
    return lambda world: asked(world.question, world.logs(CONTAINERS[name](world)))


# Engines: the same sums made elsewhere, or in parts.


def shuffled(world: Drawn) -> Outcome:
    order = world.case.rng.permutation(world.table.num_rows)
    return asked(world.question, world.logs(world.table.take(pa.array(order))))


def with_loops(setting: str) -> Callable[[Drawn], Outcome]:
    def way(world: Drawn) -> Outcome:
        with loops(setting):
            return asked(world.question, world.logs(as_parquet(world)))

    return way


def in_parts(world: Drawn) -> Outcome:
    """Cut at random, kept as JSON, and added up in another order."""
    question = Question.from_dict(json.loads(json.dumps(world.question.to_dict())))
    try:
        pieces = world.pieces(4)
        states = [json.dumps(sl.partial_sums([piece], question).to_state(), allow_nan=False) for piece in pieces]
        total = sum((Sums.from_state(json.loads(state), question.plan()) for state in states[::-1]), start=Sums())
        return Outcome(question.answer(total), total.fingerprint)
    except (sl.UsageError, sl.LogsError) as error:
        return Outcome(refusal=f"{type(error).__name__}: {error}")


def in_a_monitor(world: Drawn) -> Outcome:
    """Batch by batch, saved and read again in between."""
    options = {name: value for name, value in world.logs_kind.questions[world.name].options.items() if name != "many"}
    form: Any = "evaluate" if world.question.kind == "evaluate" else "compare"
    declared = {name: value for name, value in world.declared.items() if name != "rounds_before_sampling"}
    path = world.folder / "state.json"
    try:
        watch = sl.Monitor(world.logs_kind.questions[world.name].policies, question=form, **options, **declared)
        for piece in world.pieces(4):
            watch.update(piece)
            watch.save(path)
            watch = sl.Monitor.load(path)
        return Outcome(watch.answer())
    except (sl.UsageError, sl.LogsError) as error:
        return Outcome(refusal=f"{type(error).__name__}: {error}")


def in_duckdb(world: Drawn) -> Outcome:
    import ibis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return asked(world.question, world.logs(ibis.duckdb.connect().create_table("log", world.table)))


def in_spark(world: Drawn) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return asked(world.question, world.logs(spark()[0].read.parquet(as_parquet(world)).repartition(3)))


@cache
def spark() -> tuple[Any, Any]:
    """A session for the life of the worker, and what would end it if it were forgotten."""
    from tests.engines.databases import spark_session

    manager = spark_session()
    atexit.register(manager.__exit__, None, None, None)
    return manager.__enter__(), manager


WAYS: Mapping[str, Callable[[Drawn], Outcome]] = {
    **{name: in_container(name) for name in CONTAINERS},
    **{f"loops {name}": with_loops(name) for name in (NUMPY, *INSTRUCTION_SETS)},
    "shuffled": shuffled, "parts": in_parts, "monitor": in_a_monitor, "duckdb": in_duckdb, "spark": in_spark,
}  # fmt: skip
BATCHED = ("duckdb", "spark", "parts", "monitor", "shuffled")
# Where rows are numbered from the start of a part, or not at all, and dealt into blocks by another chance.
ELSEWHERE = ("duckdb", "spark", "parts", "shuffled")
WATCHED = ("evaluate", "compare", "select")


def ways_for(world: Drawn) -> list[str]:
    """What can be asked of this log, of which some are tried."""
    possible = [*CONTAINERS, *(f"loops {name}" for name in (NUMPY, *instruction_sets())), "duckdb"]
    if world.kind == "vectors":
        possible = [name for name in possible if "csv" not in name]
    question = world.question
    counted = question.counts_rounds
    ordered = not counted and question.plan().needs_order is not None
    # Where a row lies is told of a fault, and so is the first of the heaviest.
    places = "report" in world.name or (question.tells_faults and world.broken)
    if world.kind != "timed" and not world.is_clustered and not places and "efron-stein" not in world.name:
        possible.append("shuffled")
    if not counted and not ordered and not capabilities.refusals(question.features | {"parts"}):
        possible.append("parts")
    watched = question.kind in WATCHED and question.by is None and question.promise == "any number of looks"
    usual = getattr(question, "sides", "both") == "both" and getattr(question, "many", "simultaneous") == "simultaneous"
    # A batch of a sampled log has a number of rounds of its own.
    if watched and usual and not counted and world.kind != "sampled":
        possible.append("monitor")
    chosen: list[str] = world.case.rng.choice(possible, min(WAYS_PER_CASE, len(possible)), replace=False).tolist()
    turn = world.case.number % SPARK_EVERY == SPARK_EVERY - 1
    return [*chosen, "spark"] if turn and shutil.which("java") else chosen


def case(case: Case) -> str | None:
    world = drawn(case)
    try:
        with loops(NUMPY):
            expected = asked(world.question, world.logs(world.table))
    except (sl.UsageError, sl.LogsError) as error:
        return f"{world.kind}, {world.name}: the question itself was refused: {error}"
    for way in ways_for(world):
        found = WAYS[way](replace(world))
        if wrong := difference(world, way, found, expected):
            damage = f" ({world.broken})" if world.broken else ""
            return f"{world.kind}, {world.name}, {world.table.num_rows} rows{damage}, {way}: {wrong}"
    return None


def difference(world: Drawn, way: str, found: Outcome, expected: Outcome) -> str:
    """What differs from what NumPy says of the table, if anything."""
    cannot = refusal(way, world.kind, world.name) if way in ("duckdb", "spark") else None
    if cannot is not None:
        said = found.refusal or "an answer"
        return "" if said.startswith("UsageError") and cannot in said else f"{said}, but it cannot add up {cannot}"
    counts = way not in BATCHED
    if expected.refusal is not None or found.refusal is not None:
        told = world.broken and world.question.tells_faults and way == "parts"
        if told and "cannot support a guarantee" in str(found.refusal):
            return ""  # what a check would tell, partial sums refuse
        ours, theirs = (without_places(str(each.refusal), counts=counts) for each in (found, expected))
        return "" if ours == theirs else f"{found.refusal}\n, but {expected.refusal}"
    known = way not in ("duckdb", "spark", "monitor") and not world.broken
    if known and found.fingerprint != expected.fingerprint:
        return f"the fingerprint is {found.fingerprint}, not {expected.fingerprint}"
    ignored = (CHANCE.get(world.name) or CHANCE.get(world.name.split()[0], ())) if way in ELSEWHERE else ()
    unknown = IN_PER_CENT if way == "duckdb" else ()
    try:
        assert_same_content("answer", *map(content, (found, expected)), ignored=frozenset((*ignored, *unknown)), rel=1e-9)
    except AssertionError as error:
        return f"another answer: {error}"
    return ""


def content(outcome: Outcome) -> Any:
    return json.loads(without_places(json.dumps(outcome.answer.to_dict())))


def without_places(said: str, *, counts: bool = True) -> str:
    """A refusal without files and their rows, which differ; and without what a batch or a database does not know."""
    said = re.sub(r" \([^()]*, row [\d,]+\)", "", said)
    if counts:
        return said
    said = re.sub(r"[\d,]+ of [\d,]+ values? (lies?|lie) ", "values lie ", said)
    return re.sub(r"; (the first|one of them) is [^;]*?(, counting from 0)?\.\n", ".\n", said)
