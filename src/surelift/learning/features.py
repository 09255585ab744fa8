"""From contexts to the features of a linear rule: numbers as they are, or standardised; a text as one feature each; a 1.

Which texts there are may be found out as rounds are read: it is as if there had been a feature for every text from the
start. The weights of one that was never seen are as the prior has them, whichever it is, and so one more feature stands for
all of those. A standardisation may not be found out: it is fixed before, or taken from rounds that are set aside.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surelift.arrays import ArrowColumn, FloatArray
from surelift.errors import LogsError, UsageError
from surelift.logs.columns import decode, is_list, is_text, list_to_vectors, to_numbers


@dataclass(frozen=True, slots=True)
class Features:
    """The layout of a row of features."""

    names: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For a context that is text, the texts that have a feature."""
    widths: Mapping[str, int] = field(default_factory=dict)
    """For a context that is a list, its length."""
    intercept: bool = True
    centre: tuple[float, ...] | None = None
    """Of the features that are numbers, in order, what is taken off; and below, what they are divided by."""
    scale: tuple[float, ...] | None = None

    @property
    def size(self) -> int:
        return sum(self._width(name) for name in self.names) + self.intercept

    def _width(self, name: str) -> int:
        return len(self.texts[name]) + 1 if name in self.texts else self.widths.get(name, 1)

    def unseen(self) -> list[int]:
        """The places of the features that stand for texts never seen: their weights stay with the prior."""
        ends = np.cumsum([self._width(name) for name in self.names])
        return [int(end) - 1 for name, end in zip(self.names, ends, strict=True) if name in self.texts]

    def encode(self, table: Any) -> npt.NDArray[np.float32]:
        """(rows, features) of a pyarrow table with these columns; a number that is missing is refused."""
        absent = [name for name in self.names if name not in table.column_names]
        if absent:
            raise UsageError(
                f"the contexts have no column {absent[0]!r}; they are {', '.join(table.column_names[:20])}."
            )
        out = np.zeros((table.num_rows, self.size), dtype=np.float32)
        place = number = 0
        for name in self.names:
            width = self._width(name)
            if name in self.texts:
                self._encode_text(table[name], self.texts[name], out[:, place : place + width])
            else:
                values = self._numbers(table[name], name)
                if self.centre is not None and self.scale is not None:
                    these = slice(number, number + width)
                    values = (values - np.array(self.centre[these])) / np.array(self.scale[these])
                if not _narrowed(values, out[:, place : place + width]):
                    raise LogsError(f"context {name!r} holds numbers beyond 1e38; scale them before.")
                number += width
            place += width
        if self.intercept:
            out[:, place] = 1.0
        return out

    @staticmethod
    def _encode_text(column: ArrowColumn, texts: Sequence[str], out: npt.NDArray[np.float32]) -> None:
        encoded = decode(column).dictionary_encode()
        places = {text: k for k, text in enumerate(texts)}
        # A text never seen has the last place; none at all has no feature.
        found = np.array([places.get(text, len(texts)) for text in encoded.dictionary.to_pylist()] + [-1])
        codes = np.asarray(encoded.indices.fill_null(len(found) - 1))
        rows = np.flatnonzero(found[codes] >= 0)
        out[rows, found[codes[rows]]] = 1.0

    def _numbers(self, column: ArrowColumn, name: str) -> FloatArray:
        if is_list(column):
            return _vectors(column, name, self.widths.get(name))
        numbers = to_numbers(column, as_text=is_text(decode(column)))
        bad = numbers.null | numbers.not_numeric | ~np.isfinite(numbers.values)
        if bad.any():
            first = int(np.argmax(bad))
            raise LogsError(
                f"context {name!r}: {np.count_nonzero(bad):,} of {len(bad):,} values are missing or no finite numbers, the "
                f"first, {column[first].as_py()!r}, in row {first} of its batch.\nA policy has to know its context: fill "
                "in a value that means 'not known', or leave the context out."
            )
        return numbers.values[:, None]

    def describe(self) -> dict[str, Any]:
        return {
            "names": list(self.names), "texts": {name: list(texts) for name, texts in self.texts.items()},
            "widths": dict(self.widths), "intercept": self.intercept,
            "centre": None if self.centre is None else list(self.centre),
            "scale": None if self.scale is None else list(self.scale),
        }  # fmt: skip

    @classmethod
    def from_description(cls, form: Mapping[str, Any]) -> "Features":
        centre, scale = form["centre"], form["scale"]
        return cls(
            tuple(form["names"]), {name: tuple(texts) for name, texts in form["texts"].items()}, dict(form["widths"]),
            bool(form["intercept"]), None if centre is None else tuple(centre), None if scale is None else tuple(scale),
        )  # fmt: skip


