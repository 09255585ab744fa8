"""The compiled library, found beside this file and loaded once, with the best instruction set that this machine has."""

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from surelift.errors import UsageError

INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
SETTING = "SURELIFT_LOOPS"
"""An environment variable: an instruction set, or ``numpy`` for no compiled loops at all."""
NUMPY = "numpy"
FILE = Path(__file__).with_name("loops" + {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so"))


class Library:
    """Functions of the library for one instruction set. Calls let go of the interpreter's lock."""

    def __init__(self, path: Path, wanted: str | None = None) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise UsageError(
                f"{path} does not load here: {error}. Install surelift again on this machine, or set {SETTING}={NUMPY}."
            ) from error
        best = int(self._library.instruction_set())
        if wanted is not None and wanted not in INSTRUCTION_SETS[: best + 1]:
            raise UsageError(f"{SETTING}={wanted}: this machine runs {', '.join(INSTRUCTION_SETS[: best + 1])}, or {NUMPY}.")
        self.instruction_set = wanted or INSTRUCTION_SETS[best]
        self._functions: dict[str, Any] = {}

    def call(self, name: str, *arguments: Any) -> int:
        """Arrays and structures as pointers (None as a null one), whole numbers in 64 bits, others in double precision."""
        function = self._functions.get(name)
        if function is None:
            function = self._library[f"{name}_{self.instruction_set}"]
            function.restype = ctypes.c_int64
            self._functions[name] = function
        result: int = function(*map(_converted, arguments))
        return result


def _converted(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    return ctypes.c_void_p(None) if argument is None else ctypes.byref(argument)


@cache
def compiled() -> Library | None:
    """The library; None where none was built, or none is wanted."""
    wanted = os.environ.get(SETTING) or None
    if wanted not in (None, NUMPY) and not FILE.exists():
        raise UsageError(
            f"{SETTING}={wanted}: no compiled library was built. Install surelift again, or set {SETTING}={NUMPY}."
        )
    if wanted == NUMPY or not FILE.exists():
        return None
    return Library(FILE, wanted)


def loops_in_use() -> str:
    """An instruction set, or ``numpy`` and why."""
    library = compiled()
    if library is not None:
        return library.instruction_set
    return f"{NUMPY}, slower; " + (f"{SETTING}={NUMPY}" if FILE.exists() else "no compiled library was built")
