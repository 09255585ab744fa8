"""Figures as Vega-Lite charts, made with altair (extra ``report``). Names are data, never part of an expression."""

from typing import Any

from surelift.views.charts import FEW_LINES, NEUTRAL, Identities, ends_of_lines, require, settled_range
from surelift.views.figures import Curve, Dots, Figure, Growing, Intervals, WeightHistogram
from surelift.views.formats import visible
from surelift.views.tables import table, weight_range

CERTIFIED, UNCERTAIN, LEVEL = "#2f8ac9", NEUTRAL, "#d55e00"
VERDICTS = {"not certified": UNCERTAIN, "not found": UNCERTAIN, "worse": LEVEL, "ruled out": LEVEL}
HEIGHT, SMALL_HEIGHT = 280, 120
# What is behind a chart, which a page sets by day and by night.
GROUND = "ground"
# Narrower charts have no room for names beside their lines.
NAMES_FROM_WIDTH = 420


def require_altair() -> Any:
    return require("a page needs", "altair", "jinja2", "vl_convert")


def spec(figure: Figure, identities: Identities | None = None) -> dict[str, Any]:
    """The chart as a dict for Vega-Lite, as wide as its page."""
    chart = _CHARTS[type(figure)](figure, require_altair(), identities or Identities.in_figure(figure))
    sized = chart.properties(width="container", autosize={"type": "fit-x", "contains": "padding"})
    content: dict[str, Any] = sized.to_dict()
    return {**content, "params": [{"name": GROUND, "value": "white"}]}


def _intervals(figure: Intervals, alt: Any, identities: Identities) -> Any:
    policies = figure.policies
    names, cells = identities.labels(row.name for row in figure.rows), table(figure).rows
    rows = [
        {
            "name": name, "estimate": row.estimate, "lower": row.lower, "upper": row.upper,
            "verdict": row.verdict or "bounds", "mark": row.mark, "certified": row.certified or not row.verdict,
            "from": row.estimate if row.lower is None else row.lower,
            "to": row.estimate if row.upper is None else row.upper,
            "shown": shown[1], "at least": shown[2], "at most": shown[3],
        }
        for name, row, shown in zip(names, figure.on_one_axis(), cells, strict=True)
    ]  # fmt: skip
    if policies:
        colour = _coloured(alt, "name:N", names, [identities.colours[name] for name in policies])
    else:
        verdicts = list(dict.fromkeys(str(row["verdict"]) for row in rows))
        colours = [VERDICTS.get(verdict, CERTIFIED) for verdict in verdicts]
        colour = _coloured(alt, "verdict:N", verdicts, colours, legend=len(verdicts) > 1)
    base = alt.Chart().encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=170, ticks=False, domain=False)),
        color=colour,
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("shown:N", title="estimate"), "at least:N", "at most:N"],
    )
    # Of rows in units of their own only zero has a place on the axis.
    # Where a narrow chart has no room for its title on the right, it has some on the left.
    scale, axis = alt.Scale(zero=False), alt.Axis(tickCount=6, titleAnchor="end")
    if figure.own_units:
        scale, axis = alt.Scale(zero=True, padding=40), alt.Axis(values=[0], titleAnchor="end")
    x = alt.X("from:Q", title=visible(figure.label), scale=scale, axis=axis)
    layers = [base.mark_rule(strokeWidth=3).encode(x=x, x2="to:Q")]
    for side in ("lower", "upper"):
        if any(row[side] is not None for row in rows):
            tick = base.mark_tick(thickness=3, size=18).encode(x=f"{side}:Q")
            layers.append(tick.transform_filter(f"isValid(datum.{side})"))
    for certified, which, look in (
        (True, "datum.certified", {"size": 70, "filled": True}),
        (False, "!datum.certified", {"size": 60, "filled": False, "fill": alt.ExprRef(GROUND)}),
    ):
        if any(row["certified"] == certified for row in rows):
            point = base.mark_point(opacity=1, strokeWidth=2, **look).encode(x="estimate:Q")
            layers.append(point.transform_filter(which))
    if figure.own_units:
        layers += [
            base.mark_text(dy=-14, fontSize=11, align=align).encode(x=f"{side}:Q", text=f"{words}:N")
            for side, words, align in (("lower", "at least", "right"), ("upper", "at most", "left"))
        ]
        layers.insert(0, _rule(alt, 0.0, axis="x"))
    elif policies and figure.rows[0].verdict:
        layers += _verdicts(rows, base)
    if figure.reference is not None:
        layers.insert(0, _rule(alt, figure.reference, axis="x"))
    elif any(interval.mark is not None for interval in figure.rows):
        layers.append(base.mark_point(shape="diamond", size=50, color="#888").encode(x="mark:Q"))
    together = alt.layer(*layers, data=alt.Data(values=rows))
    return together.properties(height=(44 if len(figure.rows) <= 20 else 32) * len(figure.rows))


