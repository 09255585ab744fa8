"""A learned policy as one safetensors file, with JSON in its header. Loading it executes no code."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, SureliftError, UsageError
from surelift.saving import check_format, write_beside
from surelift.version import __version__

FORMAT = "surelift policy"
VERSION = 3


def write(path: str | Path, tensors: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    form = {"format": FORMAT, "version": VERSION, "surelift": __version__, **content}
    refuse_overwriting(path)
    header = {"surelift": json.dumps(form, allow_nan=False)}
    write_beside(path, library().save(dict(tensors), header), what="the policy")


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays, and the JSON that describes them."""
    text = metadata_of(path).get("surelift")
    try:
        content = json.loads(text) if text is not None else {}
    except ValueError as error:
        raise LogsError(f"{path} is damaged: its header is not valid JSON ({error}).") from error
    check_format(content, place=str(path), what="a policy", name=FORMAT, version=VERSION)
    return dict(library().load_file(path)), content


def is_policy(path: str | Path) -> bool:
    try:
        return "surelift" in metadata_of(path)
    except SureliftError:
        return False


def refuse_overwriting(path: str | Path) -> None:
    if Path(path).exists() and not is_policy(path):
        raise UsageError(f"{path} exists and is not a policy, so it was not overwritten; choose another file.")


def metadata_of(path: str | Path) -> dict[str, str]:
    """The metadata of a safetensors file (eight bytes of length, then JSON), read without the safetensors package."""
    try:
        with open(path, "rb") as file:
            length, whole = int.from_bytes(file.read(8), "little"), Path(path).stat().st_size
            if not 2 <= length <= whole - 8:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
            ends = [part["data_offsets"][1] for name, part in header.items() if name != "__metadata__"]
            if whole != 8 + length + max(ends, default=0):
                raise ValueError("its size does not match its header")
            return dict(header.get("__metadata__") or {})
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist.") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise LogsError(
            f"{path} cannot be read as safetensors: {error}. It may be truncated, or not a policy."
        ) from error


def library() -> Any:
    try:
        from safetensors import numpy
    except ModuleNotFoundError as error:
        raise UsageError(
            "reading a policy needs safetensors, which is not installed. Run: pip install safetensors"
        ) from error
    return numpy


def digest(tensors: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + str(tensors[name].shape).encode() + tensors[name].tobytes())
    return digest.hexdigest()
