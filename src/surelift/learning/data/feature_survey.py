"""Find the feature layout and its standardisation while batches are read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surelift.errors import UsageError
from surelift.learning.data.features import FeatureLayout
from surelift.logs.columns import decode, is_list, is_text


class FeatureSurvey:
    """Finds which contexts are text, and their categories."""

    def __init__(self, names: Sequence[str], *, intercept: bool, most: int = 10_000) -> None:
        self._names, self._intercept, self._most = tuple(names), intercept, most
        self._texts: dict[str, dict[str, None]] = {}
        self._widths: dict[str, int] = {}

    def update(self, table: Any) -> None:
        for name in self._names:
            column = table[name]
            if is_list(column):
                self._widths.setdefault(name, len(column[0].as_py() or ()) if len(column) else 0)
            elif is_text(decode(column)):
                known = self._texts.setdefault(name, {})
                known.update(dict.fromkeys(text for text in decode(column).unique().to_pylist() if text is not None))
                if len(known) > self._most:
                    raise UsageError(
                        f"context {name!r} has more than {self._most:,} different texts, so it looks like an identifier; "
                        "drop it, or group its values."
                    )

    def layout(self) -> FeatureLayout:
        texts = {name: tuple(sorted(texts)) for name, texts in self._texts.items()}
        return FeatureLayout(self._names, texts, dict(self._widths), self._intercept)

    def numeric(self) -> FeatureLayout:
        """The layout of the numeric contexts alone."""
        names = tuple(name for name in self._names if name not in self._texts)
        return FeatureLayout(names, {}, dict(self._widths), intercept=False)


class Standardizer:
    """Mean and standard deviation of every numeric feature, updated batch by batch."""

    def __init__(self) -> None:
        self._numeric = FeatureLayout((), intercept=False)
        self._count, self._mean, self._squares = 0, np.zeros(0), np.zeros(0)

    def update(self, table: Any, numeric: FeatureLayout) -> None:
        """``numeric`` may lose a context that turned out to be text."""
        self._keep_only(numeric)
        if not numeric.size:
            return
        values = numeric.encode(table).astype(np.float64)
        # Chan et al. (1983): merges the sums of two parts without cancellation.
        count, mean = len(values), values.mean(axis=0)
        gap = mean - self._mean
        self._squares += ((values - mean) ** 2).sum(axis=0) + gap * gap * (self._count * count / (self._count + count))
        self._mean += gap * (count / (self._count + count))
        self._count += count

    def _keep_only(self, numeric: FeatureLayout) -> None:
        if not self._count:
            self._mean, self._squares = np.zeros(numeric.size), np.zeros(numeric.size)
        elif numeric.names != self._numeric.names:
            old = self._numeric
            keep = np.concatenate([np.full(old.width(name), name in numeric.names) for name in old.names])
            self._mean, self._squares = self._mean[keep], self._squares[keep]
        self._numeric = numeric

    def standardised(self, survey: FeatureSurvey) -> FeatureLayout:
        """The surveyed layout, standardised by these rounds."""
        self._keep_only(survey.numeric())
        if not self._numeric.size:
            return survey.layout()
        deviation = np.sqrt(self._squares / max(self._count, 1))
        scale = np.where(deviation > 0.0, deviation, 1.0)
        return replace(survey.layout(), centre=tuple(self._mean.tolist()), scale=tuple(scale.tolist()))
