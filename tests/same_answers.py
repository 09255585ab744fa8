"""Answers that were reached in different ways, held against each other."""

import math
from collections.abc import Collection
from typing import Any


def assert_same_answer(found: Any, expected: Any, *, ignored: Collection[str] = (), rel: float = 1e-9) -> None:
    """Every field of two results; ``ignored`` names those that depend on chance or on where the rows lie."""
    assert_same_content("answer", found.to_dict(), expected.to_dict(), ignored=frozenset(ignored), rel=rel)


def assert_same_content(place: str, found: Any, expected: Any, *, ignored: frozenset[str] = frozenset(), rel: float) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for name in expected.keys() - ignored:
            assert_same_content(f"{place}.{name}", found[name], expected[name], ignored=ignored, rel=rel)
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, pair in enumerate(zip(found, expected, strict=True)):
            assert_same_content(f"{place}[{number}]", *pair, ignored=ignored, rel=rel)
    elif isinstance(expected, float) and isinstance(found, float):
        if place.endswith(("e_value", "p_value")) and found > 0.0 < expected:
            # Products over rounds: their logarithms agree.
            found, expected = math.log(found), math.log(expected)
        assert math.isclose(found, expected, rel_tol=rel, abs_tol=rel), (place, found, expected)
    else:
        assert found == expected, place
