"""One colour for one policy in every figure, and a star for the chosen one."""

from surelift.views.figures import Bar, Growing, Interval, Intervals, Line, WeightHistogram
from surelift.views.identities import COLOURS, NEUTRAL, Identities, policies_in
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
        WeightHistogram((Bar("c", 2.0, 0.5, 0.5), Bar("b", 2.0, 0.5, 0.5))),
    ]
    for figure in charts:
        shown = colours_in(spec(figure, identities))
        assert shown["c"] == COLOURS[2]
        assert shown["★ b"] == COLOURS[1]


def test_a_figure_alone_stars_the_one_it_chose() -> None:
    assert set(colours_in(spec(intervals("a", "b", chosen="b")))) == {"a", "★ b"}


def test_segments_and_claims_are_coloured_by_their_verdicts() -> None:
    figure = intervals("FR", "DE", column="country")
    assert policies_in(figure) == []
    assert set(colours_in(spec(figure))) == {"certified"}
