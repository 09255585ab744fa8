"""A learned policy as one file: numbers as safetensors, all else as JSON in its header. Loading it executes nothing."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surelift.errors import LogsError, SureliftError, UsageError
from surelift.saving import write_beside

FORMAT = "surelift policy"
VERSION = 1


def write(path: str | Path, tensors: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    form = {"format": FORMAT, "version": VERSION, **content}
    refuse_overwriting(path)
    write_beside(
        path, library().save(dict(tensors), {"surelift": json.dumps(form, allow_nan=False)}), what="the policy"
    )


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The numbers, and what they mean."""
    text = metadata_of(path).get("surelift")
    try:
        content = json.loads(text) if text is not None else {}
    except ValueError as error:
        raise LogsError(f"{path} is damaged: its header is not valid JSON ({error}).") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise LogsError(f"{path} is no policy of surelift.")
    if content.get("version") != VERSION:
        raise LogsError(
            f"{path} is a policy of version {content.get('version')!r}; this surelift reads version {VERSION}."
        )
    return dict(library().load_file(path)), content


def is_policy(path: str | Path) -> bool:
    try:
        return "surelift" in metadata_of(path)
    except SureliftError:
        return False


def refuse_overwriting(path: str | Path) -> None:
    """A file that is there already is replaced only if it is a policy."""
    if Path(path).exists() and not is_policy(path):
        raise UsageError(f"{path} exists and is no policy, so it was not overwritten; name another file.")


def metadata_of(path: str | Path) -> dict[str, str]:
    """The header of a safetensors file, its length in eight bytes and then JSON: read without the library."""
    try:
        with open(path, "rb") as file:
            length, whole = int.from_bytes(file.read(8), "little"), Path(path).stat().st_size
            if not 2 <= length <= whole - 8:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
            ends = [part["data_offsets"][1] for name, part in header.items() if name != "__metadata__"]
            if whole != 8 + length + max(ends, default=0):
                raise ValueError("it is shorter, or longer, than its header says")
            return dict(header.get("__metadata__") or {})
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}.") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise LogsError(
            f"{path} cannot be read as safetensors: {error}. It may be truncated, or another file."
        ) from error


def library() -> Any:
    try:
        from safetensors import numpy
    except ModuleNotFoundError as error:
        raise UsageError(
            "a policy's file needs safetensors, which is not installed; say: pip install safetensors."
        ) from error
    return numpy


def digest(tensors: Mapping[str, Any]) -> str:
    """A mark of the numbers, whatever file they are in."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(name.encode() + str(tensors[name].shape).encode() + tensors[name].tobytes())
    return found.hexdigest()