def _verdicts(rows: list[dict[str, Any]], base: Any) -> list[Any]:
    """The verdicts above each interval, at the end that is further from the edge of the chart."""
    ends = [row[end] for row in rows for end in ("estimate", "from", "to")]
    middle = (min(ends) + max(ends)) / 2
    left, layers = [row["from"] <= middle for row in rows], []
    for end, align, sign, some in (("from", "left", "<=", any(left)), ("to", "right", ">", not all(left))):
        if some:
            text = base.mark_text(dy=-15, fontSize=11, align=align).encode(x=f"{end}:Q", text="verdict:N")
            layers.append(text.transform_filter(f"datum.from {sign} {middle!r}"))
    return layers


def _growing(figure: Growing, alt: Any, identities: Identities) -> Any:
    names = identities.labels(line.name for line in figure.lines)
    alone, small = len(names) == 1, figure.reach is not None
    rows = []
    for name, line in zip(names, figure.lines, strict=True):
        for x, *ends in zip(line.x, line.lower, line.estimate, line.upper, strict=True):
            # To the digits that a line can show: all of them would be most of a page.
            low, middle, high = (None if end is None else float(f"{end:.5g}") for end in ends)
            rows.append({"policy": name, "rounds": x, "lower": low, "estimate": middle, "upper": high})
    last, reach = max(line.x[-1] for line in figure.lines), settled_range(figure)
    room = alt.Undefined if alone else alt.ExprRef(f"width < {NAMES_FROM_WIDTH} ? {last} : {last} * 1.22")
    counted = None if small else figure.counted
    base = alt.Chart().encode(
        x=alt.X("rounds:Q", title=counted, axis=alt.Axis(format="~s", tickCount=3 if small else 6),
                scale=alt.Scale(domainMax=room, nice=False)),
        color=_coloured(alt, "policy:N", names, [identities.colours[line.name] for line in figure.lines]),
    )  # fmt: skip
    title = None if small else visible(figure.label)
    y = alt.Y("lower:Q", title=title, scale=alt.Scale(domain=list(reach)), axis=alt.Axis(tickCount=4 if small else 6))
    layers = [base.mark_line(strokeWidth=2.5, clip=True).encode(y=y)]
    if len(names) <= FEW_LINES:  # further lines would only clutter the chart
        layers.append(base.mark_line(strokeWidth=1, strokeDash=[6, 3], clip=True).encode(y="estimate:Q"))
    if alone:
        dotted = base.mark_line(strokeWidth=1.5, strokeDash=[1, 4], strokeCap="round", clip=True)
        layers.append(dotted.encode(y="upper:Q"))
        layers.insert(0, base.mark_area(opacity=0.12, clip=True).encode(y=y, y2="upper:Q"))
    else:
        layers.append(_names_at_the_end(figure, names, base, alt))
    if figure.reference is not None:
        layers.insert(0, _rule(alt, figure.reference, axis="y"))
    together = alt.layer(*layers, data=alt.Data(values=rows))
    return together.properties(height=SMALL_HEIGHT if small else HEIGHT)


def _names_at_the_end(figure: Growing, names: list[str], base: Any, alt: Any) -> Any:
    places = zip(names, figure.lines, ends_of_lines(figure, apart=14 / HEIGHT), strict=True)
    rows = [{"policy": name, "rounds": line.x[-1], "at": at} for name, line, at in places]
    narrow = f"width < {NAMES_FROM_WIDTH}"
    text = base.properties(data=alt.Data(values=rows)).mark_text(
        align="left", dx=6, fontSize=12, fontWeight="bold", limit=alt.ExprRef(f"{narrow} ? 1 : width * 0.17"),
        opacity=alt.ExprRef(f"{narrow} ? 0 : 1"),
    )  # fmt: skip
    return text.encode(y="at:Q", text="policy:N")


