"""From contexts to the features of a linear policy: numbers (optionally standardised), one-hot categories, an intercept.

The set of categories may be found while the rounds are read: that is the same policy as one with a feature for every
possible text, since the weights of a text that never occurs stay at the prior. One extra feature stands for all unseen
texts. A standardisation must not be found this way: it is fixed in advance, or computed on rounds that certify nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


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
