"""The built documentation in a browser: by day and by night, on a desk and on a phone; screenshots in build/screenshots."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.docs_site.conftest import ROOT

SCREENSHOTS = ROOT / "build" / "screenshots"
LOOKED_AT = ("index", "reference/asking", "command_line", "gallery/index", "gallery/first_decision", "how_it_compares")
WIDTHS = (1280, 360)


@contextmanager
def opened(browser: Any, address: str, path: str, *, width: int, night: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """A page, and whatever went wrong in it: remote requests, requests that fail, errors on the console."""
    complaints: list[str] = []
    scheme: Literal["dark", "light"] = "dark" if night else "light"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on("response", lambda answer: complaints.append(f"{answer.status}: {answer.url}") if answer.status > 399 else None)

    def requested(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            complaints.append(f"remote: {request.url}")

    page.on("request", requested)
    page.goto(f"{address}/{path}")
    page.wait_for_load_state("networkidle")
    try:
        yield page, complaints
    finally:
        context.close()


# What reaches beyond the text on the right, though no box around it scrolls (tables may), and the page itself.
OVERFLOW = """() => {
    const article = document.querySelector("article"), margin = 10;  // the theme's headings reach half a letter further
    const edge = Math.min(article.getBoundingClientRect().right + margin, innerWidth);
    const scrolls = element => element !== article && element !== null
        && (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
    const wide = [...article.querySelectorAll("*")].filter(element => element.getBoundingClientRect().right > edge
        && element.offsetWidth > 1 && !scrolls(element.parentElement));
    const found = wide.map(element => `${element.tagName}.${element.className}: ${element.textContent.trim().slice(0, 40)}`);
    return document.documentElement.scrollWidth > innerWidth ? ["the page", ...found] : found;
}"""


def overflow(page: Any) -> list[str]:
    found: list[str] = page.evaluate(OVERFLOW)
    return found


@pytest.mark.parametrize("night", [False, True], ids=["day", "night"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_looks_right(browser: Any, address: str, name: str, width: int, night: bool) -> None:
    with opened(browser, address, f"{name}.html", width=width, night=night) as (page, complaints):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        picture = f"{name.replace('/', '-')}-{width}-{'night' if night else 'day'}.png"
        page.screenshot(path=SCREENSHOTS / picture, full_page=name != "command_line")
        assert overflow(page) == []
        assert complaints == []
        brightness = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)")
        assert (sum(brightness) < 300) == night
        pictures = "[...document.images].filter(image => image.getAttribute('loading') !== 'lazy' && !image.naturalWidth)"
        assert page.evaluate(f"{pictures}.map(image => image.src)") == []


def test_no_page_is_wider_than_a_phone(browser: Any, address: str, site: Path) -> None:
    wrong = {}
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    for path in sorted(site.rglob("*.html")):
        page.goto(f"{address}/{path.relative_to(site)}")
        if wide := overflow(page):
            wrong[str(path.relative_to(site))] = wide
    context.close()
    assert wrong == {}


def test_long_lines_wrap_in_what_is_typed_and_scroll_in_what_is_printed(browser: Any, address: str) -> None:
    with opened(browser, address, "command_line.html", width=360) as (page, _):
        typed, printed = (f"document.querySelector('.{kind} pre')" for kind in ("cell_input", "cell_output"))
        assert page.evaluate(f"getComputedStyle({typed}).whiteSpace") == "pre-wrap"
        assert page.evaluate(f"{typed}.scrollWidth - {typed}.clientWidth") <= 1
        # A table that wraps has no columns.
        assert page.evaluate(f"getComputedStyle({printed}).whiteSpace") == "pre"
        assert page.evaluate(f"getComputedStyle({printed}).overflowX") == "auto"
        assert "%%bash" not in page.locator("article").inner_text()


@pytest.mark.parametrize(
    "link, anchor",
    [("command_line.html", ""), ("reference/asking.html", "surelift.compare"), ("serving.html", "")],
    ids=["the command line", "the reference of compare", "how to serve a policy"],
)
def test_what_a_newcomer_looks_for_is_one_click_away(browser: Any, address: str, link: str, anchor: str) -> None:
    target = f"{link}#{anchor}" if anchor else link
    with opened(browser, address, "index.html", width=1280) as (page, complaints):
        link_or_card = page.locator(f"article .sd-card:has(a[href='{target}']), article p a[href='{target}']")
        link_or_card.first.click()
        page.wait_for_load_state("networkidle")
        assert page.url == f"{address}/{target}"
        if anchor:
            assert page.locator(f"[id='{anchor}']").is_visible()
        assert complaints == []


def test_search_finds_compare(browser: Any, address: str) -> None:
    with opened(browser, address, "search.html?q=compare", width=1280) as (page, complaints):
        page.wait_for_selector("#search-results li a")
        first = [link.get_attribute("href") for link in page.query_selector_all("#search-results li > a")[:3]]
        assert any("surelift.compare" in (href or "") for href in first), first
        assert complaints == []
