"""What is remembered of rounds tells whether others are partly the same, and is not misled by rounds that are alike."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelift.kernels.columns import hash_columns
from surelift.logs.seen import HashSample, SeenRounds

Draw = Callable[[np.random.Generator, int], list[np.ndarray]]
LOGS: dict[str, Draw] = {
    "numbers": lambda rng, n: [rng.random(n) < 0.1, rng.random(n)],
    "two actions": lambda rng, n: [rng.random(n) < 0.1, rng.integers(0, 2, n)],
    "a coin": lambda rng, n: [rng.random(n) < 0.5],
    "actions in contexts": lambda rng, n: [rng.random(n) < 0.1, rng.integers(0, 10, n), rng.integers(0, 3, n)],
    "sessions": lambda rng, n: [rng.random(n) < 0.02, np.repeat(rng.integers(0, 20, n), 10)[:n]],
    "rare clicks": lambda rng, n: [rng.random(n) < 0.01],
}  # fmt: skip


def words(columns: list[np.ndarray]) -> np.ndarray:
    return hash_columns([column.astype(np.float64) for column in columns], len(columns[0]))[0]


def memory(rounds: np.ndarray, most: int = 1024, parts: int = 3) -> SeenRounds:
    return sum((SeenRounds.of(part, most) for part in np.array_split(rounds, parts)), SeenRounds())


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("rounds", [300, 3_000, 100_000])
def test_other_rounds_of_the_same_kind_are_other_rounds(kind: str, rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    for _ in range(100 if rounds < 10_000 else 5):
        first, second = (memory(words(LOGS[kind](rng, rounds))) for _ in range(2))
        assert not first.overlaps(second)


def test_other_rounds_after_a_drift_are_other_rounds() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        before = memory(words([rng.random(2_000), rng.integers(0, 100, 2_000)]))
        after = memory(words([np.zeros(2_000), rng.integers(0, 2, 2_000)]))
        again = memory(words([np.zeros(500), rng.integers(0, 3, 500)]))
        assert not before.overlaps(after)
        assert not after.overlaps(again)


@pytest.mark.parametrize("kind", [kind for kind in LOGS if kind != "rare clicks"])
@pytest.mark.parametrize("rounds", [2_000, 100_000])
def test_the_same_rounds_are_found(kind: str, rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    for _ in range(20 if rounds < 10_000 else 3):
        old, new = (words(LOGS[kind](rng, rounds)) for _ in range(2))
        seen = memory(old)
        for same in (old, old[: rounds // 2], old[rounds // 2 :], np.append(old, new[:1]), np.append(new, old)):
            assert seen.overlaps(memory(same, parts=2))


def test_rounds_that_differ_are_found_in_any_order() -> None:
    rng = np.random.default_rng(3)
    old, new = (words(LOGS["numbers"](rng, 50_000)) for _ in range(2))
    assert memory(old).overlaps(memory(np.append(rng.permutation(old)[:5_000], new)))


def test_a_few_rounds_that_come_over_and_over_hide_nothing() -> None:
    """Such as those of visitors that nothing is known of, for whom production has one answer."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        old, new = (words([rng.random(4_000) * (rng.random(4_000) < 0.8)]) for _ in range(2))
        assert memory(old).overlaps(memory(rng.permutation(np.append(rng.permutation(old)[:400], new[:3_600]))))
        assert not memory(old).overlaps(memory(new))


@pytest.mark.parametrize("rounds", [100, 1_000, 10_000])
@pytest.mark.parametrize("actions", [2, 10, 1_000])
def test_sorted_rounds_are_other_rounds(actions: int, rounds: int) -> None:
    rng = np.random.default_rng(actions)
    for _ in range(20):
        seen = []
        for _ in range(2):
            click, action = rng.random(rounds) < 0.3, rng.integers(0, actions, rounds)
            order = np.lexsort((click, action))
            seen.append(memory(words([click[order], action[order]]), parts=1))
        assert not seen[0].overlaps(seen[1])


def test_what_repeats_itself_tells_nothing() -> None:
    pattern = words([np.tile([0.0, 1.0], 500)])
    assert not memory(pattern).overlaps(memory(pattern))
    assert not memory(words([np.zeros(500)])).overlaps(memory(words([np.zeros(100)])))


def test_nothing_is_in_no_rounds() -> None:
    some = memory(words(LOGS["numbers"](np.random.default_rng(0), 100)))
    assert not some.overlaps(SeenRounds())
    assert not SeenRounds().overlaps(some)
    assert (SeenRounds() + some).rounds == 100


def test_it_comes_back_from_json() -> None:
    seen = memory(words(LOGS["numbers"](np.random.default_rng(0), 5_000)))
    again = SeenRounds.decode(seen.encode())
    assert again.encode() == seen.encode()
    assert again.overlaps(seen)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=60), st.integers(1, 20), st.integers(0, 60))
def test_a_sample_does_not_depend_on_how_it_was_cut(values: list[int], most: int, cut: int) -> None:
    hashes = np.array(values, dtype=np.uint64)
    whole = HashSample.of(hashes, most)
    parts = HashSample.of(hashes[:cut], most) + HashSample.of(hashes[cut:], most)
    assert whole.encode() == parts.encode()
    assert len(whole.keys) <= most
    assert all(int(key) % 2**whole.bits == 0 for key in whole.keys)
    assert dict(zip(whole.keys.tolist(), whole.counts.tolist(), strict=True)) == {
        value: values.count(value) for value in values if value % 2**whole.bits == 0
    }
