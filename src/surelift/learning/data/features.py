"""The features of many contexts: a table encoded by a layout, and the layout that is found in the rows of a log."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import ArrowColumn, FloatArray, as_numpy
from surelift.errors import LogsError, UsageError
from surelift.learning.data.layout import FeatureLayout
from surelift.logs.alignment import aligned
from surelift.logs.columns import decode, equal_lists, is_list, is_text, list_to_vectors, to_numbers

MOST_TEXTS = 10_000
TOO_FEW = "context {!r}: every round needs {} finite numbers, but some do not have them."
Floats = npt.NDArray[np.floating[Any]]


def encode(layout: FeatureLayout, table: Any, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
    absent = [name for name in layout.names if name not in table.column_names]
    if absent:
        raise UsageError(f"the contexts have no column {absent[0]!r}; the columns are {', '.join(table.column_names[:20])}.")
    out = np.zeros((table.num_rows, layout.size), dtype=np.float32) if out is None else out
    numeric = 0
    for name, start, stop in layout.spans():
        part, width = out[:, start:stop], stop - start
        if name in layout.texts:
            problem = _encode_text(name, table[name], layout.texts[name], part)
        else:
            columns = slice(numeric, numeric + width)
            centre, scale = (None if known is None else np.array(known[columns]) for known in (layout.centre, layout.scale))
            values, problem = _numbers(name, table[name], width)
            for piece in () if problem else pieces_in_cache(values):
                with np.errstate(over="ignore"):
                    part[piece] = values[piece] if centre is None or scale is None else (values[piece] - centre) / scale
                if not np.isfinite(part[piece]).all():
                    large = f"context {name!r} has numbers beyond 1e38; rescale it."
                    problem = large if np.isfinite(values).all() else TOO_FEW.format(name, width)
            numeric += width
        if problem:
            raise LogsError(problem)
    out[:, layout.size - layout.intercept :] = 1.0
    return out


def _numbers(name: str, column: ArrowColumn, width: int) -> tuple[Floats, str]:
    """The numbers, (rows, width), and what is wrong with them, if anything is."""
    problem = ""
    if is_list(column):
        matrix = equal_lists(column)
        if matrix is not None and matrix.shape[1] == width:
            return matrix, ""
        vectors, missing = list_to_vectors(column)
        values: Floats = vectors.values
        if missing.any() or (vectors.lengths != width).any():
            problem = TOO_FEW.format(name, width)
    elif width != 1:
        values, problem = (
            np.zeros(0),
            f"context {name!r} was a list of {width} numbers when the policy was learned; give it as one.",
        )
    else:
        numbers = to_numbers(column)
        values = numbers.values
        bad = numbers.null | numbers.not_numeric | ~np.isfinite(values)
        if bad.any():
            first = int(np.argmax(bad))
            problem = (
                f"context {name!r}: {np.count_nonzero(bad):,} of {len(bad):,} values are missing or not finite; the first "
                f"is {column[first].as_py()!r} in row {first} of its batch.\nFill in a value that means 'unknown', or drop "
                "this context."
            )
    return values if problem else values.reshape(-1, width), problem


def _encode_text(name: str, column: ArrowColumn, texts: Sequence[str], out: npt.NDArray[np.float32]) -> str:
    """Returns what is wrong with the column; nothing where it could be encoded."""
    decoded = decode(column)
    if not (is_text(decoded) or pa.types.is_null(decoded.type)):
        return f"context {name!r} was text when the policy was learned, but holds {decoded.type} here; give it as text."
    encoded = decoded.dictionary_encode()
    known = {text: k for k, text in enumerate(texts)}
    # An unseen text sets the last feature; a missing one sets none.
    feature = np.array([known.get(text, len(texts)) for text in encoded.dictionary.to_pylist()] + [-1])
    codes = np.asarray(encoded.indices.fill_null(len(feature) - 1))
    rows = np.flatnonzero(feature[codes] >= 0)
    out[rows, feature[codes[rows]]] = 1.0
    return ""


def pieces_in_cache(values: npt.NDArray[Any]) -> Iterator[slice]:
    """Rows such that temporary arrays stay in the processor's cache: new memory costs more than arithmetic."""
    size = max(1, (1 << 18) // values.shape[1])
    return (slice(start, start + size) for start in range(0, len(values), size))


def as_table(contexts: Any, names: Sequence[str] | None = None) -> pa.Table:
    """A frame with these columns, or a matrix with as many; columns without names become x0, x1, ..."""
    if isinstance(contexts, pa.Table | pa.RecordBatch):
        return contexts
    import narwhals as nw

    try:
        if isinstance(contexts, Mapping):
            return pa.table(aligned(contexts))
        if hasattr(contexts, "columns"):
            return nw.from_native(contexts, eager_only=True).to_arrow()
        matrix = as_numpy(contexts, "the contexts")
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or (names is not None and matrix.shape[1] != len(names)):
            width = "" if names is None else f" with {len(names)} columns"
            raise UsageError(
                f"contexts must be a frame or a numeric matrix{width}, but have shape {matrix.shape} and type "
                f"{matrix.dtype}."
            )
        columns = [f"x{k}" for k in range(matrix.shape[1])] if names is None else names
        return pa.table({name: matrix[:, k] for k, name in enumerate(columns)})
    except (pa.ArrowException, nw.exceptions.NarwhalsError, TypeError) as error:
        raise UsageError(f"the contexts cannot be read as a table: {error}") from error


@dataclass(frozen=True, slots=True)
class FeatureMoments:
    """The mean of some features, and the squared deviations from it."""

    count: int
    mean: FloatArray
    squares: FloatArray

    def __add__(self, other: "FeatureMoments") -> "FeatureMoments":
        """The moments of both, without cancellation (Chan et al., 1983)."""
        gap, count = other.mean - self.mean, self.count + other.count
        squares = self.squares + (other.squares + gap * gap * (self.count * other.count / count))
        return FeatureMoments(count, self.mean + gap * (other.count / count), squares)


class FeatureSurvey:
    """What was found in consecutive parts of a log adds up."""

    def __init__(self, names: Sequence[str], *, intercept: bool) -> None:
        self._names, self._intercept = tuple(names), intercept
        self._texts: dict[str, dict[str, None]] = {}
        self._widths: dict[str, int] = {}
        self._moments: dict[str, FeatureMoments] = {}

    def update(self, table: Any) -> None:
        for name in self._names:
            column = table[name]
            if is_list(column):
                self._widths.setdefault(name, len(column[0].as_py() or ()) if len(column) else 0)
            elif is_text(decode(column)):
                self._add_texts(name, [text for text in decode(column).unique().to_pylist() if text is not None])

    def _add_texts(self, name: str, texts: Iterable[str]) -> None:
        known = self._texts[name] = self._texts.get(name, {}) | dict.fromkeys(texts)
        if len(known) > MOST_TEXTS:
            raise UsageError(
                f"context {name!r} has more than {MOST_TEXTS:,} different texts, so it looks like an identifier; drop it, "
                "or group its values."
            )

    def standardise(self, table: Any) -> None:
        names = tuple(name for name in self._names if name not in self._texts)
        numeric = FeatureLayout(names, {}, self._widths, intercept=False)
        features = numeric.encode(table)
        for piece in pieces_in_cache(features) if numeric.size else ():
            values = features[piece].astype(np.float64)
            mean = values.mean(axis=0)
            squares = ((values - mean) ** 2).sum(axis=0)
            for name, start, stop in numeric.spans():
                found = FeatureMoments(len(values), mean[start:stop], squares[start:stop])
                self._moments[name] = self._moments[name] + found if name in self._moments else found

    def __add__(self, later: "FeatureSurvey") -> "FeatureSurvey":
        both = FeatureSurvey(self._names, intercept=self._intercept)
        both._widths, both._moments = later._widths | self._widths, later._moments | self._moments
        for name, width in both._widths.items():
            if later._widths.get(name, width) != width:
                raise LogsError(TOO_FEW.format(name, width))
        for name, texts in (*self._texts.items(), *later._texts.items()):
            both._add_texts(name, texts)
        for name in self._moments.keys() & later._moments.keys():
            both._moments[name] = self._moments[name] + later._moments[name]
        return both

    def layout(self) -> FeatureLayout:
        texts = {name: tuple(sorted(texts)) for name, texts in self._texts.items()}
        layout = FeatureLayout(self._names, texts, dict(self._widths), self._intercept)
        # A context may have turned out to be text after some numbers.
        moments = [self._moments[name] for name in self._names if name in self._moments and name not in texts]
        if not moments:
            return layout
        deviation = np.concatenate([np.sqrt(each.squares / each.count) for each in moments])
        centre, scale = np.concatenate([each.mean for each in moments]), np.where(deviation > 0.0, deviation, 1.0)
        return replace(layout, centre=tuple(centre.tolist()), scale=tuple(scale.tolist()))
