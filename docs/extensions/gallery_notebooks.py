"""The notebooks of the gallery: their thumbnails, and downloads without what the pages leave out."""

import base64
import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

EXECUTED = "jupyter_execute"  # where myst-nb leaves notebooks with their output


def last_picture(notebook: dict[str, Any]) -> bytes | None:
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    drawn = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return base64.b64decode(drawn[-1]) if drawn else None


def without_removed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Cells whose standard error is not shown do not have it in the download either."""
    for cell in notebook["cells"]:
        if "remove-stderr" in cell["metadata"].get("tags", ()):
            cell["outputs"] = [output for output in cell["outputs"] if output.get("name") != "stderr"]
    return notebook


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    for path in sorted(site.parent.glob(f"{EXECUTED}/gallery/*.ipynb")):
        if (picture := last_picture(json.loads(path.read_text()))) is not None:
            (site / "_images" / f"gallery-{path.stem}.png").write_bytes(picture)
    for path in site.glob("_downloads/*/*.ipynb"):
        path.write_text(json.dumps(without_removed(json.loads(path.read_text())), indent=1) + "\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
