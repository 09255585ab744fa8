"""The same cells in every container that logs come in, with what the container makes of them."""

import bz2
import csv
import gzip
import io
import json
import lzma
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.judge import NARROW, Column, Text

Cells = list[Any]
# Floats of 64, 32 and 16 bits hold every whole number up to here.
EXACT, EXACT_NARROW, EXACT_HALF = 2.0**53, 2.0**24, 2.0**11
MISSING = ("", "NA", "null", "None", "#N/A", "n/a")
WORDS = (("t", "f"), ("Y", "N"), ("yes", "No"))
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".zst": lambda content: zstd(content),
}  # fmt: skip
WHOLE = 2**63


def kind_of(cells: Sequence[Any]) -> str:
    """text, vectors, whole, flags, floats, or mixed: numbers and text."""
    there = [cell for cell in cells if cell is not None]
    if any(isinstance(cell, list) for cell in there):
        return "vectors" if all(isinstance(cell, list) for cell in there) else "mixed"
    texts = sum(isinstance(cell, str) for cell in there)
    if texts:
        return "text" if texts == len(there) else "mixed"
    if there and all(isinstance(cell, bool) for cell in there):
        return "flags"
    if there and all(type(cell) is int and abs(cell) < WHOLE for cell in there):
        return "whole"
    return "floats"


def judged(cells: Sequence[Any]) -> Column:
    """Cells as they are, with text marked."""
    kind = kind_of(cells)
    if kind == "mixed" and kind_of(without := [None if cell != cell else cell for cell in cells]) == "text":
        cells, kind = without, "text"  # a NaN among texts is a gap
    if kind == "floats" and not too_large(cells):
        return Column([None if cell is None else float(cell) for cell in cells], exact=EXACT)
    return Column([Text(cell) if isinstance(cell, str) else cell for cell in cells], mixed=kind == "mixed")


def as_texts(cells: Sequence[Any]) -> Cells:
    return [None if cell is None else str(cell) for cell in cells]


def narrowed(cells: Sequence[Any], kind: type) -> Cells:
    with np.errstate(over="ignore"):
        return [None if cell is None else float(kind(float(cell))) for cell in cells]


def floats(cells: Sequence[Any]) -> list[float]:
    return [math.nan if cell is None else float(cell) for cell in cells]


def too_large(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, int) and abs(cell) > 2**1023 for cell in cells)


def lists(chance: Random, cells: Cells) -> tuple[Any, Column]:
    return (tuple(cells) if chance.random() < 0.2 and kind_of(cells) != "vectors" else list(cells)), judged(cells)


def numpy_array(chance: Random, cells: Cells) -> tuple[Any, Column]:
    kind = kind_of(cells)
    if kind == "vectors":
        return numpy_matrix(chance, cells)
    if kind == "mixed" or too_large(cells):
        return np.array(cells, dtype=object), judged(cells)
    if kind == "text":
        if None in cells or chance.random() < 0.3:
            return np.array(cells, dtype=object), judged(cells)
        return np.array(cells), judged(cells)
    choices = ["f8", "f8", "f4", ">f8", "masked", "object", "strided"]
    if kind in ("whole", "flags") and None not in cells:
        choices += ["i8", "i8"] + (["?", "i1", "u1"] if set(map(int, cells)) <= {0, 1} else [])
    choice = chance.choice(choices)
    if choice == "object":
        return np.array(cells, dtype=object), judged(cells)
    if choice == "masked":
        there = [cell is None for cell in cells]
        filled = [0.5 if cell is None else float(cell) for cell in cells]
        return np.ma.masked_array(filled, mask=there), judged([None if cell is None else float(cell) for cell in cells])
    if choice in ("i8", "?", "i1", "u1"):
        return np.array(cells).astype(choice), judged(cells)
    stored: Any = floats(cells)
    if choice == "f4":
        stored = narrowed(stored, np.float32)
        return np.array(stored, dtype="f4"), Column(stored, NARROW, EXACT_NARROW)
    array = np.array(stored, dtype=">f8" if choice == ">f8" else "f8")
    if choice == "strided":
        array = np.column_stack([array, array])[:, 0]
    return array, Column(stored, exact=EXACT)


