"""Figures drawn with matplotlib (extra ``report``), ready for a paper: labelled, and clear to colour-blind readers."""

from functools import singledispatch
from textwrap import fill
from typing import Any

from surelift.errors import UsageError, install_extra
from surelift.views.end_labels import spread
from surelift.views.figures import Curve, Dots, Growing, Intervals, WeightHistogram, brief
from surelift.views.identities import Identities, policies_in
from surelift.views.names import short, visible
from surelift.views.panels import FEW_LINES, drawn_lines, settled_range
from surelift.views.tables import table, weight_range

# Distinct for colour-blind readers (Okabe and Ito).
COLOURS = (
    "#999999", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#000000", "#f0e442", "#882255",
)  # fmt: skip
# In inches.
WIDTH = 6.4
CERTIFIED, UNCERTAIN, WORSE = "#0072b2", "#767676", "#d55e00"


def require_matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise UsageError(f"figures need matplotlib, which is not installed. {install_extra('report')}") from error
    return matplotlib


def plot(figure: Any, ax: Any = None, *, title: str = "", level: str = "") -> Any:
    """Draw into ``ax``, or into a new matplotlib figure, and return the axes."""
    figure = brief(figure)
    if ax is None:
        require_matplotlib()
        from matplotlib import pyplot

        names = [short(row.name) for row in figure.rows] if isinstance(figure, Intervals) else [""]
        width = WIDTH - 0.4 - 0.08 * max(map(len, names))
        head = _head(title, level, width)
        size = (WIDTH, height_of(figure) + 0.2 * sum(text.count("\n") + 1 for text in head if text))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    else:
        head = _head(title, level, ax.get_window_extent().width / ax.figure.dpi)
    ax.spines[["top", "right"]].set_visible(False)
    draw(figure, ax)
    _write_head(ax, *head)
    return ax


def _head(title: str, level: str, width: float) -> tuple[str, str]:
    """The title, and the level of the bounds in small print, in lines as wide as the axes, in inches."""
    return fill(visible(title), max(int(10 * width), 24)), fill(visible(level), max(int(14 * width), 34))


def _write_head(ax: Any, title: str, small: str) -> None:
    if small:
        text = ax.annotate(small, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points",
                           fontsize="small", color="#5b626c", va="bottom", parse_math=False)  # fmt: skip
        text.set_in_layout(False)  # its width is not to take room from the axes
    if title:
        above = 7 + 11 * (small.count("\n") + 1 if small else 0)
        ax.set_title(title, loc="left", fontsize="large", pad=above, parse_math=False)


def height_of(figure: Any) -> float:
    """In inches: one line for each interval or dot."""
    if isinstance(figure, Intervals | Dots):
        return 1.1 + 0.42 * len(figure.rows)
    return max(3.8, 1.0 + 0.21 * len(policies_in(figure)))


@singledispatch
def draw(figure: Any, ax: Any) -> None:
    raise TypeError(f"a {type(figure).__name__} has no plot")


@draw.register
def _(figure: Intervals, ax: Any) -> None:
    identities, by_policy = Identities.in_figure(figure), bool(policies_in(figure))
    for y, row in enumerate(figure.on_one_axis()):
        verdict = CERTIFIED if row.certified else WORSE if row.verdict in ("worse", "ruled out") else UNCERTAIN
        colour = identities.colours[row.name] if by_policy else verdict
        for end in (row.lower, row.upper):
            if end is not None:
                ax.plot([row.estimate, end], [y, y], color=colour, linewidth=2)
                ax.plot(end, y, "|", color=colour, markersize=10, markeredgewidth=2)
        inside = colour if row.certified or not row.verdict else "white"
        ax.plot(row.estimate, y, "o", color=colour, markersize=6, markerfacecolor=inside)
        if figure.reference is None and row.mark is not None:
            ax.plot(row.mark, y, "d", color="black", markersize=4)
    _reference(ax.axvline, 0.0 if figure.own_units else figure.reference)
    if figure.own_units:
        _write_bounds(figure, ax)
    _name_rows(ax, identities.labels(row.name for row in figure.rows))
    ax.set_xlabel(visible(figure.label), parse_math=False)


def _write_bounds(figure: Intervals, ax: Any) -> None:
    """The numbers above the ends, where the axis cannot tell them."""
    for y, (row, cells) in enumerate(zip(figure.on_one_axis(), table(figure).rows, strict=True)):
        for end, text, side in ((row.lower, cells[2], "right"), (row.upper, cells[3], "left")):
            if end is not None:
                ax.annotate(text, (end, y), (0, 7), textcoords="offset points", ha=side, fontsize="small")
    ax.set_xticks([0.0], ["0"])
    ax.margins(x=0.12)


