"""``{words}``: the glossary of ``surelift explain``, as a Sphinx glossary: ``{term}`` links to its words."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from surelift.views.glossary import WORDS

FLAG = re.compile(r"(--[a-z][a-z-]*)")


class Words(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        # Two dashes would become a long one.
        entries = [f"{word}\n    " + FLAG.sub(r"`\1`", WORDS[word]) for word in sorted(WORDS, key=str.lower)]
        return self.parse_text_to_nodes("\n".join(["````{glossary}", "", "\n\n".join(entries), "````"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("words", Words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