def numpy_matrix(chance: Random, cells: Cells) -> tuple[Any, Column]:
    sizes = {None if cell is None else len(cell) for cell in cells}
    if len(sizes) != 1 or None in sizes or 0 in sizes or any(None in cell for cell in cells):
        return list(cells), judged(cells)
    choice = chance.choice(["f8", "f8", "f4", "F", ">f8"])
    matrix = np.array(cells, dtype="f8")
    if choice == "f4":
        matrix = matrix.astype("f4")
        return matrix, Column(matrix.astype("f8").tolist(), NARROW)
    matrix = np.asfortranarray(matrix) if choice == "F" else matrix.astype(">f8") if choice == ">f8" else matrix
    return matrix, Column(matrix.tolist())


def pandas_series(chance: Random, cells: Cells) -> tuple[Any, Column]:
    kind = kind_of(cells)
    if kind in ("mixed", "vectors") or too_large(cells):
        return pd.Series(cells, dtype=object), judged(cells)
    if kind == "text":
        dtype = chance.choice(["object", "string", "string[pyarrow]", "category", None])
        return pd.Series(cells, dtype=dtype), judged(cells)
    choices: list[Any] = ["f8", "f8", "f4", "Float64", "Float32", "double[pyarrow]", "float[pyarrow]", "object"]
    if kind == "whole":
        choices += ["Int64", "int64[pyarrow]"]
    if kind == "flags":
        choices += ["boolean", "bool[pyarrow]"]
    choice = chance.choice(choices)
    if choice == "object" or choice in ("Int64", "int64[pyarrow]", "boolean", "bool[pyarrow]"):
        return pd.Series(cells, dtype=choice), judged(cells)
    if choice in ("f4", "Float32", "float[pyarrow]"):
        stored = narrowed(cells, np.float32)
        return pd.Series(stored, dtype=choice), Column(stored, NARROW, EXACT_NARROW)
    stored = [None if cell is None else float(cell) for cell in cells]
    return pd.Series(stored, dtype=choice), Column(stored, exact=EXACT)


def polars_series(chance: Random, cells: Cells) -> tuple[Any, Column]:
    kind = kind_of(cells)
    if kind == "mixed":
        if any(isinstance(cell, list) for cell in cells):
            return list(cells), judged(cells)
        cells, kind = as_texts(cells), "text"
    if kind == "text":
        return pl.Series(cells, dtype=chance.choice([pl.String, pl.Categorical])), judged(cells)
    if kind == "vectors":
        if chance.random() < 0.3:
            stored = [None if cell is None else narrowed(cell, np.float32) for cell in cells]
            return pl.Series(stored, dtype=pl.List(pl.Float32)), Column(stored, NARROW)
        return pl.Series(cells, dtype=pl.List(pl.Float64)), judged(cells)
    if kind in ("whole", "flags") and chance.random() < 0.5:
        return pl.Series(cells), judged(cells)
    if too_large(cells):
        cells = [math.inf if too_large([cell]) else cell for cell in cells]
    plain = [None if cell is None else float(cell) for cell in cells]
    if chance.random() < 0.2:
        stored = narrowed(plain, np.float32)
        return pl.Series(stored, dtype=pl.Float32), Column(stored, NARROW, EXACT_NARROW)
    return pl.Series(plain, dtype=pl.Float64), Column(plain, exact=EXACT)


def arrow_array(chance: Random, cells: Cells) -> tuple[Any, Column]:
    kind = kind_of(cells)
    if kind == "mixed" and not any(isinstance(cell, list) for cell in cells):
        cells, kind = as_texts(cells), "text"
    if kind == "text":
        choice = chance.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
        return pa.array(cells, pa.string()).cast(choice), judged(cells)
    if kind in ("vectors", "mixed"):
        return arrow_vectors(chance, [cell if isinstance(cell, list) else None for cell in cells])
    if cells and all(cell is None for cell in cells) and chance.random() < 0.5:
        return pa.nulls(len(cells)), judged(cells)
    if kind in ("whole", "flags") and chance.random() < 0.5:
        return pa.array(cells), judged(cells)
    plain = [None if cell is None else math.inf if too_large([cell]) else float(cell) for cell in cells]
    choice = chance.choice(["f8", "f8", "f4", "f2", "decimal", "dictionary"])
    if choice in ("f4", "f2"):
        stored = narrowed(plain, np.float32 if choice == "f4" else np.float16)
        values = pa.array(stored, pa.float32())
        if choice == "f4":
            return values, Column(stored, NARROW, EXACT_NARROW)
        return values.cast(pa.float16()), Column(stored, NARROW, EXACT_HALF)
    if choice == "decimal" and all(cell is None or abs(cell) < 1e6 for cell in plain):
        rounded = [None if cell is None else Decimal(str(round(cell, 9))).quantize(Decimal("1e-9")) for cell in plain]
        return pa.array(rounded, pa.decimal128(20, 9)), Column([None if c is None else float(c) for c in rounded])
    array = pa.array(plain, pa.float64())
    return array.dictionary_encode() if choice == "dictionary" else array, Column(plain, exact=EXACT)


