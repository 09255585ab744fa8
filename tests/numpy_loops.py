"""Answers in NumPy alone, as where no library was built."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from surelift.kernels.library import NUMPY, SETTING, compiled


@contextmanager
def in_numpy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(SETTING, NUMPY)
        compiled.cache_clear()
        assert compiled() is None
        yield
    compiled.cache_clear()
