"""Pictures drawn with matplotlib (extra ``report``), fit for a paper: labelled, and apart for the colour-blind."""

from functools import singledispatch
from typing import Any

from surelift.errors import UsageError
from surelift.views.names import short, visible
from surelift.views.pictures import Curve, Dots, Growing, Intervals, Line, Weights
from surelift.views.tables import size_words

# Colours that remain apart for the colour-blind (Okabe and Ito).
COLOURS = ("#999999", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#000000", "#f0e442")
CERTIFIED, UNCERTAIN, WORSE = "#0072b2", "#767676", "#d55e00"
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def require_matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise UsageError(
            "figures need matplotlib, which is not installed; say: pip install 'surelift[report]'."
        ) from error
    return matplotlib


def plot(picture: Any, ax: Any = None) -> Any:
    """Draw into ``ax``, or into a figure of its own, and return the axes."""
    if ax is None:
        require_matplotlib()
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(6.4, height_of(picture)), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    draw(picture, ax)
    return ax


def height_of(picture: Any) -> float:
    """Inches: intervals and dots have a line each."""
    rows = len(picture.rows) if isinstance(picture, Intervals | Dots) else 0
    return 1.1 + 0.42 * rows if rows else 3.8


@singledispatch
def draw(picture: Any, ax: Any) -> None:
    raise TypeError(f"no plot of a {type(picture).__name__}")


@draw.register
def _(picture: Intervals, ax: Any) -> None:
    for place, one in enumerate(picture.rows):
        colour = CERTIFIED if one.certified else WORSE if one.verdict in ("worse", "surely not") else UNCERTAIN
        for end, arrow in ((one.lower, "|"), (one.upper, "|")):
            if end is not None:
                ax.plot([one.estimate, end], [place, place], color=colour, linewidth=2)
                ax.plot(end, place, arrow, color=colour, markersize=10, markeredgewidth=2)
        ax.plot(
            one.estimate, place, "o", color=colour, markersize=6, markerfacecolor=colour if one.certified else "white"
        )
        if picture.reference is None and one.mark is not None:
            ax.plot(one.mark, place, "d", color="black", markersize=4)
    _reference(ax.axvline, picture.reference)
    _name_rows(ax, [one.name for one in picture.rows])
    ax.set_xlabel(visible(picture.label), parse_math=False)


@draw.register
def _(picture: Growing, ax: Any) -> None:
    for place, line in enumerate(picture.lines):
        colour = LINES[place % len(LINES)]
        if _whole(line):
            ax.fill_between(line.x, line.lower, line.upper, color=colour, alpha=0.12, linewidth=0)
        for values, style, label in ((line.lower, "-", short(line.name)), (line.upper, ":", None)):
            ax.plot(line.x, _gaps(values), style, color=colour, label=label)
        ax.plot(line.x, _gaps(line.estimate), "--", color=colour, linewidth=0.8)
    _reference(ax.axhline, picture.reference)
    ax.set_xlabel(picture.counted)
    ax.set_ylabel(visible(picture.label), parse_math=False)
    ax.margins(x=0)
    _legend(ax, "lower bound (line), estimate (dashed), upper bound (dotted)")


def _whole(line: Line) -> bool:
    return None not in line.lower and None not in line.upper


def _gaps(values: Any) -> list[float]:
    return [float("nan") if value is None else value for value in values]


@draw.register
def _(picture: Weights, ax: Any) -> None:
    sizes = sorted({bar.below for bar in picture.bars})
    names = list(dict.fromkeys(bar.name for bar in picture.bars))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        own = [bar for bar in picture.bars if bar.name == name]
        left = [sizes.index(bar.below) + (place - (len(names) - 1) / 2) * width for bar in own]
        colour = LINES[place % len(LINES)]
        ax.bar(left, [100 * bar.rounds for bar in own], 0.9 * width, color=colour, alpha=0.35)
        ax.plot(left, [100 * bar.weight for bar in own], "D", color=colour, markersize=4, label=short(name))
    ax.set_xticks(range(len(sizes)), [size_words(size) for size in sizes], rotation=40, ha="right", fontsize="small")
    ax.set(xlabel="weight of a round", ylabel="per cent")
    _legend(ax, "of the rounds (bar), of the weight (diamond)")


@draw.register
def _(picture: Curve, ax: Any) -> None:
    ax.plot(picture.x, [100 * y for y in picture.y] if picture.percent else picture.y, color=CERTIFIED)
    level = 100 * picture.level if picture.percent else picture.level
    ax.axhline(level, color="#d55e00", linestyle="--", label=picture.level_name)
    if picture.mark is not None:
        ax.axvline(picture.mark, color="black", linewidth=0.8, label=picture.mark_name)
    ax.set_xscale("log")
    ax.set_xlabel(picture.x_label, parse_math=False)
    ax.set_ylabel(
        visible(f"{picture.y_label} (%)" if picture.percent else picture.y_label), parse_math=False, wrap=True
    )
    _legend(ax)


@draw.register
def _(picture: Dots, ax: Any) -> None:
    for place, one in enumerate(picture.rows):
        colour = CERTIFIED if one.certifies else UNCERTAIN
        ax.plot(100 * one.held, place, "o", color=colour, markerfacecolor=colour if one.certifies else "white")
    ax.axvline(100 * picture.level, color="black", linewidth=0.8)
    several = len({one.name for one in picture.rows}) > 1
    said = [f"{one.method}, width {one.width:.3g}" for one in picture.rows]
    _name_rows(ax, [f"{one.name}, {text}" if several else text for one, text in zip(picture.rows, said, strict=True)])
    ax.set_xlabel(f"held in per cent of simulated logs ({100 * picture.level:g} promised)")


def _reference(line: Any, value: float | None) -> None:
    if value is not None:
        line(value, color="black", linewidth=0.8)


def _name_rows(ax: Any, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), [short(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _legend(ax: Any, title: str | None = None) -> None:
    legend = ax.legend(
        fontsize="small", title=title, title_fontsize="small", loc="best", framealpha=0.8, edgecolor="none"
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
