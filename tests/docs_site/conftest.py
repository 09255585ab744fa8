"""The built documentation, served on this machine, in a real browser."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing

ROOT = Path(__file__).parent.parent.parent
SITE = ROOT / "build" / "docs"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are looked at by the tests."""


@pytest.fixture(scope="session")
def site() -> Path:
    finished = SITE / "llms.txt"  # the last file that a build writes
    if not finished.is_file():
        missing("docs", "build/docs is not there; run make docs")
    if max(page.stat().st_mtime for page in (ROOT / "docs").rglob("*.md")) > finished.stat().st_mtime:
        missing("docs", "build/docs is older than docs; run make docs")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
