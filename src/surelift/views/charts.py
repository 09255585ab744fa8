"""What every chart shares, whoever draws it: colours and stars of policies, panels with the same axes, places for names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from surelift.errors import UsageError, install_extra
from surelift.views.figures import Figure, Growing, WeightHistogram
from surelift.views.formats import short

# Distinct for colour-blind readers, on white and on black; beyond their number they come again, next to a name.
COLOURS = (
    "#2f8ac9", "#d55e00", "#1ea07c", "#c9709f", "#c28f00", "#7d70d6", "#56b4e9", "#a0603a", "#6d9b1f", "#d24763",
    "#0f9fa8", "#e58a73",
)  # fmt: skip
PRODUCTION, NEUTRAL = "production", "#8a8f98"
STAR = "★"
LONGEST_LABEL = 24
# So many lines, or groups of bars, can be told apart in one chart; with so few lines, there is room for their estimates.
MOST_LINES, MOST_GROUPS, FEW_LINES = 8, 4, 3


def require(needs: str, *modules: str) -> Any:
    """The first of some modules that the extra ``report`` brings; an error where one is missing."""
    try:
        first, *_ = map(import_module, modules)
        return first
    except ModuleNotFoundError as error:
        raise UsageError(f"{needs} {error.name}, which is not installed. {install_extra('report')}") from error


@dataclass(frozen=True, slots=True)
class Identities:
    """How each policy is told apart on a page: one colour in every chart and table, and a star for the chosen one."""

    colours: Mapping[str, str]
    chosen: str | None = None

    @classmethod
    def of(cls, policies: Iterable[str], chosen: str | None = None) -> "Identities":
        """Colours in the order in which policies are named: production is grey, whatever its place."""
        candidates = [name for name in dict.fromkeys(policies) if name != PRODUCTION]
        colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(candidates)}
        return cls({**colours, PRODUCTION: NEUTRAL}, chosen)

    @classmethod
    def in_figure(cls, figure: Figure) -> "Identities":
        """The identities of a figure that stands alone."""
        return cls.of(figure.policies, getattr(figure, "chosen", None))

    def labels(self, names: Iterable[str]) -> list[str]:
        """Names short enough for a chart, still different from each other, the chosen one with a star.

        >>> Identities({}, "b").labels(["ranker-2026-11-17-without-price", "ranker-2026-11-17-with-price", "b"])
        ['ranker-2026…ithout-price', 'ranker-2026…7-with-price', '★ b']
        """
        labels: list[str] = []
        for name in names:
            shown = f"{STAR} " * (name == self.chosen) + short(name, LONGEST_LABEL)
            label, copy = shown, 2
            while label in labels:
                label, copy = f"{shown} ({copy})", copy + 1
            labels.append(label)
        return labels


class Panel(NamedTuple):
    figure: Figure
    policy: str = ""
    """The one policy it shows, where others are in panels beside it."""


def panels(figure: Figure) -> tuple[Panel, ...]:
    """One panel, or where there are many policies a small one for each, all with the same axes."""
    if isinstance(figure, Growing) and len(figure.lines) > MOST_LINES:
        reach = settled_range(figure)
        return tuple(Panel(replace(figure, lines=(line,), reach=reach), line.name) for line in figure.lines)
    if isinstance(figure, WeightHistogram) and len(figure.policies) > MOST_GROUPS:
        top = max(share for bars in figure.bars.values() for bar in bars for share in (bar.rounds, bar.weight))
        axes = replace(figure, sizes=figure.all_sizes, top=top)
        return tuple(Panel(replace(axes, bars={name: bars}), name) for name, bars in figure.bars.items())
    return (Panel(figure),)


def drawn_lines(figure: Growing) -> str:
    """The meaning of the lines of a figure, as it is drawn."""
    if 1 < len(figure.lines) <= MOST_LINES:
        return f"Lines: lower bounds.{' Dashed: estimates.' if len(figure.lines) <= FEW_LINES else ''}"
    return "Line: lower bound. Dashed: estimate. Dotted: upper bound."


def settled_range(figure: Growing) -> tuple[float, float]:
    """The range of the bounds without the first few, which are so wide that later ones would look alike."""
    if figure.reach is not None:
        return figure.reach
    ends = [figure.reference] if figure.reference is not None else []
    together = 1 < len(figure.lines) <= MOST_LINES  # then the upper bounds are not drawn
    for line in figure.lines:
        later = len(line.x) // (6 if len(figure.lines) <= MOST_LINES else 3)  # small charts show less
        drawn = (line.lower, line.estimate if together else line.upper)
        ends += [end for side in drawn for end in side[later:] if end is not None]
    room = 0.05 * (max(ends) - min(ends)) or 0.01
    return min(ends) - room, max(ends) + room


def ends_of_lines(figure: Growing, *, apart: float) -> list[float]:
    """Places for names beside the ends of their lines, at least ``apart`` as a share of the height."""
    low, high = settled_range(figure)
    last = (next((end for end in reversed(line.lower) if end is not None), low) for line in figure.lines)
    return spread([min(max(end, low), high) for end in last], apart=apart * (high - low))


def spread(places: Sequence[float], *, apart: float) -> list[float]:
    """Places at least ``apart`` from each other, in the same order and as near to their own as that allows.

    >>> spread([0.0, 0.1, 5.0], apart=1.0)
    [-0.45, 0.55, 5.0]
    """
    from scipy.optimize import isotonic_regression

    order, room = np.argsort(places, kind="stable"), apart * np.arange(len(places))
    spaced = np.empty(len(places))
    spaced[order] = isotonic_regression(np.asarray(places)[order] - room).x + room
    return list(map(float, spaced))
