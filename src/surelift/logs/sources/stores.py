"""Files in object stores and behind web servers, by URI: which file system holds them, and their names without secrets."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from surelift.errors import LogsError, UsageError, first_line

T = TypeVar("T")
# Files of a store that are read at once.
_AT_ONCE = 16
_VERSION = ("ETag", "Last-Modified", "generation", "metageneration")
# Seconds, and attempts, after which a store counts as unreachable.
_CONNECT, _ANSWER, _ATTEMPTS = 5, 30, 2
_REASONS = {
    r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|container does not exist": "the bucket does not exist; check its name",
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT|InvalidAccessKey|HTTP status 40[013]|HTTP 40[13]|PERMISSION_DENIED"
    r"|UNAUTHENTICATED|403|401|AuthenticationFailed|AuthorizationFailure": "access is denied; check the credentials in the "
    "environment ({credentials})",
    r"[Cc]redential|metadata\.google\.internal": "no credentials were found; set {credentials}",
    r"NETWORK_CONNECTION|curlCode|resolve|[Cc]onnect|[Tt]imed? ?out|UNAVAILABLE|DEADLINE|refused": "the store cannot be "
    "reached; check the network{endpoint}",
    r"_NOT_FOUND|NO_SUCH_KEY|NoSuchKey|does not exist|[Nn]ot [Ff]ound|HTTP 404|No such file": "the file does not exist",
}  # fmt: skip
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN",
    "http": "in a signed URL",
}
_SCHEMES = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs", "az": "abfs",
    "http": "http", "https": "http",
}  # fmt: skip


class StoredFile(str):
    """The name of a file in a store, without the secrets of its URI. It opens in the version that was read first."""

    filesystem: Any
    key: str
    listed: tuple[int, int | None] | None
    seen: Any

    def __new__(cls, name: str, filesystem: Any, key: str, listed: tuple[int, int | None] | None = None) -> "StoredFile":
        file = super().__new__(cls, name)
        file.filesystem, file.key, file.listed, file.seen = filesystem, key, listed, None
        return file

    def open(self) -> Any:
        with store_errors(self):
            stream = self.filesystem.open_input_file(self.key)
            version = {name: value for name, value in (stream.metadata() or {}).items() if name in _VERSION}
            state = (stream.size(), version)
        self.seen = self.seen or state
        if state != self.seen or not self._is_as_listed(state):
            raise changed(self)
        return stream if isinstance(stream, pa.NativeFile) else pa.PythonFile(stream, "r")

    def _is_as_listed(self, state: tuple[int, dict[str, bytes]]) -> bool:
        """It has the size that was listed, and the time, to the second: some stores round it, some cut it."""
        if self.listed is None:
            return True
        moment = self.listed[1] or 0  # where it was not listed, or could not be read
        try:
            written = datetime.fromisoformat(state[1].get("Last-Modified", b"").decode()).timestamp()
        except ValueError:
            moment = written = 0
        return self.listed[0] == state[0] and (moment <= 0 or abs(moment / 1e9 - written) < 1.001)

    @property
    def identity(self) -> tuple[str, str]:
        """The store with its account, and the file in it."""
        scheme, _, rest = self.partition("://")
        account = rest.partition("/")[0].partition("@")[2]
        return f"{_SCHEMES.get(scheme.lower(), scheme)}@{account.partition('.')[0]}", self.key

    @property
    def size(self) -> int | None:
        known = self.listed or self.seen
        return None if known is None else known[0]


def changed(name: str) -> LogsError:
    return LogsError(
        f"{name} changed after the log was opened, so passes would see different rounds. Nothing was computed; open the log "
        "again when nothing writes to it, or read a copy."
    )


def is_remote(path: str) -> bool:
    return re.match(r"[^\W_]{2,}://", path) is not None


def refuse_remote(path: str) -> None:
    if is_remote(path):
        raise UsageError(
            f"{without_secrets(path)} is not on this machine: a monitor counts files here, by path and size. Copy it, "
            "or in Python count its rounds as a batch: Monitor.update(path)."
        )


def without_secrets(uri: str) -> str:
    """A URI without its user and password, and without its query, which may be a signature.

    >>> without_secrets("https://me:word@host/a.csv?X-Amz-Signature=12#x")
    'https://host/a.csv'
    """
    scheme, mark, rest = uri.partition("://")
    if not mark:
        return uri
    if _SCHEMES.get(scheme.lower()) in ("http", "abfs"):
        rest = re.sub(r"[?#].*", "", rest, flags=re.DOTALL)
    host, slash, path = rest.partition("/")
    if _SCHEMES.get(scheme.lower()) != "abfs" or ":" in host:
        host = host.rpartition("@")[2]
    return f"{scheme}{mark}{host}{slash}{path}"


def open_store(uri: str) -> tuple[Any, str, str]:
    """The file system of a URI, the path in it, and what stands before such a path in names."""
    scheme, _, rest = uri.partition("://")
    kind = _SCHEMES.get(scheme.lower())
    if kind == "http":
        from surelift.logs.sources.web import WebFile

        return SimpleNamespace(open_input_file=WebFile), uri, ""
    host, _, path = rest.partition("/")
    if kind is None or not host:
        problem = f"it names no bucket; write {scheme}://BUCKET/PATH"
        if kind is None:
            problem = f"stores are known by {', '.join(f'{name}://' for name in _SCHEMES)}"
        raise UsageError(f"{without_secrets(uri)} cannot be read: {problem}.")
    with store_errors(uri):
        from pyarrow import fs

        if kind == "abfs":
            container, _, account = host.rpartition(":")[2].partition("@")
            named = f"{scheme}://{container}{account and f'@{account}'}/"
            return _azure(account.partition(".")[0] or None), f"{container}/{path}".rstrip("/"), named
        host = host.rpartition("@")[2]
        if kind == "s3":
            retries = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
            waits = {"connect_timeout": _CONNECT, "request_timeout": _ANSWER}
            filesystem = fs.S3FileSystem(endpoint_override=s3_endpoint(), retry_strategy=retries, **waits)
        else:
            options: dict[str, Any] = {"retry_time_limit": timedelta(seconds=_CONNECT)}
            if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):
                endpoint = emulator.removeprefix("http://").rstrip("/")
                options |= {"anonymous": True, "scheme": "http", "endpoint_override": endpoint}
            filesystem = fs.GcsFileSystem(**options)
        return filesystem, f"{host}/{path}".rstrip("/"), f"{scheme}://{host}/"


def s3_endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def _azure(account: str | None) -> Any:
    from pyarrow import fs

    def said(*names: str) -> str:
        return next(filter(None, (os.environ.get(f"AZURE_STORAGE_{name}") for name in names)), "")

    account = account or said("ACCOUNT", "ACCOUNT_NAME")
    if not account:
        raise LogsError(f"no credentials were found; set {_CREDENTIALS['abfs']}. Nothing was computed.")
    given, parts = {"account_key": said("KEY", "ACCOUNT_KEY"), "sas_token": said("SAS_TOKEN")}, urlsplit(said("ENDPOINT"))
    for kind in ("blob", "dfs"):
        given |= {f"{kind}_storage_authority": parts.netloc, f"{kind}_storage_scheme": parts.scheme}
    return fs.AzureFileSystem(account_name=account, **{name: value for name, value in given.items() if value})


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """Report in a sentence, without secrets, why a store did not answer."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise LogsError(f"{without_secrets(name)} cannot be read: {why(name, error)}. Nothing was computed.") from None


def why(name: str, error: Exception) -> str:
    kind = _SCHEMES.get(name.partition("://")[0].lower(), "http")
    endpoint = s3_endpoint() if kind == "s3" else None
    checked = f", and the endpoint {without_secrets(endpoint)}" if endpoint else ""
    for pattern, reason in _REASONS.items():
        if re.search(pattern, str(error)):
            return reason.format(credentials=_CREDENTIALS[kind], endpoint=checked)
    return re.sub(r"\S+://\S+", lambda found: without_secrets(found[0]), first_line(error))


def ahead(read: Callable[[str], T], files: Sequence[str]) -> Iterator[T]:
    """What is read of each file, in order; of files in a store several are under way at once."""
    if not (files and isinstance(files[0], StoredFile)):
        yield from map(read, files)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting, following = deque[Future[T]](), iter(files)
        try:
            while True:
                while len(waiting) < _AT_ONCE and (file := next(following, None)) is not None:
                    waiting.append(pool.submit(read, file))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