def arrow_vectors(chance: Random, cells: Cells) -> tuple[Any, Column]:
    sizes = {None if cell is None else len(cell) for cell in cells}
    if chance.random() < 0.3:
        stored = [None if cell is None else narrowed(cell, np.float32) for cell in cells]
        return pa.array(stored, pa.list_(pa.float32())), Column(stored, NARROW)
    if len(sizes - {None}) == 1 and 0 not in sizes and chance.random() < 0.4:
        return pa.array(cells, pa.list_(pa.float64(), next(iter(sizes - {None})))), judged(cells)
    return pa.array(cells, chance.choice([pa.list_, pa.large_list])(pa.float64())), judged(cells)


def csv_text(chance: Random, cell: Any, missing: str) -> tuple[str, Any]:
    """How a cell is written, and what is to be read."""
    if cell is None:
        return missing, None
    if isinstance(cell, bool):
        return chance.choice(["true", "True", "1"] if cell else ["false", "False", "0"]), cell
    if isinstance(cell, str):
        return cell, Text(cell)
    if isinstance(cell, list):
        return json.dumps(cell), cell
    if isinstance(cell, int):
        return str(cell), cell
    written = repr(cell)
    return (f" {written} " if chance.random() < 0.02 else written), cell


def csv_columns(chance: Random, columns: dict[str, Cells], text: set[str]) -> tuple[list[list[str]], dict[str, Column]]:
    written, read = [], {}
    for name, cells in columns.items():
        missing = "" if name in text else chance.choice(MISSING)
        pairs = [csv_text(chance, cell, missing) for cell in cells]
        if kind_of(cells) == "flags" and name != "a" and chance.random() < 0.5:  # an action is a position or a label
            yes, no = chance.choice(WORDS)
            pairs = [(missing if cell is None else yes if cell else no, cell) for cell in cells]
        written.append([one for one, _ in pairs])
        # An id, a day or a place is text in a file of text.
        read[name] = Column([None if cell is None else Text(one) if name in text else cell for one, cell in pairs])
    return [list(row) for row in zip(*written, strict=True)], read


def chunked(chance: Random, array: Any) -> Any:
    """In a few chunks, with an empty one now and then, and an offset."""
    if chance.random() < 0.5 or len(array) < 2:
        return array
    cut = chance.randrange(1, len(array))
    parts = [array.slice(0, cut), array.slice(0, 0), array.slice(cut)]
    return pa.chunked_array(parts if chance.random() < 0.5 else [parts[0], parts[2]])


Made = tuple[Any, dict[str, Column]]


def made_of(series: Callable[[Random, Cells], tuple[Any, Column]], chance: Random, columns: dict[str, Cells]) -> Made:
    both = {name: series(chance, cells) for name, cells in columns.items()}
    return {name: native for name, (native, _) in both.items()}, {name: column for name, (_, column) in both.items()}


