"""The compiled loops, once for every instruction set that this machine has."""

from collections.abc import Iterator

import pytest

from surelift.kernels.library import INSTRUCTION_SETS, Library
from tests.kernels.loops import PATHS, using


def sets_here() -> tuple[str, ...]:
    if not PATHS:
        return INSTRUCTION_SETS
    return INSTRUCTION_SETS[: INSTRUCTION_SETS.index(Library(PATHS[0]).instruction_set) + 1]


@pytest.fixture(scope="module", params=sets_here())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    if not PATHS:
        pytest.fail("no compiled loops beside surelift/kernels/library.py: build the package first")
    with using(Library(PATHS[0], request.param)):
        yield request.param
