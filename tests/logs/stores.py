"""Servers on this machine that hold files as object stores and web servers do."""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(port: int, *command: str, **options: Any) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as server:
        try:
            for _ in range(500):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.02)
            yield
        finally:
            server.terminate()


@contextmanager
def s3_server(folder: Path) -> Iterator[dict[str, str]]:
    """The folders in ``folder`` as buckets; yields the environment that leads there."""
    port, binary = free_port(), shutil.which("rclone", path=os.path.dirname(sys.executable)) or "rclone"
    address = f"127.0.0.1:{port}"
    options = ["--addr", address, "--auth-key", "key,word", "--config", os.devnull, "--dir-cache-time", "0"]
    with process(port, binary, "serve", "s3", str(folder), *options):
        yield {
            "AWS_ENDPOINT_URL": f"http://{address}", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "word",
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1",
        }  # fmt: skip


class WithoutRanges(http.server.SimpleHTTPRequestHandler):
    """Python's own; tells no ranges."""

    def log_message(self, format: str, *args: Any) -> None: ...


class WithRanges(WithoutRanges):
    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path.partition("?")[0]))
        if "signature=bad" in self.path or (path.name == "private.csv" and not self.headers.get("Authorization")):
            return self.send_error(403)
        wanted = self.headers.get("Range")
        if wanted is None or not path.is_file():
            return super().do_GET()
        content = path.read_bytes()
        first, last = (int(text) for text in wanted.removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        self.send_response(206 if part else 416)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}" if part else f"bytes */{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        self.end_headers()
        self.wfile.write(part)
        return None


@contextmanager
def web_server(folder: Path, handler: type[WithoutRanges]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
