"""One colour for one policy in every figure, a star for the chosen one, and panels with the same axes for many."""

import pytest

from surelift.views.charts import COLOURS, MOST_GROUPS, MOST_LINES, NEUTRAL, Identities, drawn_lines, panels, spread
from surelift.views.figures import Growing, Interval, Intervals, Line, WeightHistogram, WeightSize
from surelift.views.vega import spec


def intervals(*names: str, **options: object) -> Intervals:
    rows = tuple(Interval(name, 0.1, 0.0, 0.2, "certified", True) for name in names)
    return Intervals("improvement", rows, 0.0, **options)  # type: ignore[arg-type]


def colours_in(chart: dict[str, object]) -> dict[str, str]:
    """Every colour scale of a chart, by what it colours."""
    found: dict[str, str] = {}

    def walk(node: object) -> None:
        if isinstance(node, dict):
            scale = node.get("scale")
            if isinstance(scale, dict) and "range" in scale and "domain" in scale:
                found.update(zip(scale["domain"], scale["range"], strict=True))
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(chart)
    return found


def test_twelve_candidates_have_twelve_colours_and_production_has_none_of_them() -> None:
    names = [f"candidate {k}" for k in range(12)]
    colours = Identities.of(["production", *names]).colours
    assert len({colours[name] for name in names}) == 12
    assert colours["production"] == NEUTRAL
    assert NEUTRAL not in COLOURS


def test_a_policy_has_the_same_colour_in_every_chart_of_a_page() -> None:
    identities = Identities.of(["a", "b", "c"], chosen="b")
    line = Line("c", (1.0, 2.0), (0.0, 0.1), (0.1, 0.1), (0.3, 0.2))
    charts = [
        intervals("production", "a", "b", "c"),
        Growing("improvement", "rounds", (line, Line("b", *((0.0, 0.1) for _ in range(4)))), 0.0),
        WeightHistogram({"c": (WeightSize(2.0, 0.5, 0.5),), "b": (WeightSize(2.0, 0.5, 0.5),)}),
    ]
    for figure in charts:
        shown = colours_in(spec(figure, identities))
        assert shown["c"] == COLOURS[2]
        assert shown["★ b"] == COLOURS[1]


def test_a_figure_alone_stars_the_one_it_chose() -> None:
    assert set(colours_in(spec(intervals("a", "b", chosen="b")))) == {"a", "★ b"}


def test_segments_and_claims_are_coloured_by_their_verdicts() -> None:
    figure = intervals("FR", "DE", column="country")
    assert figure.policies == []
    assert set(colours_in(spec(figure))) == {"certified"}


def growing(count: int) -> Growing:
    lines = tuple(Line(f"p{k}", (1.0, 2.0), (0.01 * k, 0.02 * k), (0.03 * k, 0.03 * k), (0.2, 0.1)) for k in range(count))
    return Growing("improvement", "rounds", lines, 0.0)


def histogram(count: int) -> WeightHistogram:
    return WeightHistogram({f"p{k}": (WeightSize(2.0**k, 0.1 * k, 0.05),) for k in range(count)})


def test_few_policies_share_one_chart() -> None:
    for figure in (growing(MOST_LINES), histogram(MOST_GROUPS)):
        assert [panel.figure for panel in panels(figure)] == [figure]


def test_many_policies_get_a_panel_each_with_the_same_axes() -> None:
    many = panels(growing(MOST_LINES + 1))
    assert [panel.policy for panel in many] == [f"p{k}" for k in range(MOST_LINES + 1)]
    axes = {str(layer["encoding"]["y"]["scale"]) for panel in many for layer in _layers_of_lower(spec(panel.figure))}
    assert len(axes) == 1
    bars = panels(histogram(MOST_GROUPS + 1))
    charts = [spec(panel.figure)["encoding"] for panel in bars]
    assert len({str((chart["x"]["scale"], chart["y"]["scale"])) for chart in charts}) == 1
    assert charts[0]["x"]["scale"]["domain"] == ["0.5 to 1", "1 to 2", "2 to 4", "4 to 8", "8 to 16"]


def _layers_of_lower(chart: dict[str, object]) -> list[dict[str, dict[str, dict[str, object]]]]:
    layers: list[dict[str, dict[str, dict[str, object]]]] = chart["layer"]  # type: ignore[assignment]
    return [layer for layer in layers if layer["encoding"].get("y", {}).get("field") == "lower"]


@pytest.mark.parametrize("count, words", [(1, "upper bound"), (3, "estimates"), (8, "Lines: lower"), (9, "upper bound")])
def test_the_text_says_what_is_drawn(count: int, words: str) -> None:
    assert words in drawn_lines(growing(count))
    assert ("estimate" in drawn_lines(growing(count))) == (count <= 3 or count > MOST_LINES)


def test_names_at_the_ends_of_lines_do_not_cover_each_other() -> None:
    places = [0.5, 0.5, 0.52, 0.1, 0.49]
    moved = spread(places, apart=0.05)
    apart = [b - a for a, b in zip(sorted(moved), sorted(moved)[1:], strict=False)]
    assert min(apart) >= 0.05 - 1e-12
    assert moved[3] == 0.1
    assert sorted(range(5), key=moved.__getitem__) == sorted(range(5), key=places.__getitem__)
