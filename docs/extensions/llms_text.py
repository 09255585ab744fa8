"""Write ``llms.txt`` (every page with a line about it) and ``llms-full.txt`` (their text) into the root of the site."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

SUMMARY = (
    "Off-policy evaluation of contextual bandits from logged decisions, with confidence bounds that hold in finite samples "
    "and at any number of looks: is the new policy better than production, and how sure is that? A Python library and a "
    "command line."
)


def first_sentence(document: nodes.document) -> str:
    """The first sentence of a page that is a plain paragraph."""
    for paragraph in document.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if isinstance(paragraph.parent, nodes.section | nodes.document) and len(text) > 30:
            return re.split(r"(?<=[a-z`)])[.?:] (?=[A-Z`])", text)[0].rstrip(".:") + "."
    return ""


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    pages = sorted(app.env.found_docs, key=lambda name: (name != app.config.root_doc, name.count("/"), name))
    lines, whole = [f"# {app.config.project}", "", f"> {SUMMARY}", "", "## Pages", ""], []
    for name in pages:
        title = app.env.titles[name].astext()
        sentence = first_sentence(app.env.get_doctree(name))
        lines.append(f"- [{title}]({app.builder.get_target_uri(name)})" + (f": {sentence}" if sentence else ""))
        whole.append(Path(app.env.doc2path(name)).read_text())
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n")
    Path(app.outdir, "llms-full.txt").write_text("\n\n".join(whole))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
