"""Pictures as Vega-Lite, made with altair (extra ``report``). Names are data here, never parts of an expression."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from surelift.errors import UsageError
from surelift.views.names import short, visible
from surelift.views.pictures import Curve, Dots, Growing, Intervals, Weights
from surelift.views.tables import size_words, table

CERTIFIED, UNCERTAIN, LEVEL = "#2f8ac9", "#8a8f98", "#d55e00"
# Apart for the colour-blind, on white and on black.
LINES = ["#2f8ac9", "#d55e00", "#1ea07c", "#c9709f", "#d39200", "#56b4e9"]


def require_altair() -> Any:
    try:
        import altair
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a page needs {error.name}, which is not installed; say: pip install 'surelift[report]'."
        ) from error
    return altair


def spec(picture: Any) -> dict[str, Any]:
    """The chart as a dict for Vega-Lite, as wide as the page that holds it."""
    altair = require_altair()
    sized = chart(picture, altair).properties(width="container", autosize={"type": "fit-x", "contains": "padding"})
    made: dict[str, Any] = sized.to_dict()
    return made


@singledispatch
def chart(picture: Any, alt: Any) -> Any:
    raise TypeError(f"no chart of a {type(picture).__name__}")


@chart.register
def _(picture: Intervals, alt: Any) -> Any:
    names, cells = apart([one.name for one in picture.rows]), table(picture).rows
    verdicts = [one.verdict or "bounds" for one in picture.rows]
    rows = [
        {
            "name": name, "estimate": one.estimate, "lower": one.lower, "upper": one.upper, "verdict": verdict,
            "mark": one.mark, "from": one.estimate if one.lower is None else one.lower,
            "to": one.estimate if one.upper is None else one.upper,
            "shown": shown[1], "at least": shown[2], "at most": shown[3],
        }
        for name, one, shown, verdict in zip(names, picture.rows, cells, verdicts, strict=True)
    ]  # fmt: skip
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=140, ticks=False, domain=False)),
        color=alt.Color(
            "verdict:N", title=None, legend=None if len(set(verdicts)) == 1 else alt.Legend(orient="top", symbolLimit=0),
            scale=alt.Scale(domain=_kinds(verdicts), range=[_colour(kind) for kind in _kinds(verdicts)]),
        ),
        tooltip=_tooltips(alt, {"shown": "estimate", "at least": "at least", "at most": "at most"}),
    )  # fmt: skip
    x = alt.X("from:Q", title=visible(picture.label), scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    layers = [
        base.mark_rule(strokeWidth=3).encode(x=x, x2="to:Q"),
        *(
            base.mark_tick(thickness=3, size=18).encode(x=f"{side}:Q").transform_filter(f"isValid(datum.{side})")
            for side in ("lower", "upper")
            if any(row[side] is not None for row in rows)
        ),
        base.mark_point(size=70, filled=True, opacity=1).encode(x="estimate:Q"),
    ]
    if picture.reference is not None:
        layers.insert(0, _rule(alt, x=picture.reference))
    elif any(one.mark is not None for one in picture.rows):
        layers.append(base.mark_point(shape="diamond", size=50, color="#888").encode(x="mark:Q"))
    return alt.layer(*layers).properties(height=44 * len(picture.rows))


def _kinds(verdicts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(verdicts))


def _colour(verdict: str) -> str:
    return {"not certified": UNCERTAIN, "not found": UNCERTAIN, "worse": LEVEL, "surely not": LEVEL}.get(
        verdict, CERTIFIED
    )


@chart.register
def _(picture: Growing, alt: Any) -> Any:
    names = apart([line.name for line in picture.lines])
    rows = [
        {"policy": name, "rounds": x, "lower": low, "estimate": middle, "upper": high}
        for name, line in zip(names, picture.lines, strict=True)
        for x, low, middle, high in zip(line.x, line.lower, line.estimate, line.upper, strict=True)
    ]
    colour = alt.Color(
        "policy:N", title=None, sort=None, legend=alt.Legend(orient="top", symbolLimit=0, labelLimit=220),
        scale=alt.Scale(domain=names, range=[LINES[place % len(LINES)] for place in range(len(names))]),
    )  # fmt: skip
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("rounds:Q", title=picture.counted, axis=alt.Axis(format="~s", tickCount=6)), color=colour
    )
    y = alt.Y("lower:Q", title=visible(picture.label), scale=alt.Scale(domain=settled(picture)))
    layers = [
        base.mark_line(strokeWidth=2.5, clip=True).encode(y=y),
        base.mark_line(strokeWidth=1, strokeDash=[6, 3], clip=True).encode(y="estimate:Q"),
    ]
    if len(names) == 1:  # the upper bounds of several would only be in each other's way
        layers.append(
            base.mark_line(strokeWidth=1.5, strokeDash=[1, 4], strokeCap="round", clip=True).encode(y="upper:Q")
        )
        layers.insert(0, base.mark_area(opacity=0.12, clip=True).encode(y=y, y2="upper:Q"))
    if picture.reference is not None:
        layers.insert(0, _rule(alt, y=picture.reference))
    return alt.layer(*layers).properties(height=280)


@chart.register
def _(picture: Weights, alt: Any) -> Any:
    sizes = [size_words(size) for size in sorted({bar.below for bar in picture.bars})]
    names = list(dict.fromkeys(bar.name for bar in picture.bars))
    told = dict(zip(names, apart(names), strict=True))
    one = len(names) == 1
    rows = [
        {"weight": size_words(bar.below), "share": share, "of": of}
        for bar in picture.bars
        for of, share in (
            (("of the rounds", bar.rounds), ("of the weight", bar.weight)) if one else ((told[bar.name], bar.weight),)
        )
    ]
    kinds = ["of the rounds", "of the weight"] if one else list(told.values())
    colours = [UNCERTAIN, CERTIFIED] if one else [LINES[place % len(LINES)] for place in range(len(names))]
    shown = alt.Chart(alt.Data(values=rows)).mark_bar()
    return shown.encode(
        x=alt.X("weight:O", sort=sizes, title="weight of a round", axis=alt.Axis(labelAngle=-40)),
        xOffset=alt.XOffset("of:N", sort=None),
        y=alt.Y("share:Q", title="share" if one else "share of the weight", axis=alt.Axis(format="%")),
        color=alt.Color(
            "of:N", title=None, sort=None, legend=alt.Legend(orient="top", symbolLimit=0, labelLimit=220),
            scale=alt.Scale(domain=kinds, range=colours),
        ),
        tooltip=[alt.Tooltip("of:N", title="share"), alt.Tooltip("share:Q", format=".3%", title="is")],
    ).properties(height=220)  # fmt: skip


@chart.register
def _(picture: Curve, alt: Any) -> Any:
    rows = [{"x": x, "y": y} for x, y in zip(picture.x, picture.y, strict=True)]
    y_axis = alt.Axis(format="%") if picture.percent else alt.Axis()
    line = alt.Chart(alt.Data(values=rows)).mark_line(color=CERTIFIED, strokeWidth=2.5)
    layers = [
        line.encode(
            x=alt.X("x:Q", title=picture.x_label, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("y:Q", title=visible(picture.y_label), axis=y_axis),
        ),
        _rule(alt, y=picture.level, colour=LEVEL, dash=True),
    ]
    if picture.mark is not None:
        layers.append(_rule(alt, x=picture.mark))
    return alt.layer(*layers).properties(height=260)


@chart.register
def _(picture: Dots, alt: Any) -> Any:
    several = len({one.name for one in picture.rows}) > 1
    names = apart([f"{one.name}, {one.method}" if several else one.method for one in picture.rows])
    rows = [
        {
            "name": name,
            "held": one.held,
            "width": one.width,
            "kind": "certifies" if one.certifies else "promises nothing",
        }
        for name, one in zip(names, picture.rows, strict=True)
    ]
    dots = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=90, opacity=1)
    shown = dots.encode(
        x=alt.X("held:Q", title="held in so many simulated logs", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, ticks=False, domain=False)),
        color=alt.Color(
            "kind:N", title=None, legend=alt.Legend(orient="top", symbolLimit=0),
            scale=alt.Scale(domain=["certifies", "promises nothing"], range=[CERTIFIED, UNCERTAIN]),
        ),
        tooltip=[alt.Tooltip("held:Q", format=".1%"), alt.Tooltip("width:Q", format=".4g")],
    )  # fmt: skip
    return alt.layer(_rule(alt, x=picture.level), shown).properties(height=28 * len(picture.rows))


def apart(names: Sequence[str]) -> list[str]:
    """Names short enough for a chart, and still told from one another.

    >>> apart(["new", "a" * 30 + "1" + "b" * 30, "a" * 30 + "2" + "b" * 30])[1:]
    ['aaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbb', 'aaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbb (2)']
    """
    found: list[str] = []
    for name in names:
        shown, again = short(name), 2
        while shown in found:
            shown, again = f"{short(name)} ({again})", again + 1
        found.append(shown)
    return found


def settled(picture: Growing) -> list[float]:
    """The range of the bounds without the first of them, which are wide: all that came later can be told apart."""
    ends = [picture.reference] if picture.reference is not None else []
    for line in picture.lines:
        later = len(line.x) // 6
        seen = (line.lower, line.upper if len(picture.lines) == 1 else line.estimate)
        ends += [end for side in seen for end in side[later:] if end is not None]
    room = 0.05 * (max(ends) - min(ends))
    return [min(ends) - room, max(ends) + room]


def _rule(alt: Any, *, x: float | None = None, y: float | None = None, colour: str = "#888", dash: bool = False) -> Any:
    mark = alt.Chart(alt.Data(values=[{"at": x if y is None else y}])).mark_rule(
        color=colour, strokeWidth=1.5, strokeDash=[5, 4] if dash else [1, 0]
    )
    return mark.encode(x="at:Q") if y is None else mark.encode(y="at:Q")


def _tooltips(alt: Any, fields: dict[str, str]) -> list[Any]:
    return [alt.Tooltip("name:N", title=" "), *(alt.Tooltip(f"{f}:N", title=title) for f, title in fields.items())]
