"""Cells of the shell, as they are typed in one: without the line that tells the notebook's kernel."""

from docutils import nodes
from sphinx.application import Sphinx

MAGIC = "%%bash\n"


def without_magic(app: Sphinx, document: nodes.document) -> None:
    for block in list(document.findall(nodes.literal_block)):
        if block.astext().startswith(MAGIC):
            text = block.astext().removeprefix(MAGIC)
            block.replace_self(nodes.literal_block(text, text, language="bash", classes=block["classes"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", without_magic)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
