"""What the contexts of a log hold, found batch by batch; what was found in consecutive parts adds up."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError, UsageError
from surelift.learning.data.features import FeatureLayout, pieces_in_cache
from surelift.logs.columns import decode, is_list, is_text


class FeatureSurvey:
    """Which contexts are text, and their categories; and the mean and deviation of numeric features, on request."""

    def __init__(self, names: Sequence[str], *, intercept: bool, most: int = 10_000) -> None:
        self._names, self._intercept, self._most = tuple(names), intercept, most
        self._texts: dict[str, dict[str, None]] = {}
        self._widths: dict[str, int] = {}
        self._numeric = FeatureLayout((), intercept=False)
        self._count, self._mean, self._squares = 0, np.zeros(0), np.zeros(0)

    def update(self, table: Any) -> None:
        for name in self._names:
            column = table[name]
            if is_list(column):
                self._widths.setdefault(name, len(column[0].as_py() or ()) if len(column) else 0)
            elif is_text(decode(column)):
                known = self._texts.setdefault(name, {})
                known.update(dict.fromkeys(text for text in decode(column).unique().to_pylist() if text is not None))
        self._refuse_many()

    def _refuse_many(self) -> None:
        for name, known in self._texts.items():
            if len(known) > self._most:
                raise UsageError(
                    f"context {name!r} has more than {self._most:,} different texts, so it looks like an identifier; drop "
                    "it, or group its values."
                )

    def standardise(self, table: Any) -> None:
        """Standardise by these rounds too, after ``update``."""
        self._keep_numeric()
        if not self._numeric.size:
            return
        features = self._numeric.encode(table)
        rows = pieces_in_cache(self._numeric.size)
        for start in range(0, len(features), rows):
            values = features[start : start + rows].astype(np.float64)
            mean = values.mean(axis=0)
            self._merge(len(values), mean, ((values - mean) ** 2).sum(axis=0))

    def _merge(self, count: int, mean: FloatArray, squares: FloatArray) -> None:
        """Chan et al. (1983): adds the sums of another part without cancellation."""
        gap = mean - self._mean
        self._squares += squares + gap * gap * (self._count * count / (self._count + count))
        self._mean += gap * (count / (self._count + count))
        self._count += count

    def _keep_numeric(self) -> None:
        """Drop the sums of a context that turned out to be text."""
        old, names = self._numeric, tuple(name for name in self._names if name not in self._texts)
        self._numeric = FeatureLayout(names, {}, dict(self._widths), intercept=False)
        if not self._count:
            self._mean, self._squares = np.zeros(self._numeric.size), np.zeros(self._numeric.size)
        elif names != old.names:
            keep = np.concatenate([np.full(old.width(name), name in names) for name in old.names])
            self._mean, self._squares = self._mean[keep], self._squares[keep]

    def __add__(self, later: "FeatureSurvey") -> "FeatureSurvey":
        """With the rounds that follow."""
        both = FeatureSurvey(self._names, intercept=self._intercept, most=self._most)
        both._widths = later._widths | self._widths
        for name, width in both._widths.items():
            if later._widths.get(name, width) != width:
                raise LogsError(f"context {name!r}: every round needs {width} finite numbers, but some do not have them.")
        names = self._texts | later._texts
        both._texts = {name: self._texts.get(name, {}) | later._texts.get(name, {}) for name in names}
        both._refuse_many()
        both._keep_numeric()
        for part in map(copy, (self, later)):
            if part._count:
                part._texts = both._texts
                part._keep_numeric()
                both._merge(part._count, part._mean, part._squares)
        return both

    def layout(self) -> FeatureLayout:
        texts = {name: tuple(sorted(texts)) for name, texts in self._texts.items()}
        layout = FeatureLayout(self._names, texts, dict(self._widths), self._intercept)
        self._keep_numeric()
        if not self._count or not self._numeric.size:
            return layout
        deviation = np.sqrt(self._squares / self._count)
        scale = np.where(deviation > 0.0, deviation, 1.0)
        return replace(layout, centre=tuple(self._mean.tolist()), scale=tuple(scale.tolist()))
