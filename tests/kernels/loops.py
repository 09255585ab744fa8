"""Both ways to run a loop, and rows on which they could differ."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from surelift import kernels
from surelift.arrays import FloatArray
from surelift.kernels.library import Library
from surelift.kernels.sorting import Sorted

FOLDER = Path(kernels.__path__[0])
PATHS = sorted(FOLDER.glob("loops.*"))
LENGTHS = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 511, 1000, 4095, 4096, 4097, 9001]


@contextmanager
def using(library: Library | None) -> Iterator[None]:
    """Let every loop call this library; None for NumPy."""
    with pytest.MonkeyPatch.context() as patched:
        for path in FOLDER.glob("[a-z]*.py"):
            module = importlib.import_module(f"surelift.kernels.{path.stem}")
            if hasattr(module, "compiled"):
                patched.setattr(module, "compiled", lambda: library)
        yield


def by_numpy(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    with using(None):
        return function(*arguments, **named)


@st.composite
def rows_of(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> FloatArray:
    """Any numbers, repeated in another order to any length, and starting anywhere in memory."""
    few = draw(st.lists(numbers, min_size=1, max_size=30))
    length, start = draw(st.sampled_from(LENGTHS)), draw(st.integers(0, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return np.asarray(rng.choice(np.array(few), length + start))[start:]


@st.composite
def sorted_groups(draw: st.DrawFn, rows: int) -> Sorted:
    """All rows, or up to a thousand groups, some of them empty, with some rows left out."""
    groups = draw(st.sampled_from([0, 1, 2, 5, 1000]))
    if groups == 0:
        return Sorted.whole(rows)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Sorted.by(rng.integers(-1, groups, rows), groups)
