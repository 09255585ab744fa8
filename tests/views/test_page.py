"""A page is rendered from plain content; no result is needed."""

from surelift.views.figures import Interval, Intervals
from surelift.views.html import render
from surelift.views.page import Page, Paragraph, Section, shown
from surelift.views.tables import Table

PAGE = Page(
    "Is it better?", "good", "Yes.", ("1,000 rounds.",),
    (Section("The numbers", shown(Intervals("value", (Interval("new", 0.5, 0.4, 0.6),)))),),
    certificate={"surelift": "1", "rounds": 1000, "fingerprint": "f"},
)  # fmt: skip


def test_a_page_has_its_verdict_its_sections_and_its_certificate() -> None:
    html = render(PAGE)
    assert '<header class="good">' in html
    assert "<h1>Yes.</h1>" in html
    assert "<h2>The numbers</h2>" in html
    assert "from 1,000 rounds" in html
    assert html.count('<div class="chart"') == 1
    assert "effective sample size" in html


def test_a_page_without_figures_has_no_script() -> None:
    table = Table(("a", "b"), (("1", "2"),))
    page = Page("T", "open", "V.", (), (Section("S", (Paragraph("text"), Paragraph(table=table), *shown(None))),))
    html = render(page)
    assert "<td>2</td>" in html
    assert "<script" not in html
    assert "Verify it yourself" not in html


def test_a_section_can_be_added_after_the_first() -> None:
    added = PAGE.with_section(Section("History", (Paragraph("It grew."),)))
    assert [section.heading for section in added.sections] == ["The numbers", "History"]
    assert len(PAGE.sections) == 1
