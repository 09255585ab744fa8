"""Many policies are drawn in small multiples with the same axes."""

import pytest

from surelift.views.end_labels import spread
from surelift.views.figures import Bar, Growing, Line, WeightHistogram
from surelift.views.panels import MOST_GROUPS, MOST_LINES, drawn_lines, panels
from surelift.views.vega import spec


def growing(count: int) -> Growing:
    lines = tuple(Line(f"p{k}", (1.0, 2.0), (0.01 * k, 0.02 * k), (0.03 * k, 0.03 * k), (0.2, 0.1)) for k in range(count))
    return Growing("improvement", "rounds", lines, 0.0)


def histogram(count: int) -> WeightHistogram:
    return WeightHistogram(tuple(Bar(f"p{k}", 2.0**k, 0.1 * k, 0.05) for k in range(count)))


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
