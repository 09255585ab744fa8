"""Figures drawn with matplotlib (extra ``report``), ready for a paper: labelled, and clear to colour-blind readers."""

from functools import singledispatch
from typing import Any

from surelift.errors import UsageError
from surelift.views.figures import Curve, Dots, Growing, Intervals, WeightHistogram, brief
from surelift.views.names import short, visible
from surelift.views.tables import table, weight_range

# Distinct for colour-blind readers (Okabe and Ito).
COLOURS = (
    "#999999", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#000000", "#f0e442", "#882255",
)  # fmt: skip
CERTIFIED, UNCERTAIN, WORSE = "#0072b2", "#767676", "#d55e00"
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def require_matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise UsageError(
            "figures need matplotlib, which is not installed; run: pip install 'surelift[report]'."
        ) from error
    return matplotlib


def plot(figure: Any, ax: Any = None) -> Any:
    """Draw into ``ax``, or into a new matplotlib figure, and return the axes."""
    figure = brief(figure)
    if ax is None:
        require_matplotlib()
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(6.4, height_of(figure)), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    draw(figure, ax)
    return ax


def height_of(figure: Any) -> float:
    """In inches: one line for each interval or dot."""
    rows = len(figure.rows) if isinstance(figure, Intervals | Dots) else 0
    return 1.1 + 0.42 * rows if rows else 3.8


@singledispatch
def draw(figure: Any, ax: Any) -> None:
    raise TypeError(f"a {type(figure).__name__} has no plot")


@draw.register
def _(figure: Intervals, ax: Any) -> None:
    for y, row in enumerate(figure.on_one_axis()):
        colour = CERTIFIED if row.certified else WORSE if row.verdict in ("worse", "ruled out") else UNCERTAIN
        for end in (row.lower, row.upper):
            if end is not None:
                ax.plot([row.estimate, end], [y, y], color=colour, linewidth=2)
                ax.plot(end, y, "|", color=colour, markersize=10, markeredgewidth=2)
        ax.plot(row.estimate, y, "o", color=colour, markersize=6, markerfacecolor=colour if row.certified else "white")
        if figure.reference is None and row.mark is not None:
            ax.plot(row.mark, y, "d", color="black", markersize=4)
    _reference(ax.axvline, 0.0 if figure.own_units else figure.reference)
    if figure.own_units:
        _write_bounds(figure, ax)
    _name_rows(ax, [row.name for row in figure.rows])
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
    for index, line in enumerate(figure.lines):
        colour = LINES[index % len(LINES)]
        if None not in line.lower and None not in line.upper:
            ax.fill_between(line.x, line.lower, line.upper, color=colour, alpha=0.12, linewidth=0)
        ax.plot(line.x, _gaps(line.lower), "-", color=colour, label=short(line.name))
        ax.plot(line.x, _gaps(line.upper), ":", color=colour)
        ax.plot(line.x, _gaps(line.estimate), "--", color=colour, linewidth=0.8)
    _reference(ax.axhline, figure.reference)
    ax.set_xlabel(figure.counted)
    ax.set_ylabel(visible(figure.label), parse_math=False)
    ax.margins(x=0)
    _legend(ax, "lower bound (line), estimate (dashed), upper bound (dotted)")


def _gaps(values: Any) -> list[float]:
    return [float("nan") if value is None else value for value in values]


@draw.register
def _(figure: WeightHistogram, ax: Any) -> None:
    sizes = sorted({bar.below for bar in figure.bars})
    names = list(dict.fromkeys(bar.name for bar in figure.bars))
    width = 0.8 / len(names)
    for index, name in enumerate(names):
        bars = [bar for bar in figure.bars if bar.name == name]
        left = [sizes.index(bar.below) + (index - (len(names) - 1) / 2) * width for bar in bars]
        colour = LINES[index % len(LINES)]
        ax.bar(left, [100 * bar.rounds for bar in bars], 0.9 * width, color=colour, alpha=0.35)
        ax.plot(left, [100 * bar.weight for bar in bars], "D", color=colour, markersize=4, label=short(name))
    ax.set_xticks(range(len(sizes)), [weight_range(size) for size in sizes], rotation=40, ha="right", fontsize="small")
    ax.set(xlabel="importance weight", ylabel="per cent")
    _legend(ax, "share of rounds (bar), share of weight (diamond)")


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
    _name_rows(ax, [f"{name}{dot.method}, width {dot.width:.3g}" for name, dot in zip(names, figure.rows, strict=True)])
    ax.set_xlabel(f"simulated logs in which it held, in per cent (promised: {100 * figure.level:g})")


def _reference(line: Any, value: float | None) -> None:
    if value is not None:
        line(value, color="black", linewidth=0.8)


def _name_rows(ax: Any, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), [short(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _legend(ax: Any, title: str | None = None) -> None:
    legend = ax.legend(title=title, fontsize="small", title_fontsize="small", framealpha=0.8, edgecolor="none")
    for text in legend.get_texts():
        text.set_parse_math(False)
