"""A learned policy as one safetensors file, with JSON in its header. Loading it executes no code."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, SureliftError, UsageError, install_extra
from surelift.saving import check_format, parse_json, reason, refuse_overwriting, write_beside
from surelift.version import __version__

FORMAT = "surelift policy"
VERSION = 3
UNSEALED = {"sha256": 64 * "0"}


def write(path: str | Path, tensors: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    refuse_other_files(path)
    form = {"format": FORMAT, "version": VERSION, "surelift": __version__, **content}
    header = {"surelift": json.dumps(form, allow_nan=False), **UNSEALED}
    write_beside(path, sealed(library().save(dict(tensors), header)), what="the policy")


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    content = description(path)
    return dict(library().load(sealed_bytes(path))), content


def description(path: str | Path) -> dict[str, Any]:
    """The JSON that describes the arrays, read without the safetensors package."""
    text = metadata_of(path).get("surelift")
    try:
        content: dict[str, Any] = parse_json(text) if isinstance(text, str) else {}
    except (TypeError, ValueError, RecursionError) as error:
        raise LogsError(f"{path} is damaged: its header is not valid JSON ({error}).") from error
    check_format(content, place=str(path), what="a policy", name=FORMAT, version=VERSION)
    return content


def sealed(file: bytes) -> bytes:
    """A safetensors file with a SHA-256 over all its bytes in place of the zeros that held it open."""
    return file.replace(_entry(UNSEALED["sha256"]), _entry(hashlib.sha256(file).hexdigest()), 1)


def sealed_bytes(path: str | Path) -> bytes:
    """The bytes of a safetensors file, none of which changed since it was written."""
    seal, file = metadata_of(path).get("sha256"), Path(path).read_bytes()
    unsealed = file.replace(_entry(str(seal)), _entry(UNSEALED["sha256"]), 1)
    if unsealed == file or sealed(unsealed) != file:
        raise LogsError(f"{path} is damaged: its checksum does not fit. Go back to a copy of it.")
    return file


def _entry(seal: str) -> bytes:
    return f'"sha256":"{seal}"'.encode(errors="replace")


def is_policy(path: str | Path) -> bool:
    try:
        return "surelift" in metadata_of(path)
    except SureliftError:
        return False


def refuse_other_files(path: str | Path) -> None:
    refuse_overwriting(path, what="a policy", recognised=is_policy)


def metadata_of(path: str | Path) -> dict[str, str]:
    """The metadata of a safetensors file (eight bytes of length, then JSON), read without the safetensors package."""
    try:
        with open(path, "rb") as file:
            length, whole = int.from_bytes(file.read(8), "little"), Path(path).stat().st_size
            header = parse_json(file.read(length)) if 2 <= length <= whole - 8 else {}
            ends = [part["data_offsets"][1] for name, part in header.items() if name != "__metadata__"]
            if whole != 8 + length + max(ends, default=0):
                raise ValueError("its size does not match its header")
            return dict(header.get("__metadata__") or {})
    except OSError as error:
        problem = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {reason(error)}"
        raise UsageError(f"{path} {problem}.") from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise LogsError(f"{path} cannot be read as safetensors: {error}. It may be truncated, or not a policy.") from error


def library() -> Any:
    try:
        from safetensors import numpy
    except ModuleNotFoundError as error:
        needed = "a policy file needs safetensors, which is not installed."
        raise UsageError(f"{needed} {install_extra('serve')}") from error
    return numpy


def digest(tensors: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + str(tensors[name].shape).encode() + tensors[name].tobytes())
    return digest.hexdigest()
