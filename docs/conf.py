"""How the documentation is built: every block is executed, and a warning is an error (``make docs``)."""

import logging
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from nbclient import NotebookClient
from sphinx.pycode import ModuleAnalyzer

from surelift.version import __version__

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "extensions"))

project, author, release = "surelift", "the surelift authors", __version__
extensions = [
    "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx-mathjax-offline",
    "sphinx_design", "sphinx_copybutton", "answer_fields", "command_flags", "glossary_words", "llms_text",
    "gallery_notebooks", "shell_cells",
]  # fmt: skip
exclude_patterns = ["_build", "extensions"]
html_theme, html_title = "furo", f"surelift {__version__}"
html_show_sourcelink = html_show_copyright = False
html_static_path, html_css_files, html_favicon = ["_static"], ["custom.css"], "_static/favicon.svg"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 180

# What is copied from a block is what is typed.
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |!", True
copybutton_only_copy_prompt_lines = False

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autosummary_generate = False
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
python_trailing_comma_in_multi_line_signatures = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False

# Kernels warn that they listen on this machine without encryption, and tell of each page: no warning is one of ours.
logging.getLogger("traitlets").setLevel(logging.WARNING)
SETTINGS = TemporaryDirectory()
kernel = Path(SETTINGS.name, "profile_default", "ipython_kernel_config.py")
kernel.parent.mkdir()
kernel.write_text("c.IPKernelApp.log_level = 'ERROR'\n")
os.environ["IPYTHONDIR"] = SETTINGS.name
# Pages call the command that belongs to this Python.
os.environ["PATH"] = os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ["PATH"]])
# One of them runs the examples as they are.
os.environ["EXAMPLES"] = os.path.join(os.path.dirname(HERE), "examples")


# Made by functions, never by hand: how they are constructed is of no interest.
MADE = {"Bound", "BoundChoice", "Certificate", "Imported", "LearnedPolicy", "Question", "Routing", "Shop"}


def without_constructor(app, what, name, obj, options, signature, returned):
    result = what == "class" and obj.__module__.startswith("surelift.results.") and obj.__name__ != "Outcome"
    return ("", None) if result or (what == "class" and obj.__name__ in MADE) else None


def one_signature(analyze):
    """What a function returns in each case is said in its text, and not by listing all of its parameters again."""

    def analyzed(self):
        analyze(self)
        self.overloads = {}

    return analyzed


def in_one_block(construct):
    """What a cell prints is one output, however many pieces the kernel sends."""

    def constructed(self, *given, **options):
        construct(self, *given, **{"coalesce_streams": True, **options})

    return constructed


def setup(app):
    NotebookClient.__init__ = in_one_block(NotebookClient.__init__)
    ModuleAnalyzer.analyze = one_signature(ModuleAnalyzer.analyze)
    app.connect("autodoc-process-signature", without_constructor)
