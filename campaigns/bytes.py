"""Damaged files: every byte of a state, a policy and a certificate changed, every truncation; and random bytes of logs.

A damaged file is refused, or it still says exactly the same (a space for a space). A CSV may be another log: then the answer
is that of the judge, who reads the same bytes with Python's own means.
"""

import csv
import gzip
import io
import json
import math
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

import surelift as sl
from campaigns.campaign import Case
from campaigns.judge import Column, Log, Text, verdict_on
from campaigns.stored import certificates, close, logs, policies, states
from campaigns.tables import compare

SLICE = 2_000
LOGS = 0.2  # the share of cases that damage a log
ROWS = 12


@cache
def files() -> list[tuple[str, str, bytes]]:
    """Kind, name and content of what is changed byte by byte."""
    with TemporaryDirectory() as folder:
        found = [("state", name, content) for name, content in states(Path(folder)).items()]
    found += [("policy", name, content) for name, content in policies().items()]
    return found + [("certificate", name, certificates()[name].encode()) for name in ("compare", "gate")]


def FULL() -> int:  # noqa: N802
    """Every byte changed in two ways, and every length, and a fifth as many damaged logs."""
    return math.ceil(sum(3 * len(content) for _, _, content in files()) / (1 - LOGS))


def case(case: Case) -> str | None:
    every = FULL()
    # A step without a common divisor: a few cases are spread over all files, and all cases are all bytes.
    step = next(step for step in range(every * 5 // 8, every) if math.gcd(step, every) == 1)
    place = (case.number * step) % every
    for kind, name, content in files():
        if place < 3 * len(content):
            what, damaged = damage(case.chance, content, *divmod(place, 3))
            wrong = READERS[kind](case.folder, name, content, damaged)
            return None if wrong is None else f"{kind} {name}, {what}: {wrong}"
        place -= 3 * len(content)
    return damaged_log(case)


def damage(chance: Random, content: bytes, at: int, how: int) -> tuple[str, bytes]:
    if how == 2:
        return f"cut to {at} bytes", content[:at]
    new = content[at] ^ (1 << chance.randrange(8)) if how else (content[at] + chance.randrange(1, 256)) % 256
    return f"byte {at} from {content[at]} to {new}", content[:at] + bytes([new]) + content[at + 1 :]


def read_state(folder: Path, name: str, content: bytes, damaged: bytes) -> str | None:
    path = folder / "state.json"
    path.write_bytes(damaged)
    try:
        state = json.loads(json.dumps(sl.Monitor.load(path).state()))
    except sl.SureliftError:
        return None
    path.write_bytes(content)
    return None if state == json.loads(json.dumps(sl.Monitor.load(path).state())) else "read as another state"


def read_policy(folder: Path, name: str, content: bytes, damaged: bytes) -> str | None:
    path = folder / "policy.safetensors"
    path.write_bytes(damaged)
    try:
        sl.LearnedPolicy.load(path)
    except sl.SureliftError:
        return None
    return None if parsed(content) == parsed(damaged) else "read as another policy"


def parsed(content: bytes) -> Any:
    """A safetensors file: its arrays, their types, and the JSON of its header."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    text = header.pop("__metadata__")
    arrays = {name: (str(array.dtype), array.tobytes()) for name, array in safetensors.numpy.load(content).items()}
    return header, {name: json.loads(value) if value[:1] == "{" else value for name, value in text.items()}, arrays


def read_certificate(folder: Path, name: str, content: bytes, damaged: bytes) -> str | None:
    path = folder / "certificate.json"
    path.write_bytes(damaged)
    try:
        same = sl.verify(path, logs()).same
    except sl.SureliftError:
        return None
    return "verified as the same" if same and not close(json.loads(content), json.loads(damaged)) else None


READERS = {"state": read_state, "policy": read_policy, "certificate": read_certificate}


@cache
def columns() -> dict[str, list[float]]:
    rng = np.random.default_rng(3)
    logged = rng.uniform(0.2, 0.8, ROWS)
    return {
        "click": rng.integers(0, 2, ROWS).astype(float).tolist(),
        "p": logged.round(3).tolist(),
        "new": (logged * rng.uniform(0.5, 1.2, ROWS)).round(3).tolist(),
    }


@cache
def log_files() -> dict[str, bytes]:
    table, rows = pa.table(columns()), zip(*columns().values(), strict=True)
    text = "click,p,new\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows)
    parquet, ipc = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    with pa.ipc.new_file(ipc, table.schema) as writer:
        writer.write_table(table)
    zipped = gzip.compress(text.encode(), mtime=0)
    return {".csv": text.encode(), ".csv.gz": zipped, ".parquet": parquet.getvalue(), ".arrow": ipc.getvalue()}


def damaged_log(case: Case) -> str | None:
    chance = case.chance
    ending = chance.choice([".csv", ".csv", ".csv.gz", ".parquet", ".arrow"])
    content, told = log_files()[ending], []
    for _ in range(chance.choice([1, 1, 2, 5])):
        what, content = damage(chance, content, chance.randrange(len(content)), chance.choice([0, 0, 0, 1, 1, 2]))
        told.append(what)
        if not content:
            break
    path = case.folder / f"log{ending}"
    path.write_bytes(content)
    try:
        found: Any = sl.evaluate(sl.Logs(path, reward="click", propensity="p"), {"new": "new"}, control="none")
    except sl.SureliftError as error:
        found = error
    wrong = None
    if ending == ".csv":
        wrong = judged_csv(content, found)
    elif ending == ".csv.gz" and not isinstance(found, sl.SureliftError):
        wrong = judged_csv(log_files()[".csv"], found)
    return None if wrong is None else f"log{ending}, {'; '.join(told)}: {wrong}\n{content!r}"


def judged_csv(content: bytes, found: Any) -> str | None:
    """What the bytes say to Python's csv module; a file it cannot read as a table may only be refused."""
    try:
        text = content.decode()
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        rows = []
    rows = [row for row in rows if row]
    names = rows[0] if rows else []
    whole = {"click", "p", "new"} <= set(names) and len(set(names)) == len(names)
    if not whole or any(len(row) != len(names) for row in rows) or '"' in content.decode(errors="replace"):
        return None if isinstance(found, sl.SureliftError) else f"no table, but answered: {found}"
    if names[0].startswith("\ufeff") or any("\x00" in cell for row in rows for cell in row):
        return None
    read = {name: Column([Text(row[place]) for row in rows[1:]]) for place, name in enumerate(names)}
    return compare(verdict_on(Log(read, {"reward": "click", "propensity": "p"}, "new", 0.05)), found)
