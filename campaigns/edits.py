"""Certificates, policies and states edited field by field: no edit may be confirmed or read as what it was.

Every field of a certificate of every kind is changed, given another type, removed, doubled, or given a neighbour.
"""

import copy
import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import surelift as sl
from campaigns.campaign import Case
from campaigns.stored import certificates, close, logs, policies, states

SLICE = 300
Step = str | int


@cache
def documents() -> list[tuple[str, str, Any]]:
    """Kind, name and content of what is edited."""
    found: list[tuple[str, str, Any]] = [("certificate", name, json.loads(text)) for name, text in certificates().items()]
    found += [("policy", name, header_of(content)) for name, content in policies().items()]
    with TemporaryDirectory() as folder:
        found += [("state", name, json.loads(content)) for name, content in states(Path(folder)).items()]
    return found


def header_of(content: bytes) -> Any:
    """The header of a policy file, with the texts of its metadata read as JSON where they are."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    texts = header["__metadata__"]
    header["__metadata__"] = {name: json.loads(text) if text[:1] == "{" else text for name, text in texts.items()}
    return header


def with_header(content: bytes, header: Any) -> bytes:
    texts = header.get("__metadata__") if isinstance(header, dict) else None
    if isinstance(texts, dict):
        packed = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in texts.items()}
        header = {**header, "__metadata__": packed}
    written = json.dumps(header, separators=(",", ":")).encode()
    written += b" " * (-len(written) % 8)
    return len(written).to_bytes(8, "little") + written + content[8 + int.from_bytes(content[:8], "little") :]


def edits_of(value: Any) -> list[Any]:
    """Other values in place of this one."""
    if isinstance(value, bool):
        return [not value, int(value), str(value), None]
    if isinstance(value, int | float):
        return [value + 1, -value - 1, value * (1 + 1e-6) + 1e-6, str(value), None, [value], 1e308, True, 10**400]
    if isinstance(value, str):
        return [value + "x", value[:-1], value.upper() + " ", "", "none", None, 7, [value], "\ud800"]
    if value is None:
        return [0, "", False, {}, 0.5]
    if isinstance(value, list):
        return [[*value, *value[-1:]] if value else ["x"], value[:-1] if value else [None], value[::-1], None, "x", {}]
    return [{}, None, [], "x", 3]


def places(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    yield path
    steps: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*path, step))


@cache
def edits() -> list[tuple[int, tuple[Step, ...], int]]:
    """Document, place and number of every edit; -1 removes, -2 adds a field beside."""
    found = []
    for number, (_, _, content) in enumerate(documents()):
        for path in places(content):
            value = at(content, path)
            choices = list(range(len(edits_of(value)))) if path else []
            found += [
                (number, path, choice)
                for choice in [*choices, *([-1] if path else []), *([-2] if isinstance(value, dict) else [])]
            ]
    return found


def at(content: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        content = content[step]
    return content


def edited(content: Any, path: tuple[Step, ...], choice: int) -> Any:
    changed = copy.deepcopy(content)
    if choice == -2:
        at(changed, path)["added"] = 1
        return changed
    holder = at(changed, path[:-1])
    if choice == -1:
        del holder[path[-1]]
    else:
        holder[path[-1]] = edits_of(holder[path[-1]])[choice]
    return changed


def FULL() -> int:  # noqa: N802
    return len(edits())


def case(case: Case) -> str | None:
    every = FULL()
    step = next(step for step in range(every * 5 // 8, every) if math.gcd(step, every) == 1)
    number, path, choice = edits()[(case.number * step) % every]
    kind, name, content = documents()[number]
    changed = edited(content, path, choice)
    if close(content, changed):
        return None
    accepted = {"certificate": verified, "policy": loaded, "state": resumed}[kind](case.folder, name, changed)
    what = {-1: "removed", -2: "given a field more"}.get(choice, "")
    told = f"{kind} {name}, {'.'.join(map(str, path))} {what or f'now {str(at(changed, path))[:100]!r}'}"
    return f"{told}: accepted" if accepted else None


def verified(folder: Path, name: str, changed: Any) -> bool:
    path = folder / "certificate.json"
    path.write_text(json.dumps(changed))
    try:
        return sl.verify(path, logs()).same
    except sl.SureliftError:
        return False


def loaded(folder: Path, name: str, changed: Any) -> bool:
    path = folder / "policy.safetensors"
    path.write_bytes(with_header(policies()[name], changed))
    try:
        sl.LearnedPolicy.load(path)
    except sl.SureliftError:
        return False
    return True


def resumed(folder: Path, name: str, changed: Any) -> bool:
    path = folder / "state.json"
    path.write_text(json.dumps(changed))
    try:
        sl.Monitor.load(path)
    except sl.SureliftError:
        return False
    return True
