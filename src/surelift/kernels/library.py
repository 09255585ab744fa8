"""The compiled library, found beside this file and loaded once, with the best instruction set that this machine has."""

import ctypes
import os
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from surelift.errors import UsageError

INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
# An environment variable: an instruction set, or ``numpy`` for no compiled loops at all.
SETTING, NUMPY = "SURELIFT_LOOPS", "numpy"
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
        self.function = cache(self._function)

    def _function(self, name: str) -> Any:
        function = self._library[f"{name}_{self.instruction_set}"]
        function.restype = ctypes.c_int64
        return function

    def call(self, name: str, *arguments: Any) -> int:
        """Arrays and structures as pointers (None as a null one), whole numbers in 64 bits, others in double precision."""
        held, passed = list[Any](), list[Any]()
        for argument in arguments:
            if isinstance(argument, (np.ndarray, Packed)):
                held.append(np.ascontiguousarray(getattr(argument, "words", argument)))
                passed.append(held[-1].ctypes)
            elif argument is None:
                passed.append(argument)
            else:
                passed.append(ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_int64(argument))
        return int(self.function(name)(*passed))


class Packed:
    """A structure, or a list of pointers, as C has it: whole numbers in 64 bits, others in double precision, arrays and
    structures as where they lie (None as a null pointer); these live as long as it does.
    """

    def __init__(self, *fields: Any) -> None:
        kinds, values, self._held = list[str](), list[Any](), list[Any]()
        for field in fields:
            if isinstance(field, (np.ndarray, Packed)):
                lying = np.ascontiguousarray(getattr(field, "words", field))
                self._held.append((lying, field))
                kinds.append("P")
                values.append(lying.ctypes.data)
            else:
                kinds.append("d" if isinstance(field, float) else "q")
                values.append(0 if field is None else field)
        self.words = np.frombuffer(struct.pack("".join(kinds), *values), dtype=np.uint8)


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
