"""Files in object stores and behind web servers, by URI: which file system holds them, and their names without secrets."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from surelift.errors import LogsError, UsageError, first_line
from surelift.logs.sources.formats import DELTA, folders_above, in_table, roots_among

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

    __slots__ = ("filesystem", "key", "listed", "seen")
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
        if state != self.seen or (self.listed is not None and not _is_listed(self.listed, state)):
            raise changed(self)
        return stream if isinstance(stream, pa.NativeFile) else pa.PythonFile(stream, "r")

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


def _is_listed(listed: tuple[int, int | None], state: tuple[int, dict[str, bytes]]) -> bool:
    """A file has the size that was listed, and the time, to the second: some stores round it, some cut it."""
    moment = listed[1] or 0  # where it was not listed, or could not be read
    try:
        written = datetime.fromisoformat(state[1].get("Last-Modified", b"").decode()).timestamp()
    except ValueError:
        moment = written = 0
    return listed[0] == state[0] and (moment <= 0 or abs(moment / 1e9 - written) < 1.001)


def changed(name: str) -> LogsError:
    return LogsError(
        f"{name} changed after the log was opened, so passes would see different rounds. Nothing was computed; open the log "
        "again when nothing writes to it, or read a copy."
    )


def is_remote(path: str) -> bool:
    scheme, mark, _ = path.partition("://")
    return bool(mark) and scheme.isalnum() and len(scheme) > 1


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
        known = ", ".join(f"{name}://" for name in _SCHEMES)
        problem = f"stores are known by {known}" if kind is None else f"it names no bucket; write {scheme}://BUCKET/PATH"
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
            filesystem = fs.S3FileSystem(
                endpoint_override=s3_endpoint(), connect_timeout=_CONNECT, request_timeout=_ANSWER, retry_strategy=retries
            )
        else:
            emulator = os.environ.get("STORAGE_EMULATOR_HOST")
            options: dict[str, Any] = {"retry_time_limit": timedelta(seconds=_CONNECT)}
            if emulator is not None:
                endpoint = emulator.removeprefix("http://").rstrip("/")
                options |= {"anonymous": True, "scheme": "http", "endpoint_override": endpoint}
            filesystem = fs.GcsFileSystem(**options)
        return filesystem, f"{host}/{path}".rstrip("/"), f"{scheme}://{host}/"


def s3_endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def _azure(account: str | None) -> Any:
    from pyarrow import fs

    given = {
        "account_name": account or os.environ.get("AZURE_STORAGE_ACCOUNT") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"),
        "account_key": os.environ.get("AZURE_STORAGE_KEY") or os.environ.get("AZURE_STORAGE_ACCOUNT_KEY"),
        "sas_token": os.environ.get("AZURE_STORAGE_SAS_TOKEN"),
    }
    if not given["account_name"]:
        raise LogsError(f"no credentials were found; set {_CREDENTIALS['abfs']}. Nothing was computed.")
    if endpoint := os.environ.get("AZURE_STORAGE_ENDPOINT"):
        parts = urlsplit(endpoint)
        given |= {"blob_storage_authority": parts.netloc, "blob_storage_scheme": parts.scheme}
        given |= {"dfs_storage_authority": parts.netloc, "dfs_storage_scheme": parts.scheme}
    return fs.AzureFileSystem(**{name: value for name, value in given.items() if value})


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


def expand_stored(uri: str, wanted: Callable[[str], bool], hidden: Callable[[str], bool]) -> list[StoredFile]:
    """The files that a URI, a folder in a store, or a glob there stands for."""
    filesystem, key, before = open_store(uri)
    if not before:
        problem = ""
        try:
            if re.search(r"[*\[]", urlsplit(uri).path):
                problem = f"{without_secrets(uri)} has a glob, but a web server does not list its files; name each file."
        except ValueError as error:
            problem = f"{uri} is no address of a file on the web: {error}."
        if problem:
            raise UsageError(problem)
        file = StoredFile(unquote(without_secrets(uri)), filesystem, uri)
        file.open().close()
        return [file]
    from pyarrow import fs

    name, marks = without_secrets(uri), re.search(r"[*?\[]", key)
    with store_errors(uri):
        if not marks:
            info = filesystem.get_file_info(key)
            if info.type == fs.FileType.File:
                _refuse_in_table(filesystem, [key], set())
                return [_stored(info, filesystem, before)]
        folder = key if not marks else key[: marks.start()].rpartition("/")[0]
        if not folder:
            raise UsageError(f"{name} has a glob in place of its bucket; name one bucket.")
        try:
            listed = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
        except FileNotFoundError:
            listed = []
        if not listed and filesystem.get_file_info(folder.partition("/")[0]).type == fs.FileType.NotFound:
            raise OSError("NoSuchBucket")
        files = [info for info in listed if info.type == fs.FileType.File]
        chosen = [info for info in files if _matches(info.path, key, bool(marks), wanted, hidden)]
        _refuse_in_table(filesystem, [info.path for info in chosen], roots_among(info.path for info in files))
    return [_stored(info, filesystem, before) for info in chosen]


def _refuse_in_table(filesystem: Any, keys: Sequence[str], roots: set[str]) -> None:
    """Refuse files of a Delta or Iceberg table, whose root may lie above the folder that was listed."""
    from pyarrow import fs

    if not keys:
        return
    for folder in folders_above(keys[0]):
        log, metadata = filesystem.get_file_info([f"{folder}/{DELTA}", f"{folder}/metadata"])
        inner = fs.FileSelector(metadata.path) if metadata.type == fs.FileType.Directory else None
        if log.type == fs.FileType.Directory:
            roots = roots | {folder}
        elif inner is not None:
            roots = roots | roots_among(info.path for info in filesystem.get_file_info(inner))
    for key in keys:
        for root in roots.intersection(folders_above(key)) if roots else ():
            raise in_table(key, root)


def _matches(path: str, key: str, glob: bool, wanted: Callable[[str], bool], hidden: Callable[[str], bool]) -> bool:
    """A file is named by a glob, or lies in a folder that is: there, what is hidden and holds no rounds is not.

    ** matches any number of folders, hidden ones excepted.
    """
    parts, pattern = path.split("/"), key.split("/")
    # How many of the first parts the glob can match.
    reached = {0} if glob else {len(pattern)}
    for piece in pattern if glob else ():
        further = set(reached) if piece == "**" else set[int]()
        for depth in reached:
            for end in range(depth, len(parts) if piece == "**" else min(depth + 1, len(parts))):
                dotted = parts[end].startswith(".") and not piece.startswith(".")
                if dotted or not fnmatchcase(parts[end], piece):
                    break
                further.add(end + 1)
        reached = further
    return any(depth == len(parts) or (wanted(parts[-1]) and not any(map(hidden, parts[depth:]))) for depth in reached)


def _stored(info: Any, filesystem: Any, before: str) -> StoredFile:
    return StoredFile(f"{before}{info.path.partition('/')[2]}", filesystem, info.path, (info.size, info.mtime_ns))


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
