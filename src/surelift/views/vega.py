"""Figures as Vega-Lite charts, made with altair (extra ``report``). Names are data, never part of an expression."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from surelift.errors import UsageError
from surelift.views.figures import Curve, Dots, Growing, Intervals, WeightHistogram
from surelift.views.names import short, visible
from surelift.views.tables import table, weight_range

CERTIFIED, UNCERTAIN, LEVEL = "#2f8ac9", "#8a8f98", "#d55e00"
# Distinct for colour-blind readers, on white and on black.
LINES = ["#2f8ac9", "#d55e00", "#1ea07c", "#c9709f", "#d39200", "#56b4e9"]
VERDICTS = {"not certified": UNCERTAIN, "not found": UNCERTAIN, "worse": LEVEL, "ruled out": LEVEL}


def require_altair() -> Any:
    try:
        import altair
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a page needs {error.name}, which is not installed; run: pip install 'surelift[report]'."
        ) from error
    return altair


def spec(figure: Any) -> dict[str, Any]:
    """The chart as a dict for Vega-Lite, as wide as its page."""
    altair = require_altair()
    sized = chart(figure, altair).properties(width="container", autosize={"type": "fit-x", "contains": "padding"})
    content: dict[str, Any] = sized.to_dict()
    return content


@singledispatch
def chart(figure: Any, alt: Any) -> Any:
    raise TypeError(f"a {type(figure).__name__} has no chart")


@chart.register
def _(figure: Intervals, alt: Any) -> Any:
    names, cells = distinct([interval.name for interval in figure.rows]), table(figure).rows
    rows = [
        {
            "name": name, "estimate": row.estimate, "lower": row.lower, "upper": row.upper,
            "verdict": row.verdict or "bounds", "mark": row.mark,
            "from": row.estimate if row.lower is None else row.lower,
            "to": row.estimate if row.upper is None else row.upper,
            "shown": shown[1], "at least": shown[2], "at most": shown[3],
        }
        for name, row, shown in zip(names, figure.on_one_axis(), cells, strict=True)
    ]  # fmt: skip
    verdicts = list(dict.fromkeys(str(row["verdict"]) for row in rows))
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=140, ticks=False, domain=False)),
        color=_coloured(alt, "verdict:N", verdicts, [VERDICTS.get(verdict, CERTIFIED) for verdict in verdicts]),
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("shown:N", title="estimate"), "at least:N", "at most:N"],
    )
    # Of rows in units of their own only zero has a place on the axis.
    scale, axis = alt.Scale(zero=False), alt.Axis(tickCount=6)
    if figure.own_units:
        scale, axis = alt.Scale(zero=True, padding=40), alt.Axis(values=[0])
    x = alt.X("from:Q", title=visible(figure.label), scale=scale, axis=axis)
    layers = [
        base.mark_rule(strokeWidth=3).encode(x=x, x2="to:Q"),
        *(
            base.mark_tick(thickness=3, size=18).encode(x=f"{side}:Q").transform_filter(f"isValid(datum.{side})")
            for side in ("lower", "upper")
            if any(row[side] is not None for row in rows)
        ),
        base.mark_point(size=70, filled=True, opacity=1).encode(x="estimate:Q"),
    ]
    if figure.own_units:
        layers += [
            base.mark_text(dy=-14, fontSize=11, align=align).encode(x=f"{side}:Q", text=f"{words}:N")
            for side, words, align in (("lower", "at least", "right"), ("upper", "at most", "left"))
        ]
        layers.insert(0, _rule(alt, x=0.0))
    if figure.reference is not None:
        layers.insert(0, _rule(alt, x=figure.reference))
    elif any(interval.mark is not None for interval in figure.rows):
        layers.append(base.mark_point(shape="diamond", size=50, color="#888").encode(x="mark:Q"))
    return alt.layer(*layers).properties(height=44 * len(figure.rows))


@chart.register
def _(figure: Growing, alt: Any) -> Any:
    names = distinct([line.name for line in figure.lines])
    rows = [
        {"policy": name, "rounds": x, "lower": low, "estimate": middle, "upper": high}
        for name, line in zip(names, figure.lines, strict=True)
        for x, low, middle, high in zip(line.x, line.lower, line.estimate, line.upper, strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("rounds:Q", title=figure.counted, axis=alt.Axis(format="~s", tickCount=6)),
        color=_coloured(alt, "policy:N", names, LINES, always=True),
    )
    y = alt.Y("lower:Q", title=visible(figure.label), scale=alt.Scale(domain=settled_range(figure)))
    layers = [
        base.mark_line(strokeWidth=2.5, clip=True).encode(y=y),
        base.mark_line(strokeWidth=1, strokeDash=[6, 3], clip=True).encode(y="estimate:Q"),
    ]
    if len(names) == 1:  # several upper bounds would only clutter the chart
        dotted = base.mark_line(strokeWidth=1.5, strokeDash=[1, 4], strokeCap="round", clip=True)
        layers.append(dotted.encode(y="upper:Q"))
        layers.insert(0, base.mark_area(opacity=0.12, clip=True).encode(y=y, y2="upper:Q"))
    if figure.reference is not None:
        layers.insert(0, _rule(alt, y=figure.reference))
    return alt.layer(*layers).properties(height=280)


@chart.register
def _(figure: WeightHistogram, alt: Any) -> Any:
    ranges = [weight_range(below) for below in sorted({bar.below for bar in figure.bars})]
    names = list(dict.fromkeys(bar.name for bar in figure.bars))
    labels = dict(zip(names, distinct(names), strict=True))
    # One policy has room for both shares; several show the share of the weight only.
    alone = len(names) == 1
    both = {"share of rounds": UNCERTAIN, "share of weight": CERTIFIED}
    rows = [
        {"weight": weight_range(bar.below), "share": share, "of": label}
        for bar in figure.bars
        for label, share in (
            [("share of rounds", bar.rounds), ("share of weight", bar.weight)]
            if alone
            else [(labels[bar.name], bar.weight)]
        )
    ]
    kinds, colours = (list(both), list(both.values())) if alone else (list(labels.values()), LINES)
    bars = alt.Chart(alt.Data(values=rows)).mark_bar().properties(height=220)
    return bars.encode(
        x=alt.X("weight:O", sort=ranges, title="importance weight", axis=alt.Axis(labelAngle=-40)),
        xOffset=alt.XOffset("of:N", sort=None),
        y=alt.Y("share:Q", title="share" if alone else "share of weight", axis=alt.Axis(format="%")),
        color=_coloured(alt, "of:N", kinds, colours, always=True),
        tooltip=[alt.Tooltip("of:N", title=" "), alt.Tooltip("share:Q", format=".3%", title="share")],
    )


@chart.register
def _(figure: Curve, alt: Any) -> Any:
    rows = [{"x": x, "y": y} for x, y in zip(figure.x, figure.y, strict=True)]
    line = alt.Chart(alt.Data(values=rows)).mark_line(color=CERTIFIED, strokeWidth=2.5)
    layers = [
        line.encode(
            x=alt.X("x:Q", title=figure.x_label, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("y:Q", title=visible(figure.y_label), axis=alt.Axis(format="%") if figure.percent else alt.Axis()),
        ),
        _rule(alt, y=figure.level, colour=LEVEL, dash=True),
    ]
    if figure.mark is not None:
        layers.append(_rule(alt, x=figure.mark))
    return alt.layer(*layers).properties(height=260)


@chart.register
def _(figure: Dots, alt: Any) -> Any:
    several = len({dot.name for dot in figure.rows}) > 1
    names = distinct([f"{dot.name}, {dot.method}" if several else dot.method for dot in figure.rows])
    rows = [
        {"name": name, "held": dot.held, "width": dot.width, "kind": "certifies" if dot.certifies else "no guarantee"}
        for name, dot in zip(names, figure.rows, strict=True)
    ]
    dots = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=90, opacity=1)
    labelled = dots.encode(
        x=alt.X(
            "held:Q", title="simulated logs in which it held", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)
        ),
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, ticks=False, domain=False)),
        color=_coloured(alt, "kind:N", ["certifies", "no guarantee"], [CERTIFIED, UNCERTAIN]),
        tooltip=[alt.Tooltip("held:Q", format=".1%"), alt.Tooltip("width:Q", format=".4g")],
    )
    return alt.layer(_rule(alt, x=figure.level), labelled).properties(height=28 * len(figure.rows))


def distinct(names: Sequence[str]) -> list[str]:
    """Names short enough for a chart, and still different from each other.

    >>> distinct(["new", "a" * 30 + "1" + "b" * 30, "a" * 30 + "2" + "b" * 30])[1:]
    ['aaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbb', 'aaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbb (2)']
    """
    labels: list[str] = []
    for name in names:
        label, copy = short(name), 2
        while label in labels:
            label, copy = f"{short(name)} ({copy})", copy + 1
        labels.append(label)
    return labels


def settled_range(figure: Growing) -> list[float]:
    """The range of the bounds without the first few, which are so wide that later ones would look alike."""
    ends = [figure.reference] if figure.reference is not None else []
    for line in figure.lines:
        later = len(line.x) // 6
        drawn = (line.lower, line.upper if len(figure.lines) == 1 else line.estimate)
        ends += [end for side in drawn for end in side[later:] if end is not None]
    room = 0.05 * (max(ends) - min(ends))
    return [min(ends) - room, max(ends) + room]


def _coloured(alt: Any, field: str, kinds: list[str], colours: list[str], *, always: bool = False) -> Any:
    """A colour for each kind, with a legend above: always, or where there are several."""
    legend = alt.Legend(orient="top", symbolLimit=0, labelLimit=220) if always or len(kinds) > 1 else None
    colours = [colours[index % len(colours)] for index in range(len(kinds))]
    return alt.Color(field, title=None, legend=legend, scale=alt.Scale(domain=kinds, range=colours))


def _rule(alt: Any, *, x: float | None = None, y: float | None = None, colour: str = "#888", dash: bool = False) -> Any:
    mark = alt.Chart(alt.Data(values=[{"at": x if y is None else y}])).mark_rule(
        color=colour, strokeWidth=1.5, strokeDash=[5, 4] if dash else [1, 0]
    )
    return mark.encode(x="at:Q") if y is None else mark.encode(y="at:Q")
