"""The report in a real browser: offline, in light and dark mode, on a phone, and in print."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.views.formats import decimals_for, rounded
from tests.results.samples import every_result

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>{{7*7}}\x1b[31m\u202e'\"`;"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1100, "height": 900}},
    "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2},
}


class OpenPage:
    """An open page, and everything it complained about."""

    def __init__(self, browser: Any, path: Path, **look: Any) -> None:
        self.complaints: list[str] = []
        self.context = browser.new_context(offline=True, **look)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.documentElement.dataset.drawn", timeout=30_000)

    def _dismiss(self, dialog: Any) -> None:
        self.complaints.append("dialog")
        dialog.dismiss()

    def _requested(self, url: str) -> None:
        if not url.startswith(("file:", "data:")):
            self.complaints.append(url)

    def __enter__(self) -> "OpenPage":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.fixture(scope="module")
def study() -> sl.results.Report:
    data = sl.datasets.shop(4_000)
    return sl.report(data.logs(), data.policies())


@pytest.mark.parametrize("look", LOOKS)
def test_the_report_opens(browser: Any, study: sl.results.Report, tmp_path: Path, look: str) -> None:
    assert study.selection is not None
    path = tmp_path / "report.html"
    study.to_html(path)
    assert path.stat().st_size < 1_500_000
    with OpenPage(browser, path, **LOOKS[look]) as opened:
        page = opened.page
        assert opened.complaints == []
        assert page.locator(".chart").count() == page.locator(".chart svg").count() == 4
        for svg in page.locator(".chart svg").all():
            box = svg.bounding_box()
            assert box["width"] > 250
            assert box["height"] > 80
            assert svg.locator("path").count() > 5
        shown = page.inner_text("main")
        improvements = study.selection.improvements.values()
        decimals = max(decimals_for(improvement.upper - improvement.lower) for improvement in improvements)
        for improvement in improvements:
            assert rounded(improvement.lower, decimals, towards="down", sign=True) in shown
            assert rounded(improvement.upper, decimals, towards="up", sign=True) in shown
        # The page itself never scrolls sideways.
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[look]["viewport"]["width"]
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(20, 23, 26)") == (look == "dark")


def test_the_certificate_can_be_downloaded_and_verified(browser: Any, study: sl.results.Report, tmp_path: Path) -> None:
    study.to_html(tmp_path / "report.html")
    with OpenPage(browser, tmp_path / "report.html") as opened:
        with opened.page.expect_download() as waiting:
            opened.page.click("text=Download the certificate")
        waiting.value.save_as(tmp_path / "certificate.json")
    data = sl.datasets.shop(4_000)
    assert sl.verify(tmp_path / "certificate.json", data.logs()).same


def test_the_tables_are_there_without_scripts(browser: Any, study: sl.results.Report, tmp_path: Path) -> None:
    study.to_html(tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    shown = page.inner_text("main")
    for name in ("better", "slight", "worse", "production"):
        assert name in shown
    assert page.locator("table").count() >= 6
    context.close()


def test_the_charts_are_there_without_scripts(browser: Any, study: sl.results.Report, tmp_path: Path) -> None:
    study.to_html(tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    pictures = page.locator("figure img")
    assert pictures.count() == 4
    for picture in pictures.all():
        assert picture.bounding_box()["height"] > 80
        assert picture.evaluate("image => image.naturalWidth") == 640
    context.close()


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = sl.datasets.shop(4_000)
    columns = {name: data.table[name].to_numpy() for name in ("propensity", "p_better", "p_worse")}
    shares = np.linspace(0.1, 1.0, 6)
    policies = {
        f"{kind} {share:.2f}": share * columns[f"p_{kind}"] + (1 - share) * columns["propensity"]
        for kind in ("better", "worse")
        for share in shares
    }
    path = tmp_path_factory.mktemp("twelve") / "report.html"
    sl.report(data.logs(), policies).to_html(path, command="surelift report log.csv")
    return path


@pytest.mark.parametrize("look", LOOKS)
def test_twelve_candidates_can_be_told_apart(browser: Any, twelve: Path, look: str) -> None:
    with OpenPage(browser, twelve, **LOOKS[look]) as opened:
        page = opened.page
        assert opened.complaints == []
        panels = page.locator(".panels figure")
        assert panels.count() == 24  # the course and the weights of each
        titles = page.locator(".panels figcaption").all_inner_texts()
        assert len(set(titles)) == 12
        assert [title for title in titles if title.startswith("★")] != []
        for svg in page.locator(".chart svg").all():
            assert svg.bounding_box()["width"] > 150
        colours = page.locator(".panels figcaption .dot").evaluate_all("dots => dots.map(dot => dot.style.background)")
        assert colours[:12] == colours[12:]
        assert len(set(colours)) == 12
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[look]["viewport"]["width"]


def test_no_section_is_only_a_line_to_unfold(browser: Any, twelve: Path) -> None:
    """A table without a chart is shown, however many candidates it has."""
    with OpenPage(browser, twelve) as opened:
        section = opened.page.locator("section", has_text="What a normal interval would have said")
        assert section.locator("table").is_visible()
        assert section.locator("tbody tr").count() == 12


def test_a_phone_shows_the_verdicts(browser: Any, study: sl.results.Report, tmp_path: Path) -> None:
    study.to_html(tmp_path / "report.html")
    with OpenPage(browser, tmp_path / "report.html", **LOOKS["phone"]) as opened:
        table = opened.page.locator("section", has_text="The improvement over production").locator("table").first
        verdicts = [table.locator(f"tbody tr:nth-child({row}) td:nth-child(2)") for row in (1, 2, 3)]
        assert [cell.inner_text() for cell in verdicts] == ["certified", "not certified", "not certified"]
        for cell in verdicts:
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= 360


def test_the_foot_says_how_it_was_made(browser: Any, twelve: Path) -> None:
    with OpenPage(browser, twelve) as opened:
        foot = opened.page.inner_text("footer")
        assert "mixture, delta 0.05" in foot
        assert f"surelift {sl.__version__}" in foot
        assert "surelift report log.csv" in foot


def test_it_prints(browser: Any, study: sl.results.Report, tmp_path: Path) -> None:
    study.to_html(tmp_path / "report.html")
    with OpenPage(browser, tmp_path / "report.html", color_scheme="dark") as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert len(opened.page.pdf()) > 10_000


def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    """On every kind of page: none of their scripts runs, nothing is requested, and the charts are drawn."""
    results = every_result(HOSTILE, f"other {HOSTILE}")
    for kind in ("Report", "Gate", "Simulation", "PolicyValue, one side"):
        path = tmp_path / "page.html"
        results[kind].to_html(path)
        with OpenPage(browser, path) as opened:
            assert opened.complaints == [], kind
            assert opened.page.title() != "owned"
            assert opened.page.locator("img").count() == 0
            assert opened.page.locator(".chart svg").count() >= 1
            text = opened.page.inner_text("body")
            assert "\x1b" not in text
            assert "\u202e" not in text
