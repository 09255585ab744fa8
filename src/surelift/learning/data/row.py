"""The features of one context, for serving: the same as ``FeatureLayout.encode`` gives, without a table."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from surelift.arrays import FloatArray, as_numpy
from surelift.errors import UsageError, printed
from surelift.learning.data.layout import FeatureLayout

_PLAIN = frozenset({float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32})
_UNKNOWN = "Fill in the value that meant 'unknown' when the policy was learned."


class RowEncoder:
    """Everything about a layout that is the same for every context, found once."""

    def __init__(self, layout: FeatureLayout) -> None:
        self._layout = layout
        self._texts: list[tuple[str, int, dict[str, int]]] = []  # each with its first feature and its categories
        self._row = np.zeros((1, layout.size), dtype=np.float32)  # what is the same in every row
        places: list[int] = []
        owners: list[str] = []
        start = 0
        for name in layout.names:
            width = layout.width(name)
            if name in layout.texts:
                self._texts.append((name, start, {text: k for k, text in enumerate(layout.texts[name])}))
            else:
                places += range(start, start + width)
                owners += [name] * width
            start += width
        if layout.intercept:
            self._row[0, start] = 1.0
        self._owners = owners  # of every numeric feature, the context it comes from
        self._numeric = list(dict.fromkeys(owners))
        self._get = itemgetter(*self._numeric) if len(self._numeric) > 1 and not layout.widths else None
        contiguous = bool(places) and places[-1] - places[0] == len(places) - 1
        self._places: Any = slice(places[0], places[-1] + 1) if contiguous else np.array(places, dtype=np.int64)
        self._centre = self._scale = None
        if layout.centre is not None and layout.scale is not None:
            self._centre, self._scale = np.array(layout.centre), np.array(layout.scale)

    def __call__(self, context: Any) -> npt.NDArray[np.float32]:
        """The features, (1, features), of a dict or of an array of numbers."""
        row = self._row.copy()
        if isinstance(context, dict) or hasattr(context, "keys"):
            try:
                if self._owners:
                    self._set_numbers(row, self._from_dict(context))
                for name, start, known in self._texts:
                    text = context[name]
                    if isinstance(text, str):
                        row[0, start + known.get(text, len(known))] = 1.0
                    elif text is not None:
                        _refuse(
                            f"context {name!r} was text when the policy was learned, but is {printed(text)} here; give it "
                            "as text, or None where it is missing."
                        )
            except KeyError:
                self._refuse_absent(context)
            return row
        self._set_numbers(row, self._from_array(context))
        return row

    def _from_dict(self, context: Mapping[str, Any]) -> FloatArray:
        numbers: Sequence[Any] = self._listed(context) if self._get is None else self._get(context)
        if not _PLAIN.issuperset(map(type, numbers)):
            self._require_numbers(numbers)
        try:
            return np.array(numbers, dtype=np.float64)
        except OverflowError:
            large = next(k for k, number in enumerate(numbers) if isinstance(number, int) and abs(number) > 1e38)
            self._refuse_large(self._owners[large])

    def _listed(self, context: Mapping[str, Any]) -> list[Any]:
        numbers: list[Any] = []
        for name in self._numeric:
            width, value = self._layout.widths.get(name), context[name]
            if width is None:
                numbers.append(value)
                continue
            entries = value.tolist() if isinstance(value, np.ndarray) else value
            if not isinstance(entries, list | tuple) or len(entries) != width:
                _refuse(f"context {name!r} needs a list of {width} numbers, but is {printed(value)}.")
            numbers += entries
        return numbers

    def _require_numbers(self, numbers: Sequence[Any]) -> None:
        for name, number in zip(self._owners, numbers, strict=True):
            if number is None:
                _refuse(f"context {name!r} is missing. {_UNKNOWN}")
            if type(number) not in _PLAIN and not isinstance(number, Real | Decimal):
                _refuse(
                    f"context {name!r} was a number when the policy was learned, but is {printed(number)} here; decide "
                    "takes one context, with one number there."
                )

    def _from_array(self, context: Any) -> FloatArray:
        array = context if type(context) is np.ndarray else as_numpy(context, "the context")
        layout = self._layout
        if self._texts or (layout.widths and len(layout.names) > 1):
            _refuse(
                f"the contexts {', '.join(map(repr, layout.names[:10]))} are not all single numbers; give a dict from their "
                f"names to their values, not {type(context).__name__}."
            )
        if array.ndim != 1 or array.dtype.kind not in "fiub" or len(array) != len(self._owners):
            _refuse(
                f"decide takes one context, as a dict or as an array of {len(self._owners)} numbers, but it has shape "
                f"{array.shape} and type {array.dtype}. For many contexts at once use sample."
            )
        return array.astype(np.float64)

    def _set_numbers(self, row: npt.NDArray[np.float32], numbers: FloatArray) -> None:
        scaled = numbers if self._centre is None else (numbers - self._centre) / self._scale
        with np.errstate(over="ignore"):
            row[0, self._places] = scaled
        finite = np.isfinite(row[0, self._places])
        if not finite.all():
            first = int(np.argmin(finite))
            if np.isfinite(numbers[first]):
                self._refuse_large(self._owners[first])
            _refuse(f"context {self._owners[first]!r} is not finite: it is {numbers[first]}. {_UNKNOWN}")

    def _refuse_absent(self, context: Any) -> NoReturn:
        absent = next((name for name in self._layout.names if name not in context), self._layout.names[0])
        there = ", ".join(map(repr, list(context.keys())[:20])) or "nothing"
        _refuse(f"the context has no column {absent!r}; it has {there}.")

    def _refuse_large(self, name: str) -> NoReturn:
        _refuse(f"context {name!r} has a number beyond 1e38; rescale it.")


def _refuse(message: str) -> NoReturn:
    raise UsageError(message)