def _narrowed(values: FloatArray, out: npt.NDArray[np.float32], rows: int = 4096) -> bool:
    """Write them in single precision, a few rows at a time; whether all of them fit."""
    fit = True
    for start in range(0, len(values), rows):
        part = out[start : start + rows]
        with np.errstate(over="ignore"):
            part[...] = values[start : start + rows]
        fit = fit and bool(np.isfinite(part).all())
    return fit


def _vectors(column: ArrowColumn, name: str, width: int | None) -> FloatArray:
    vectors, missing = list_to_vectors(column)
    lengths = vectors.lengths
    wanted = width if width is not None else int(lengths[0]) if len(lengths) else 0
    if missing.any() or (lengths != wanted).any() or not np.isfinite(vectors.values).all():
        raise LogsError(f"context {name!r}: every round needs {wanted} finite numbers, and some have not.")
    return vectors.values.reshape(len(lengths), wanted)


class Finding:
    """Finds the layout out while batches go by: which contexts are text, and which texts there are."""

    def __init__(self, names: Sequence[str], *, intercept: bool, most: int = 10_000) -> None:
        self._names, self._intercept, self._most = tuple(names), intercept, most
        self._texts: dict[str, dict[str, None]] = {}
        self._widths: dict[str, int] = {}

    def look(self, table: Any) -> None:
        for name in self._names:
            column = table[name]
            if is_list(column):
                self._widths.setdefault(name, len(column[0].as_py() or ()) if len(column) else 0)
            elif is_text(decode(column)):
                known = self._texts.setdefault(name, {})
                known.update(dict.fromkeys(text for text in decode(column).unique().to_pylist() if text is not None))
                if len(known) > self._most:
                    raise UsageError(
                        f"context {name!r} has more than {self._most:,} different texts; a name or an identifier is no "
                        "context to learn from: leave it out, or group it."
                    )

    def features(self) -> Features:
        texts = {name: tuple(sorted(texts)) for name, texts in self._texts.items()}
        return Features(self._names, texts, dict(self._widths), self._intercept)


def standardised(features: Features, tables: Iterable[Any]) -> Features:
    """With the mean and the spread of every number in some rounds that are set aside, read batch by batch."""
    numeric = Features(
        tuple(name for name in features.names if name not in features.texts), {}, features.widths, intercept=False
    )
    if numeric.size == 0:
        return features
    count, mean, squares = 0, np.zeros(numeric.size), np.zeros(numeric.size)
    for table in tables:
        values = numeric.encode(table).astype(np.float64)
        # Chan's sums: those of two parts, put together without losing the small differences.
        new, of_new = len(values), values.mean(axis=0)
        gap = of_new - mean
        squares += ((values - of_new) ** 2).sum(axis=0) + gap * gap * (count * new / (count + new))
        mean += gap * (new / (count + new))
        count += new
    spread = np.sqrt(squares / max(count, 1))
    return replace(features, centre=tuple(mean.tolist()), scale=tuple(np.where(spread > 0.0, spread, 1.0).tolist()))
