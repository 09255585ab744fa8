"""Blocks: as large as they should be, the same for the same id wherever it lies, and blind to what is in a round."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import surelift as sl
from surelift.batch import Batch
from surelift.engines import collect
from surelift.logs.batch import TableBatch
from surelift.statistics import Plan, Request
from surelift.statistics.dealing import PLACES, Dealt, key_places, places_of
from surelift.statistics.sums import COUNT

SHARES = (0.02, 0.08, 0.3, 0.35, 0.25)
DEALT = Dealt.of(SHARES)
ROUNDS = 20_000


def log(rounds: int = ROUNDS, **columns: Any) -> dict[str, Any]:
    rng = np.random.default_rng(rounds)
    return {"r": rng.integers(0, 2, rounds), "p": rng.uniform(0.1, 0.9, rounds), **columns}


def dealt(source: Any, **declared: Any) -> list[int]:
    """How many rounds, or clusters, are in each block."""
    logs = sl.Logs(source, reward="r", propensity="p", **declared)
    counts = collect(logs, Plan({}, (Request(COUNT, (DEALT,)),))).by(COUNT, DEALT)
    return [counts.get((name,), 0) for name in DEALT.names]


def blocks_of(ids: Any) -> list[int]:
    return [int(block) for block in DEALT.blocks(key_places(pa.array(ids)))]


def as_they_should_be(counts: list[int]) -> Iterator[bool]:
    total = sum(counts)
    for count, share in zip(counts, SHARES, strict=True):
        # Six standard deviations of a count by chance: about one in a hundred million each.
        yield abs(count - share * total) < 6 * (total * share * (1 - share)) ** 0.5


KEYS: dict[str, Any] = {
    "consecutive": np.arange(ROUNDS),
    "consecutive from a large one": np.arange(ROUNDS) + 10**18,
    "negative": -np.arange(ROUNDS) - 1,
    "in steps": np.arange(ROUNDS) * 1_000,
    "in steps of the modulus and one": np.arange(ROUNDS) * 2**31,
    "huge": np.random.default_rng(0).integers(-(2**63), 2**63 - 1, ROUNDS),
    "largest unsigned": np.uint64(2**64 - 1) - np.arange(ROUNDS, dtype=np.uint64),
    "texts": [f"visit {row}" for row in range(ROUNDS)],
    "digits": [str(row) for row in range(ROUNDS)],
    "other letters": [f"été {row} 訪問" for row in range(ROUNDS)],
    "halves": np.arange(ROUNDS) / 2,
    "seconds": np.datetime64("2024-03-01T00:00:00") + np.arange(ROUNDS),
}


@pytest.mark.parametrize("kind", KEYS)
def test_blocks_have_their_shares_of_the_ids(kind: str) -> None:
    assert all(as_they_should_be(dealt(log(id=KEYS[kind]), id="id")))
    places = key_places(pa.array(KEYS[kind]))
    assert places.min() >= 0
    assert places.max() < PLACES
    # Even beyond the blocks: 256 equal parts, by the chi-square, whose mean is 255 and standard deviation 22.6.
    parts = np.bincount(places * 256 // PLACES, minlength=256)
    assert ((parts - ROUNDS / 256) ** 2).sum() / (ROUNDS / 256) < 255 + 6 * 22.6


def test_blocks_have_their_shares_of_the_rows() -> None:
    assert all(as_they_should_be(dealt(log())))
    assert dealt(log()) == dealt(log(r=np.ones(ROUNDS), p=np.full(ROUNDS, 0.3)))  # whatever is in them


def test_neighbours_do_not_share_a_block_more_often_than_chance() -> None:
    blocks = np.array(blocks_of(np.arange(ROUNDS)))
    together, chance = (blocks[1:] == blocks[:-1]).mean(), sum(share * share for share in SHARES)
    assert abs(together - chance) < 6 * (chance * (1 - chance) / ROUNDS) ** 0.5


def test_places_by_hand() -> None:
    """MD5 of a salted text, its first three digits; of whole numbers five steps modulo 2^31 - 1."""
    assert hashlib.md5(b"surelift/visit 1").hexdigest()[:3] == "b3c"
    assert key_places(pa.array(["visit 1"])).tolist() == [0xB3C]
    prime = 2**31 - 1
    for number in (0, 1, -1, 7, 2**62, -(2**63)):
        x = number % prime
        x = (48271 * x + 11) % prime
        x = (x * x + 12345) % prime
        x = (69621 * x + 7) % prime
        x = (x * x + 4391) % prime
        x = (16807 * x + 3) % prime
        assert key_places(pa.array([number])).tolist() == [x * 2**12 // prime]


def test_an_id_has_one_block_whatever_holds_it(tmp_path: Path) -> None:
    """In any order, among any others, and in columns of any type of its kind."""
    ids = np.random.default_rng(1).permutation(5_000)
    for kind in (pa.int32(), pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(19)):
        assert blocks_of(pa.array(ids).cast(kind)) == blocks_of(ids)
    texts = pa.array([f"visit {row}" for row in ids])
    for text in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert blocks_of(texts.cast(text)) == blocks_of(texts)
    assert blocks_of(ids[1_000:]) == blocks_of(ids)[1_000:]
    table = pa.table(log(5_000, id=ids - 2_500))
    csv.write_csv(table, tmp_path / "a.csv")  # where numbers have no type
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    by_id = table.sort_by("id")
    assert dealt(table, id="id") == dealt(by_id, id="id") == dealt(str(tmp_path / "a.parquet"), id="id")
    assert dealt(str(tmp_path / "a.csv"), id="id") == dealt(table, id="id")
    keys = [(int(row), f"0{row}", f"visit {row}")[row % 3] for row in ids]
    csv.write_csv(pa.table(log(5_000, id=[str(key) for key in keys])), tmp_path / "b.csv")
    expected = np.bincount([blocks_of([key])[0] for key in keys], minlength=len(SHARES)).tolist()
    assert dealt(str(tmp_path / "b.csv"), id="id") == expected
    answers = [
        sl.evaluate(sl.Logs(source, reward="r", propensity="p", id="id"), {"same": "p"}, method="blocks")["same"]
        for source in (table, by_id, str(tmp_path / "a.parquet"))
    ]
    assert [answer.lower for answer in answers] == pytest.approx([answers[0].lower] * 3, rel=1e-12)


def test_clusters_lie_whole_in_a_block() -> None:
    """Counted are clusters, by the block of their own name: as many as if each were one round."""
    sizes = np.random.default_rng(2).integers(1, 4, 6_000)
    users = np.repeat(np.arange(6_000), sizes)
    counted = dealt(log(len(users), user=users), cluster="user", cluster_max=3)
    assert counted == np.bincount(blocks_of(np.arange(6_000)), minlength=len(SHARES)).tolist()
    named = [f"user {user}" for user in users]
    assert dealt(log(len(users), user=named, id=np.arange(len(users))), cluster="user", cluster_max=3, id="id") == (
        np.bincount(blocks_of([f"user {user}" for user in range(6_000)]), minlength=len(SHARES)).tolist()
    )


def test_rows_of_parts_that_are_read_apart_have_chances_of_their_own() -> None:
    """Two equal parts are not dealt alike, as the same row twice would be."""
    table = pa.table(log())
    logs = sl.Logs(table, reward="r", propensity="p")
    first, second = (DEALT.blocks(places_of(Batch(logs, TableBatch(table, 0, part=part)))) for part in (0, 1))
    chance = sum(share * share for share in SHARES)
    assert abs((first == second).mean() - chance) < 6 * (chance * (1 - chance) / ROUNDS) ** 0.5
    assert all(as_they_should_be(np.bincount(second, minlength=len(SHARES)).tolist()))
