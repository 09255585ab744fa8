"""Figures drawn with matplotlib (extra ``report``), ready for a paper: labelled, and clear to colour-blind readers."""

from textwrap import fill
from typing import Any

import numpy as np

from surelift.views.charts import FEW_LINES, Identities, drawn_lines, ends_of_lines, require, settled_range
from surelift.views.figures import Curve, Dots, Figure, Growing, Intervals, WeightHistogram
from surelift.views.formats import short, visible
from surelift.views.tables import table, weight_range

# Distinct for colour-blind readers (Okabe and Ito).
COLOURS = (
    "#999999", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#000000", "#f0e442", "#882255",
)  # fmt: skip
# In inches.
WIDTH = 6.4
CERTIFIED, UNCERTAIN, WORSE = "#0072b2", "#767676", "#d55e00"


def require_matplotlib() -> Any:
    return require("figures need", "matplotlib")


def plot(figure: Figure, ax: Any = None, *, title: str = "", level: str = "") -> Any:
    """Draw into ``ax``, or into a new matplotlib figure, and return the axes."""
    figure = figure.brief()
    if ax is None:
        names = [short(row.name) for row in figure.rows] if isinstance(figure, Intervals) else [""]
        width = WIDTH - 0.4 - 0.08 * max(map(len, names))
    else:
        width = ax.get_window_extent().width / ax.figure.dpi
    # In lines as wide as the axes; the level of the bounds in small print.
    title, level = fill(visible(title), max(int(10 * width), 24)), fill(visible(level), max(int(14 * width), 34))
    if ax is None:
        require_matplotlib()
        from matplotlib import pyplot

        lines = sum(text.count("\n") + 1 for text in (title, level) if text)
        height = max(3.8, 1.0 + 0.21 * len(figure.policies))
        if isinstance(figure, Intervals | Dots):
            height = 1.1 + 0.42 * len(figure.rows)
        _, ax = pyplot.subplots(figsize=(WIDTH, height + 0.2 * lines), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    _DRAWN[type(figure)](figure, ax)
    if level:
        text = ax.annotate(level, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points",
                           fontsize="small", color="#5b626c", va="bottom", parse_math=False)  # fmt: skip
        text.set_in_layout(False)  # its width is not to take room from the axes
    if title:
        above = 7 + 11 * (level.count("\n") + 1 if level else 0)
        ax.set_title(title, loc="left", fontsize="large", pad=above, parse_math=False)
    return ax


def _intervals(figure: Intervals, ax: Any) -> None:
    identities, by_policy = Identities.in_figure(figure), bool(figure.policies)
    for y, (row, cells) in enumerate(zip(figure.on_one_axis(), table(figure).rows, strict=True)):
        verdict = CERTIFIED if row.certified else WORSE if row.verdict in ("worse", "ruled out") else UNCERTAIN
        colour = identities.colours[row.name] if by_policy else verdict
        for end, text, side in ((row.lower, cells[2], "right"), (row.upper, cells[3], "left")):
            if end is None:
                continue
            ax.plot([row.estimate, end], [y, y], color=colour, linewidth=2)
            ax.plot(end, y, "|", color=colour, markersize=10, markeredgewidth=2)
            if figure.own_units:  # the axis cannot tell the numbers
                ax.annotate(text, (end, y), (0, 7), textcoords="offset points", ha=side, fontsize="small")
        inside = colour if row.certified or not row.verdict else "white"
        ax.plot(row.estimate, y, "o", color=colour, markersize=6, markerfacecolor=inside)
        if figure.reference is None and row.mark is not None:
            ax.plot(row.mark, y, "d", color="black", markersize=4)
    _reference(ax.axvline, 0.0 if figure.own_units else figure.reference)
    if figure.own_units:
        ax.set_xticks([0.0], ["0"])
        ax.margins(x=0.12)
    _name_rows(ax, identities.labels(row.name for row in figure.rows))
    ax.set_xlabel(visible(figure.label), parse_math=False)


def _growing(figure: Growing, ax: Any) -> None:
    identities, few = Identities.in_figure(figure), len(figure.lines) <= FEW_LINES
    for line in figure.lines:
        colour = identities.colours[line.name]
        # Where there is no bound yet, NaN leaves a gap.
        lower, estimate, upper = (np.array(side, float) for side in (line.lower, line.estimate, line.upper))
        ax.plot(line.x, lower, "-", color=colour, linewidth=1.8)
        if few:
            ax.plot(line.x, estimate, "--", color=colour, linewidth=0.8)
        if len(figure.lines) == 1:
            ax.plot(line.x, upper, ":", color=colour)
            if not np.isnan([lower, upper]).any():
                ax.fill_between(line.x, lower, upper, color=colour, alpha=0.12, linewidth=0)
    _reference(ax.axhline, figure.reference)
    ax.set_xlabel(f"{figure.counted}\n{drawn_lines(figure)}")
    ax.set_ylabel(visible(figure.label), parse_math=False)
    ax.margins(x=0)
    ax.set_ylim(*settled_range(figure))
    if len(figure.lines) > 1:
        names, places = identities.labels(figure.policies), ends_of_lines(figure, apart=1 / max(18, len(figure.lines)))
        for line, name, at in zip(figure.lines, names, places, strict=True):
            ax.annotate(name, (1.01, at), xycoords=("axes fraction", "data"), color=identities.colours[line.name],
                        fontsize="small", va="center", annotation_clip=False, parse_math=False)  # fmt: skip


def _weights(figure: WeightHistogram, ax: Any) -> None:
    sizes, identities, width = figure.all_sizes, Identities.in_figure(figure), 0.8 / len(figure.bars)
    for index, (name, bars) in enumerate(figure.bars.items()):
        colour = identities.colours[name]
        left = [sizes.index(bar.below) + (index - (len(figure.bars) - 1) / 2) * width for bar in bars]
        ax.bar(left, [100 * bar.rounds for bar in bars], 0.9 * width, color=colour, alpha=0.35)
        ax.plot(left, [100 * bar.weight for bar in bars], "D", color=colour, markersize=4, label=short(name))
    ax.set_xticks(range(len(sizes)), [weight_range(size) for size in sizes], rotation=40, ha="right", fontsize="small")
    ax.set(xlabel="importance weight", ylabel="per cent")
    _legend(ax, "share of rounds (bar),\nshare of weight (diamond)", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _curve(figure: Curve, ax: Any) -> None:
    scale = 100 if figure.percent else 1
    ax.plot(figure.x, [scale * y for y in figure.y], color=CERTIFIED)
    ax.axhline(scale * figure.level, color=WORSE, linestyle="--", label=figure.level_name)
    if figure.mark is not None:
        ax.axvline(figure.mark, color="black", linewidth=0.8, label=figure.mark_name)
    ax.set_xscale("log")
    ax.set_xlabel(figure.x_label, parse_math=False)
    ax.set_ylabel(visible(f"{figure.y_label} (%)" if figure.percent else figure.y_label), parse_math=False, wrap=True)
    _legend(ax)


def _dots(figure: Dots, ax: Any) -> None:
    names = []
    for y, (label, dot) in enumerate(zip(figure.labels, figure.rows, strict=True)):
        colour, inside = (CERTIFIED, CERTIFIED) if dot.certifies else (UNCERTAIN, "white")
        ax.plot(100 * dot.held, y, "o", color=colour, markerfacecolor=inside)
        names.append(short(f"{label}, width {dot.width:.3g}"))
    _reference(ax.axvline, 100 * figure.level)
    _name_rows(ax, names)
    ax.set_xlabel(f"simulated logs in which it held, in per cent (promised: {100 * figure.level:g})")


_DRAWN: dict[type[Figure], Any] = {
    Intervals: _intervals, Growing: _growing, WeightHistogram: _weights, Curve: _curve, Dots: _dots,
}  # fmt: skip


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
