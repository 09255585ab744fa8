"""Files behind a web server, read in ranges; from a server without ranges, once and whole into a temporary file."""

import re
import tempfile
from collections.abc import Iterator
from http.client import HTTPException
from io import RawIOBase
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from surelift.logs.sources.stores import changed, without_secrets

_SECONDS = 30
# Bytes that are asked for at once.
_BLOCK = 1 << 20


class WebFile(RawIOBase):
    mode = "rb"

    def __init__(self, uri: str) -> None:
        self._whole: Any = None
        self._uri, self._place, self._block, self._block_start = uri, 0, b"", 0
        # Not HEAD: a signed URL is good for GET only.
        with _answer(uri, "bytes=0-0") as answer:
            self._ranges, self._version = answer.status != 200, _version(answer)
            length = re.search(r"\d+$", answer.headers.get("Content-Range" if self._ranges else "Content-Length") or "")
            if length is None:
                raise OSError("the server does not tell the length of the file")
            self._size = int(length[0])

    def size(self) -> int:
        return self._size

    def metadata(self) -> dict[str, str]:
        return self._version

    def readable(self) -> bool:
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def read(self, count: int | None = -1) -> bytes:
        left = max(self._size - self._place, 0)
        count = left if count is None or count < 0 else min(count, left)
        content = self._from_range(count) if self._ranges else self._from_whole(count)
        self._place += len(content)
        return content

    def close(self) -> None:
        if self._whole is not None:
            self._whole.close()
        super().close()

    def _from_whole(self, count: int) -> bytes:
        if self._whole is None:
            self._whole = tempfile.TemporaryFile()  # noqa: SIM115
            for block in self._blocks(self._size):
                self._whole.write(block)
        self._whole.seek(self._place)
        return bytes(self._whole.read(count))

    def _from_range(self, count: int) -> bytes:
        start = self._place - self._block_start
        if count and not 0 <= start <= start + count <= len(self._block):
            last = min(self._place + max(count, _BLOCK), self._size) - 1
            blocks = self._blocks(last + 1 - self._place, f"bytes={self._place}-{last}")
            self._block, self._block_start, start = b"".join(blocks), self._place, 0
        return self._block[start : start + count]

    def _blocks(self, wanted: int, bytes_wanted: str | None = None) -> Iterator[bytes]:
        with _answer(self._uri, bytes_wanted) as answer:
            if _version(answer) != self._version:
                raise changed(without_secrets(self._uri))
            while block := answer.read(_BLOCK):
                wanted -= len(block)
                yield block
        if wanted:
            raise OSError("the connection ended before the file did")


def _version(answer: Any) -> dict[str, str]:
    return {name: answer.headers[name] for name in ("ETag", "Last-Modified") if name in answer.headers}


def _answer(uri: str, bytes_wanted: str | None = None) -> Any:
    parts, headers = urlsplit(uri), {} if bytes_wanted is None else {"Range": bytes_wanted}
    if "@" in parts.netloc:
        from base64 import b64encode

        user, _, host = parts.netloc.rpartition("@")
        headers["Authorization"] = f"Basic {b64encode(unquote(user).encode()).decode()}"
        uri = urlunsplit(parts._replace(netloc=host))
    try:
        return urlopen(Request(uri, headers=headers), timeout=_SECONDS)
    except (URLError, HTTPException, ValueError) as error:
        code = error.code if isinstance(error, HTTPError) else None
        if code == 416:  # of an empty file there is no first byte
            return error
        reason = f": {error.reason}" if isinstance(error, URLError) else ""
        kind = "Connection failed" if isinstance(error, URLError) else type(error).__name__
        raise OSError(f"HTTP {code}{reason}" if code else f"{kind}{reason}") from None
