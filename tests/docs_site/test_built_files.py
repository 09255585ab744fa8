"""The files of the built documentation: links, notebooks, the glossary, what machines read."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from surelift.views.glossary import WORDS
from tests.docs_site.conftest import ROOT

NOTEBOOKS = sorted(page.stem for page in (ROOT / "docs" / "gallery").glob("*.md") if page.stem != "index")


class Document(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {name for name in (given.get("id"), given.get("name") if tag == "a" else None) if name}
        if tag == "a" and given.get("href"):
            self.links.add(str(given["href"]))
        loaded = given.get("href") if tag == "link" else given.get("src")
        if loaded and tag in ("link", "script", "img", "iframe", "source"):
            self.loads.add(loaded)


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, Document]:
    return {path.resolve(): Document(path) for path in site.rglob("*.html")}


def test_every_internal_link_leads_somewhere(documents: dict[Path, Document]) -> None:
    broken = []
    for path, document in documents.items():
        for link in document.links | document.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = documents.get(target)
            if not target.is_file() or (known is not None and unquote(parts.fragment) not in known.anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_another_machine(documents: dict[Path, Document], site: Path) -> None:
    remote = re.compile(r"(https?:)?//")
    assert {load for document in documents.values() for load in document.loads if remote.match(load)} == set()
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text()), sheet


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_can_be_downloaded_with_its_output(documents: dict[Path, Document], site: Path, name: str) -> None:
    page = (site / "gallery" / f"{name}.html").resolve()
    (link,) = [link for link in documents[page].links if link.endswith(".ipynb")]
    content = json.loads((page.parent / link).read_text())
    pytest.importorskip("nbformat").validate(content)
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(code) > 2
    assert all(cell["execution_count"] for cell in code)
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert str(ROOT) not in json.dumps(content)


def test_machines_find_every_page(documents: dict[Path, Document], site: Path) -> None:
    text = (site / "llms.txt").read_text()
    assert text.startswith("# surelift\n\n> ")
    listed = {(site / link).resolve() for link in re.findall(r"^- \[.+?\]\((\S+?)\)", text, flags=re.MULTILINE)}
    assert listed == documents.keys() - {(site / name).resolve() for name in ("genindex.html", "search.html")}
    assert "surelift compare" in (site / "llms-full.txt").read_text()


def test_the_glossary_has_every_word(documents: dict[Path, Document], site: Path) -> None:
    terms = [anchor for anchor in documents[(site / "glossary.html").resolve()].anchors if anchor.startswith("term-")]
    assert len(terms) == len(WORDS)


def test_every_field_of_a_result_has_a_meaning(site: Path) -> None:
    text = (site / "reference" / "results.html").read_text()
    tables = re.findall(r'<table class="[^"]*\bfields\b.*?</table>', text, flags=re.DOTALL)
    rows = [row for table in tables for row in re.findall(r"<tr.*?</tr>", table, flags=re.DOTALL)[1:]]
    assert len(rows) > 150
    for row in rows:
        name, _, meaning = (re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", row, flags=re.DOTALL))
        assert meaning, name