@draw.register
def _(figure: Growing, ax: Any) -> None:
    identities, few = Identities.in_figure(figure), len(figure.lines) <= FEW_LINES
    for line in figure.lines:
        colour = identities.colours[line.name]
        ax.plot(line.x, _gaps(line.lower), "-", color=colour, linewidth=1.8)
        if few:
            ax.plot(line.x, _gaps(line.estimate), "--", color=colour, linewidth=0.8)
        if len(figure.lines) == 1:
            ax.plot(line.x, _gaps(line.upper), ":", color=colour)
            if None not in line.lower and None not in line.upper:
                ax.fill_between(line.x, line.lower, line.upper, color=colour, alpha=0.12, linewidth=0)
    _reference(ax.axhline, figure.reference)
    ax.set_xlabel(f"{figure.counted}\n{drawn_lines(figure)}")
    ax.set_ylabel(visible(figure.label), parse_math=False)
    ax.margins(x=0)
    ax.set_ylim(*settled_range(figure))
    if len(figure.lines) > 1:
        _name_lines(figure, ax, identities)


def _name_lines(figure: Growing, ax: Any, identities: Identities) -> None:
    """Beside the ends of their lines, as far apart as they are high."""
    low, high = ax.get_ylim()
    last = [next((end for end in reversed(line.lower) if end is not None), low) for line in figure.lines]
    ends = [min(max(end, low), high) for end in last]
    names = identities.labels(line.name for line in figure.lines)
    for line, name, at in zip(figure.lines, names, spread(ends, apart=(high - low) / max(18, len(ends))), strict=True):
        ax.annotate(name, (1.01, at), xycoords=("axes fraction", "data"), color=identities.colours[line.name],
                    fontsize="small", va="center", annotation_clip=False, parse_math=False)  # fmt: skip


def _gaps(values: Any) -> list[float]:
    return [float("nan") if value is None else value for value in values]


@draw.register
def _(figure: WeightHistogram, ax: Any) -> None:
    sizes = sorted({bar.below for bar in figure.bars})
    names = list(dict.fromkeys(bar.name for bar in figure.bars))
    width, identities = 0.8 / len(names), Identities.in_figure(figure)
    for index, name in enumerate(names):
        bars = [bar for bar in figure.bars if bar.name == name]
        left = [sizes.index(bar.below) + (index - (len(names) - 1) / 2) * width for bar in bars]
        colour = identities.colours[name]
        ax.bar(left, [100 * bar.rounds for bar in bars], 0.9 * width, color=colour, alpha=0.35)
        ax.plot(left, [100 * bar.weight for bar in bars], "D", color=colour, markersize=4, label=short(name))
    ax.set_xticks(range(len(sizes)), [weight_range(size) for size in sizes], rotation=40, ha="right", fontsize="small")
    ax.set(xlabel="importance weight", ylabel="per cent")
    _legend(ax, "share of rounds (bar),\nshare of weight (diamond)", loc="upper left", bbox_to_anchor=(1.0, 1.0))


@draw.register
def _(figure: Curve, ax: Any) -> None:
    scale = 100 if figure.percent else 1
    ax.plot(figure.x, [scale * y for y in figure.y], color=CERTIFIED)
    ax.axhline(scale * figure.level, color=WORSE, linestyle="--", label=figure.level_name)
    if figure.mark is not None:
        ax.axvline(figure.mark, color="black", linewidth=0.8, label=figure.mark_name)
    ax.set_xscale("log")
    ax.set_xlabel(figure.x_label, parse_math=False)
    ax.set_ylabel(visible(f"{figure.y_label} (%)" if figure.percent else figure.y_label), parse_math=False, wrap=True)
    _legend(ax)


@draw.register
def _(figure: Dots, ax: Any) -> None:
    for y, dot in enumerate(figure.rows):
        colour = CERTIFIED if dot.certifies else UNCERTAIN
        ax.plot(100 * dot.held, y, "o", color=colour, markerfacecolor=colour if dot.certifies else "white")
    ax.axvline(100 * figure.level, color="black", linewidth=0.8)
    names = [f"{dot.name}, " if len({dot.name for dot in figure.rows}) > 1 else "" for dot in figure.rows]
    rows = [f"{name}{dot.method}, width {dot.width:.3g}" for name, dot in zip(names, figure.rows, strict=True)]
    _name_rows(ax, [short(row) for row in rows])
    ax.set_xlabel(f"simulated logs in which it held, in per cent (promised: {100 * figure.level:g})")


def _reference(line: Any, value: float | None) -> None:
    if value is not None:
        line(value, color="black", linewidth=0.8)


def _name_rows(ax: Any, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _legend(ax: Any, title: str | None = None, **place: Any) -> None:
    legend = ax.legend(title=title, fontsize="small", title_fontsize="small", framealpha=0.8, edgecolor="none", **place)
    for text in legend.get_texts():
        text.set_parse_math(False)
