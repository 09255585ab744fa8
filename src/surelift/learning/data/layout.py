"""From contexts to the features of a linear policy: numbers (optionally standardised), one-hot categories, an intercept.

The set of categories may be found while the rounds are read: that is the same policy as one with a feature for every
possible text, since the weights of a text that never occurs stay at the prior. One extra feature stands for all unseen
texts. A standardisation must not be found this way: it is fixed in advance, or computed on rounds that certify nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import as_numpy
from surelift.errors import UsageError, printed


@dataclass(frozen=True, slots=True)
class FeatureLayout:
    names: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the categories of each text context
    widths: Mapping[str, int] = field(default_factory=dict)  # for each list context, its length
    intercept: bool = True
    centre: tuple[float, ...] | None = None  # subtracted from the numeric features, in order
    scale: tuple[float, ...] | None = None  # divides the numeric features, in order

    @property
    def size(self) -> int:
        return sum(stop - start for _, start, stop in self.spans()) + self.intercept

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """Each context with its first feature, and the one behind its last; the intercept comes after them all."""
        start = 0
        for name in self.names:
            stop = start + (len(self.texts[name]) + 1 if name in self.texts else self.widths.get(name, 1))
            yield name, start, stop
            start = stop

    def unseen(self) -> list[int]:
        """The features for unseen texts: their weights keep the prior."""
        return [stop - 1 for name, _, stop in self.spans() if name in self.texts]

    def encode(self, table: Any, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
        """The features, (rows, features), of a pyarrow table; written into ``out``, if given, which must hold zeros."""
        from surelift.learning.data.features import encode  # and with it pyarrow, which serving does without

        return encode(self, table, out)

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_description(cls, form: Mapping[str, Any]) -> "FeatureLayout":
        centre, scale = (None if form[name] is None else tuple(form[name]) for name in ("centre", "scale"))
        texts = {name: tuple(texts) for name, texts in form["texts"].items()}
        return cls(tuple(form["names"]), texts, dict(form["widths"]), bool(form["intercept"]), centre, scale)


_PLAIN = frozenset({float, int, bool, np.bool_, np.float64, np.float32, np.int64, np.int32})
_UNKNOWN = "Fill in the value that meant 'unknown' when the policy was learned."


class RowEncoder:
    """The features of one context, for serving: the same as ``FeatureLayout.encode`` gives, without a table."""

    def __init__(self, layout: FeatureLayout) -> None:
        spans = list(layout.spans())
        numeric = [(name, place) for name, *span in spans if name not in layout.texts for place in range(*span)]
        self._layout = layout
        self._texts = [
            (name, start, {text: k for k, text in enumerate(layout.texts[name])})
            for name, start, _ in spans
            if name in layout.texts
        ]
        self._owners = [name for name, _ in numeric]  # of every numeric feature, the context it comes from
        self._numeric = list(dict.fromkeys(self._owners))
        self._get = itemgetter(*self._numeric) if len(self._numeric) > 1 and not layout.widths else None
        places = [place for _, place in numeric]
        contiguous = bool(places) and places[-1] - places[0] == len(places) - 1
        self._places: Any = slice(places[0], places[-1] + 1) if contiguous else np.array(places, dtype=np.int64)
        self._centre, self._scale = (None if part is None else np.array(part) for part in (layout.centre, layout.scale))
        self._row = np.zeros((1, layout.size), dtype=np.float32)  # what is the same in every row
        self._row[0, layout.size - layout.intercept :] = 1.0

    def __call__(self, context: Any) -> npt.NDArray[np.float32]:
        """The features, (1, features), of a dict or of an array of numbers."""
        row = self._row.copy()
        named = isinstance(context, dict) or hasattr(context, "keys")
        problem = self._encode_named(row, context) if named else self._encode_array(row, context)
        if problem:
            raise UsageError(problem)
        return row

    def _encode_named(self, row: npt.NDArray[np.float32], context: Mapping[str, Any]) -> str:
        """Returns what is wrong with the context, as do the methods below; nothing where it could be encoded."""
        try:
            for name, start, known in self._texts:
                text = context[name]
                if isinstance(text, str):
                    row[0, start + known.get(text, len(known))] = 1.0
                elif text is not None:
                    return (
                        f"context {name!r} was text when the policy was learned, but is {printed(text)} here; give it as "
                        "text, or None where it is missing."
                    )
            numbers = self._entries(context) if self._get is None else self._get(context)
        except KeyError:
            absent = next((name for name in self._layout.names if name not in context), self._layout.names[0])
            there = ", ".join(map(repr, list(context.keys())[:20])) or "nothing"
            return f"the context has no column {absent!r}; it has {there}."
        if isinstance(numbers, str):
            return numbers
        if not _PLAIN.issuperset(map(type, numbers)):
            for name, number in zip(self._owners, numbers, strict=True):
                if number is None:
                    return f"context {name!r} is missing. {_UNKNOWN}"
                if not isinstance(number, (*_PLAIN, Real, Decimal)):
                    return (
                        f"context {name!r} was a number when the policy was learned, but is {printed(number)} here; decide "
                        "takes one context, with one number there."
                    )
        return self._set_numbers(row, numbers)

    def _entries(self, context: Mapping[str, Any]) -> list[Any] | str:
        """The numbers of all contexts, those of lists one by one; or why there are none."""
        numbers: list[Any] = []
        for name in self._numeric:
            width, value = self._layout.widths.get(name), context[name]
            entries = value.tolist() if isinstance(value, np.ndarray) and width is not None else value
            if width is None:
                entries = [value]
            elif not isinstance(entries, list | tuple) or len(entries) != width:
                return f"context {name!r} needs a list of {width} numbers, but is {printed(value)}."
            numbers += entries
        return numbers

    def _encode_array(self, row: npt.NDArray[np.float32], context: Any) -> str:
        array, layout = context if type(context) is np.ndarray else as_numpy(context, "the context"), self._layout
        if self._texts or (layout.widths and len(layout.names) > 1):
            return (
                f"the contexts {', '.join(map(repr, layout.names[:10]))} are not all single numbers; give a dict from their "
                f"names to their values, not {type(context).__name__}."
            )
        if array.ndim != 1 or array.dtype.kind not in "fiub" or len(array) != len(self._owners):
            return (
                f"decide takes one context, as a dict or as an array of {len(self._owners)} numbers, but it has shape "
                f"{array.shape} and type {array.dtype}. For many contexts at once use sample."
            )
        return self._set_numbers(row, array)

    def _set_numbers(self, row: npt.NDArray[np.float32], entries: Any) -> str:
        try:
            numbers = np.array(entries, dtype=np.float64)
        except OverflowError:  # of a whole number beyond float64
            numbers = np.array([min(max(number, -1e300), 1e300) for number in entries], dtype=np.float64)
        with np.errstate(over="ignore"):
            row[0, self._places] = numbers if self._centre is None else (numbers - self._centre) / self._scale
        finite = np.isfinite(row[0, self._places])
        if finite.all():
            return ""
        first = int(np.argmin(finite))
        if np.isfinite(numbers[first]):
            return f"context {self._owners[first]!r} has a number beyond 1e38; rescale it."
        return f"context {self._owners[first]!r} is not finite: it is {numbers[first]}. {_UNKNOWN}"
