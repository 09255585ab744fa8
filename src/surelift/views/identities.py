"""How each policy is told apart on a page: one colour in every chart and table, and a star for the chosen one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from surelift.views.figures import Growing, Intervals, WeightHistogram
from surelift.views.names import short

# Distinct for colour-blind readers, on white and on black; beyond their number they come again, next to a name.
COLOURS = (
    "#2f8ac9", "#d55e00", "#1ea07c", "#c9709f", "#c28f00", "#7d70d6", "#56b4e9", "#a0603a", "#6d9b1f", "#d24763",
    "#0f9fa8", "#e58a73",
)  # fmt: skip
PRODUCTION, NEUTRAL = "production", "#8a8f98"
STAR = "★"
LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class Identities:
    colours: Mapping[str, str]
    chosen: str | None = None

    @classmethod
    def of(cls, policies: Iterable[str], chosen: str | None = None) -> "Identities":
        """In the order of their names: production is grey, whatever its place."""
        candidates = [name for name in dict.fromkeys(policies) if name != PRODUCTION]
        colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(candidates)}
        return cls({**colours, PRODUCTION: NEUTRAL}, chosen)

    @classmethod
    def in_figure(cls, figure: Any) -> "Identities":
        """Of a figure that stands alone."""
        return cls.of(policies_in(figure), getattr(figure, "chosen", None))

    def labels(self, names: Iterable[str]) -> list[str]:
        """Names short enough for a chart, still different from each other, the chosen one with a star.

        >>> Identities({}, "b").labels(["ranker-2026-11-17-without-price", "ranker-2026-11-17-with-price", "b"])
        ['ranker-2026…ithout-price', 'ranker-2026…7-with-price', '★ b']
        """
        labels: list[str] = []
        for name in names:
            shown = short(name, LONGEST_LABEL) if name != self.chosen else f"{STAR} {short(name, LONGEST_LABEL)}"
            label, copy = shown, 2
            while label in labels:
                label, copy = f"{shown} ({copy})", copy + 1
            labels.append(label)
        return labels


def policies_in(figure: Any) -> list[str]:
    """The policies that a figure shows, in its order; none where its rows are something else, such as segments."""
    if isinstance(figure, Intervals):
        return [row.name for row in figure.rows] if figure.column == "policy" else []
    if isinstance(figure, Growing):
        return [line.name for line in figure.lines]
    if isinstance(figure, WeightHistogram):
        return list(dict.fromkeys(bar.name for bar in figure.bars))
    return []