def _weights(figure: WeightHistogram, alt: Any, identities: Identities) -> Any:
    ranges = [weight_range(below) for below in figure.all_sizes]
    labels, colours = identities.labels(figure.policies), [identities.colours[name] for name in figure.policies]
    # One policy has room for both shares; several show the share of the weight only.
    alone, small, rows = len(labels) == 1, figure.top is not None, list[dict[str, Any]]()
    for label, bars in zip(labels, figure.bars.values(), strict=True):
        for bar in bars:
            shares = {"share of rounds": bar.rounds, "share of weight": bar.weight} if alone else {label: bar.weight}
            rows += [{"weight": weight_range(bar.below), "share": share, "of": of} for of, share in shares.items()]
    if alone:
        labels, colours = ["share of rounds", "share of weight"], [UNCERTAIN, *colours]
    titles = (None, None) if small else ("importance weight", "share" if alone else "share of weight")
    axis = alt.Axis(labelAngle=-40, labelFontSize=9 if small else 12)
    bars = alt.Chart(alt.Data(values=rows)).mark_bar().properties(height=SMALL_HEIGHT if small else 220)
    return bars.encode(
        x=alt.X("weight:O", sort=ranges, title=titles[0], axis=axis, scale=alt.Scale(domain=ranges)),
        xOffset=alt.XOffset("of:N", sort=None),
        y=alt.Y("share:Q", title=titles[1], axis=alt.Axis(format="%", tickCount=4 if small else 6),
                scale=alt.Scale(domain=[0, figure.top]) if small else alt.Undefined),
        color=_coloured(alt, "of:N", labels, colours, legend=alone and not small),
        tooltip=[alt.Tooltip("of:N", title=" "), alt.Tooltip("share:Q", format=".3%", title="share")],
    )  # fmt: skip


def _curve(figure: Curve, alt: Any, identities: Identities) -> Any:
    rows = [{"x": x, "y": y} for x, y in zip(figure.x, figure.y, strict=True)]
    line = alt.Chart(alt.Data(values=rows)).mark_line(color=CERTIFIED, strokeWidth=2.5)
    layers = [
        line.encode(
            x=alt.X("x:Q", title=figure.x_label, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("y:Q", title=visible(figure.y_label), axis=alt.Axis(format="%") if figure.percent else alt.Axis()),
        ),
        _rule(alt, figure.level, axis="y", colour=LEVEL, dash=(5, 4)),
    ]
    if figure.mark is not None:
        layers.append(_rule(alt, figure.mark, axis="x"))
    return alt.layer(*layers).properties(height=260)


def _dots(figure: Dots, alt: Any, identities: Identities) -> Any:
    kinds = {True: "certifies", False: "no guarantee"}
    rows = [
        {"name": name, "held": dot.held, "width": dot.width, "kind": kinds[dot.certifies]}
        for name, dot in zip(identities.labels(figure.labels), figure.rows, strict=True)
    ]
    dots = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=90, opacity=1)
    labelled = dots.encode(
        x=alt.X("held:Q", title="simulated logs in which it held", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, ticks=False, domain=False)),
        color=_coloured(alt, "kind:N", list(kinds.values()), [CERTIFIED, UNCERTAIN], legend=True),
        tooltip=[alt.Tooltip("held:Q", format=".1%"), alt.Tooltip("width:Q", format=".4g")],
    )
    return alt.layer(_rule(alt, figure.level, axis="x"), labelled).properties(height=28 * len(figure.rows))


_CHARTS: dict[type[Figure], Any] = {
    Intervals: _intervals, Growing: _growing, WeightHistogram: _weights, Curve: _curve, Dots: _dots,
}  # fmt: skip


def _coloured(alt: Any, field: str, kinds: list[str], colours: list[str], *, legend: bool = False) -> Any:
    """A colour for each kind, and a legend above where the page does not tell them."""
    key = alt.Legend(orient="top", symbolLimit=0, labelLimit=220) if legend else None
    return alt.Color(field, title=None, legend=key, scale=alt.Scale(domain=kinds, range=colours))


def _rule(alt: Any, at: float, *, axis: str, colour: str = "#888", dash: tuple[int, int] = (1, 0)) -> Any:
    mark = alt.Chart(alt.Data(values=[{"at": at}])).mark_rule(color=colour, strokeWidth=1.5, strokeDash=list(dash))
    return mark.encode(**{axis: "at:Q"})
