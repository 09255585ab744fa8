"""Small multiples: a figure of many policies, as one small chart for each, all with the same axes."""

from dataclasses import dataclass, replace

from surelift.views.figures import Figure, Growing, WeightHistogram

# So many lines, or groups of bars, can be told apart in one chart; with so few lines, there is room for their estimates.
MOST_LINES, MOST_GROUPS, FEW_LINES = 8, 4, 3


@dataclass(frozen=True, slots=True)
class Panel:
    figure: Figure
    policy: str = ""
    """The one policy it shows, where others are in panels beside it."""


def panels(figure: Figure) -> tuple[Panel, ...]:
    """One panel, or one for each policy where there are many."""
    if isinstance(figure, Growing) and len(figure.lines) > MOST_LINES:
        reach = settled_range(figure)
        return tuple(Panel(replace(figure, lines=(line,), reach=reach), line.name) for line in figure.lines)
    if isinstance(figure, WeightHistogram):
        names = dict.fromkeys(bar.name for bar in figure.bars)
        if len(names) > MOST_GROUPS:
            sizes = tuple(sorted({bar.below for bar in figure.bars}))
            top = max(max(bar.rounds, bar.weight) for bar in figure.bars)
            each = {name: tuple(bar for bar in figure.bars if bar.name == name) for name in names}
            return tuple(Panel(WeightHistogram(bars, sizes=sizes, top=top), name) for name, bars in each.items())
    return (Panel(figure),)


def drawn_lines(figure: Growing) -> str:
    """What the lines of a figure mean, as it is drawn."""
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
