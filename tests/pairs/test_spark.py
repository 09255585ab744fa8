"""Spark as one more door: the answer of the verb, or a refusal that the table tells; and sums that do not mix.

A question of Spark takes the better part of a second: some are asked in every run, most in the slow one.
"""

import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.engines import collect
from tests.pairs.asked import ASKED
from tests.pairs.asked import BY_NAME as QUESTIONS
from tests.pairs.doors import Cell, by_verb, disagreement, in_engine, outcome, told_by_the_table
from tests.pairs.test_adding_up import DIFFERING, Side, refused
from tests.pairs.traits import BY_NAME, DEFAULTS, PAIRS, TRAITS, table

DRAWN = random.Random(20240523)
# Every trait by a question of its own, and pairs of traits by others.
SINGLES = [
    Cell(BY_NAME[trait.name], asked)
    for trait, asked in zip(
        [trait for trait in TRAITS if trait is not DEFAULTS[trait.slot]], DRAWN.sample(ASKED, len(ASKED)), strict=False
    )
]
PAIRED = [Cell(declared, DRAWN.choice(ASKED)) for declared in DRAWN.sample(PAIRS, 150)]
OFTEN = 6


@pytest.fixture(scope="session")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rows in three partitions, in no order."""
    path: Path = tmp_path_factory.mktemp("pairs") / "rounds.parquet"
    pq.write_table(table(), path, row_group_size=50)
    return spark.read.parquet(str(path)).repartition(3).cache()


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(cell, id=cell.name, marks=[pytest.mark.slow] if place >= OFTEN else [])
        for place, cell in enumerate([*DRAWN.sample(SINGLES, len(SINGLES)), *PAIRED])
    ],
)
def test_spark_says_what_the_verb_says(cell: Cell, frame: Any) -> None:
    expected = by_verb(cell)
    assert not disagreement("spark", cell, in_engine(cell, frame), expected)


def test_a_look_at_a_few_rows_tears_no_clusters(frame: Any) -> None:
    cell = Cell(BY_NAME["vectors with logarithms + clusters of a size"], QUESTIONS["evaluate"])
    assert not disagreement("spark", cell, in_engine(cell, frame), by_verb(cell))


@pytest.mark.parametrize("declared", [pytest.param(BY_NAME[name], id=name) for name in ("plain", "vectors")])
def test_a_simulation_in_spark_is_made_or_refused_by_the_table(declared: Any, frame: Any) -> None:
    said = outcome(lambda: sl.simulate(declared.logs(frame), declared.policies, runs=2, rounds=50))
    assert said.error is None or told_by_the_table(said.message), said


OFTEN_MIXED = ("delta", "where or not", "cost or reward")


@pytest.mark.parametrize(
    "one, other",
    [
        pytest.param(
            *sides, id=name,
            marks=[*([] if name in OFTEN_MIXED else [pytest.mark.slow])],
        )
        for name, sides in DIFFERING.items()
    ],
)  # fmt: skip
def test_sums_of_spark_do_not_add_up_with_those_of_another_question(one: Side, other: Side, frame: Any) -> None:
    """Those of the cluster, and those of this process."""
    asked = one.question()
    far, near = collect(sl.Logs(frame, **one.flat), asked.plan()), other.sums()
    refused(lambda: far + near)
    refused(lambda: near + far)
    refused(lambda: other.question().answer(far))
    assert (far + one.sums()).rows > far.rows