def dict_of(series: Callable[[Random, Cells], tuple[Any, Column]]) -> Callable[..., Made]:
    def make(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
        return made_of(series, chance, columns)

    return make


def pandas_frame(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    natives, read = made_of(pandas_series, chance, columns)
    frame = pd.DataFrame({name: series.array for name, series in natives.items()})
    index = chance.choice(["range", "shuffled", "same", "text"])
    if index == "shuffled":
        frame.index = pd.Index(chance.sample(range(len(frame)), len(frame)))
    elif index == "same":
        frame.index = pd.Index([7] * len(frame))
    elif index == "text":
        frame.index = pd.Index([f"row {row}" for row in range(len(frame))], name=chance.choice([None, "index"]))
    return frame, read


def polars_frame(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    natives, read = made_of(polars_series, chance, columns)
    return pl.DataFrame(natives), read


def arrow_table(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    natives, read = made_of(arrow_array, chance, columns)
    return pa.table({name: chunked(chance, array) for name, array in natives.items()}), read


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(content)
    return bytes(sink.getvalue())


def csv_file(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    rows, read = csv_columns(chance, columns, text)
    ending, end = chance.choice([".csv", ".csv", ".tsv"]), chance.choice(["\n", "\n", "\r\n"])
    quoting: Any = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    separator = chance.choice([",", ";", "\t", "|"] if chance.random() < 0.3 else ["\t" if ending == ".tsv" else ","])
    file = io.StringIO(newline="")
    file.write(chance.choice(["", "", "", "# made by a tool\n", f"#{end}{end}# rows, and more: é{end}"]))
    writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerow(list(columns))
    writer.writerows(rows)
    return packed(chance, folder, ending, file.getvalue()), read


def packed(chance: Random, folder: Path, ending: str, text: str) -> str:
    """A file of text, now and then compressed or in UTF-16."""
    content = text.encode(chance.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    zipped = chance.choice(list(COMPRESSED)) if chance.random() < 0.25 else ""
    path = folder / f"log{ending}{zipped}"
    path.write_bytes(COMPRESSED[zipped](content) if zipped else content)
    return str(path)


def json_file(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    rows = dict_rows(chance, columns)
    if not rows:
        return csv_file(chance, columns, folder, text)
    lines = "".join(json.dumps(row, ensure_ascii=chance.random() < 0.5) + "\n" for row in rows)
    return packed(chance, folder, chance.choice([".jsonl", ".ndjson", ".json"]), lines), made_of(lists, chance, columns)[1]


def dict_rows(chance: Random, columns: dict[str, Cells]) -> list[dict[str, Any]]:
    """A missing value is null, or a key that is not there."""
    gaps = {name for name, cells in columns.items() if any(cell is not None for cell in cells) and chance.random() < 0.5}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{name: cell for name, cell in row.items() if cell is not None or name not in gaps} for row in rows]


def dicts(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    read = made_of(lists, chance, columns)[1]
    return dict_rows(chance, columns) or {name: [] for name in columns}, read


def records(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    natives, read = made_of(numpy_array, chance, columns)
    if any(isinstance(native, list | np.ma.MaskedArray) for native in natives.values()):
        return natives, read
    rows = len(next(iter(natives.values())))
    table = np.zeros(rows, dtype=[(name, native.dtype, native.shape[1:]) for name, native in natives.items()])
    for name, native in natives.items():
        table[name] = native
    return table, read


def parquet_file(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    table, read = arrow_table(chance, columns, folder, text)
    rows = table.num_rows
    if rows > 3 and chance.random() < 0.3:
        cut = chance.randrange(1, rows)
        for number, part in enumerate((table.slice(0, cut), table.slice(cut))):
            pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=chance.choice([3, 1000]))
        return str(folder), read
    path = folder / "log.parquet"
    pq.write_table(table, path, row_group_size=chance.choice([1, 5, 1000]), use_dictionary=chance.random() < 0.5)
    return str(path), read


def ipc_file(chance: Random, columns: dict[str, Cells], folder: Path, text: set[str]) -> Made:
    table, read = arrow_table(chance, columns, folder, text)
    path = folder / "log.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.unify_dictionaries(), max_chunksize=chance.choice([3, 1000]))
    return path, read


CONTAINERS: dict[str, Callable[[Random, dict[str, Cells], Path, set[str]], Made]] = {
    "lists": dict_of(lists),
    "arrays": dict_of(numpy_array),
    "dict of Series": dict_of(pandas_series),
    "pandas": pandas_frame,
    "polars": polars_frame,
    "arrow": arrow_table,
    "csv": csv_file,
    "json": json_file,
    "dicts": dicts,
    "records": records,
    "parquet": parquet_file,
    "ipc": ipc_file,
}
VECTORS = set(CONTAINERS)
