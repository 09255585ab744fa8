"""How the documentation is built: every block is executed, and a warning is an error (``make docs``)."""

import os
import sys

from surelift.version import __version__

project, author, release = "surelift", "the surelift authors", __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx-mathjax-offline"]
exclude_patterns = ["_build"]
html_theme, html_title = "furo", f"surelift {__version__}"
html_show_sourcelink = html_show_copyright = False

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 180

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}

# Pages call the command that belongs to this Python.
os.environ["PATH"] = os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ["PATH"]])
# One of them runs the examples as they are.
os.environ["EXAMPLES"] = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
