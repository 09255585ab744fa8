"""From contexts to the features of a linear policy: numbers (optionally standardised), one-hot categories, an intercept.

The set of categories may be found while the rounds are read: that is the same policy as one with a feature for every
possible text, since the weights of a text that never occurs stay at the prior. One extra feature stands for all unseen
texts. A standardisation must not be found this way: it is fixed in advance, or computed on rounds that certify nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class FeatureLayout:
    """Which features a row has, and in what order."""

    names: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the categories of each text context
    widths: Mapping[str, int] = field(default_factory=dict)  # for each list context, its length
    intercept: bool = True
    centre: tuple[float, ...] | None = None  # subtracted from the numeric features, in order
    scale: tuple[float, ...] | None = None  # divides the numeric features, in order

    @property
    def size(self) -> int:
        return sum(self.width(name) for name in self.names) + self.intercept

    def width(self, name: str) -> int:
        return len(self.texts[name]) + 1 if name in self.texts else self.widths.get(name, 1)

    def unseen(self) -> list[int]:
        """The features for unseen texts: their weights keep the prior."""
        ends = np.cumsum([self.width(name) for name in self.names])
        return [int(end) - 1 for name, end in zip(self.names, ends, strict=True) if name in self.texts]

    def encode(self, table: Any, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
        """The features, (rows, features), of a pyarrow table with these columns; missing numbers are refused.

        They are written into ``out`` where it is given, which must hold zeros.
        """
        from surelift.learning.data.features import encode  # and with it pyarrow, which serving does without

        return encode(self, table, out)

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_description(cls, form: Mapping[str, Any]) -> "FeatureLayout":
        centre, scale = (None if form[name] is None else tuple(form[name]) for name in ("centre", "scale"))
        texts = {name: tuple(texts) for name, texts in form["texts"].items()}
        return cls(tuple(form["names"]), texts, dict(form["widths"]), bool(form["intercept"]), centre, scale)
