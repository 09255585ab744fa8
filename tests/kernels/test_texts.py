import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.logs.ids import SeenIds, id_words
from tests.kernels.loops import by_numpy

pytestmark = pytest.mark.usefixtures("instruction_set")


@given(st.lists(st.text(max_size=20) | st.sampled_from(["a", "a" * 8, "a" * 9, ""]), max_size=50), st.integers(0, 3))
def test_the_same_text_has_the_same_word(texts: list[str], start: int) -> None:
    for kind in (pa.string(), pa.large_string()):
        column = pa.array(["x"] * start + texts, kind).slice(start)
        for words in (id_words(column), by_numpy(id_words, column)):
            assert len(words) == len(texts)
            assert len(set(words.tolist())) == len(set(texts))
            assert dict(zip(texts, words.tolist(), strict=True)) == dict(
                zip(reversed(texts), reversed(words.tolist()), strict=True)
            )


def test_one_id_in_several_types() -> None:
    expected = [0, 5, -7]
    for column in (pa.array(expected, pa.int8()), pa.array(expected, pa.int64()), pa.array([0.0, 5.0, -7.0])):
        assert id_words(column).tolist() == expected
    assert id_words(pa.array([2.0**60])).tolist() == id_words(pa.array([2**60])).tolist()
    halves = id_words(pa.array([0.5, 1.5, 2.0**60]))
    assert len({*halves.tolist(), *expected}) == 6


@given(st.lists(st.lists(st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1), max_size=12), max_size=12))
def test_seen_ids_are_a_set(batches: list[list[int]]) -> None:
    seen, known = SeenIds(), set[int]()
    for batch in batches:
        again = seen.add(np.array(batch, dtype=np.int64))
        for number, was_seen in zip(batch, again.tolist(), strict=True):
            assert was_seen == (number in known)
            known.add(number)
