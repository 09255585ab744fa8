import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.arrays import FloatArray
from surelift.kernels.columns import hash_vectors
from tests.kernels.loops import by_numpy, rows_of

pytestmark = pytest.mark.usefixtures("instruction_set")
SEEDS = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)


@given(st.data(), rows_of(st.floats() | st.sampled_from([0.0, -0.0, 1e-30, 1e30, -1e-310])))
def test_as_in_numpy(data: st.DataObject, values: FloatArray) -> None:
    """Vectors of any length, and empty ones, among them the first and the last."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cuts = rng.integers(0, len(values) + 1, data.draw(st.sampled_from([0, 1, 5, 400])))
    starts = np.sort(np.concatenate([[0], cuts, [len(values)], rng.choice([0, len(values)], 2)]))
    assert np.array_equal(hash_vectors(values, starts, SEEDS), by_numpy(hash_vectors, values, starts, SEEDS))
    assert np.array_equal(hash_vectors(values, starts, SEEDS[:1])[0], hash_vectors(values, starts, SEEDS)[0])


@given(rows_of(st.floats(width=32) | st.sampled_from([0.0, -0.0])))
def test_single_precision_has_the_hashes_of_double_precision(values: FloatArray) -> None:
    starts = np.array([0, len(values) // 3, len(values)])
    assert np.array_equal(hash_vectors(values.astype(np.float32), starts, SEEDS), hash_vectors(values, starts, SEEDS))


def test_no_vectors_at_all() -> None:
    assert hash_vectors(np.zeros(0), np.zeros(1, dtype=np.int64), SEEDS).shape == (2, 0)
    assert hash_vectors(np.zeros(0), np.zeros(4, dtype=np.int64), SEEDS).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_hash_by_hand() -> None:
    """Of entries 0.5 and -0.0, the second at position 1: in whole numbers of any size."""

    def scrambled(word: int) -> int:
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        return word ^ (word >> 31)

    seed, bits = int(SEEDS[0]), 0x3FE0000000000000
    expected = scrambled(scrambled((bits + seed) % 2**64)) + scrambled((scrambled(seed) + seed) % 2**64)
    assert hash_vectors(np.array([0.5, -0.0]), np.array([0, 2]), SEEDS)[0].tolist() == [expected % 2**64]
