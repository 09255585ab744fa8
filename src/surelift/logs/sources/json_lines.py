"""Files of JSON lines: one object per line, whose keys are columns; objects inside it are flattened, ``user.country``."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from surelift.errors import LogsError, UsageError, printed
from surelift.logs.batch import repeated_in
from surelift.logs.sources.frames import to_arrow
from surelift.logs.sources.text_files import LONGEST_LINE, TextStyle, encoding_in, opened, opened_text

MOST_BRACKETS = 10_000
# Bytes that are read at once, and those whose keys are the columns unless others are asked for.
_BLOCK, _FIRST = 1 << 23, 1 << 20
_MARK = b"\xef\xbb\xbf"


class JsonLines:
    def __init__(self, path: str, style: TextStyle) -> None:
        self._path, self._encoding = path, style.encoding
        if self._encoding is None:
            with opened(path) as file:
                self._encoding = encoding_in(file.read(4))
        schema = next(self._schemas(_FIRST), pa.schema([]))
        self.repeated = repeated_in(schema.names)
        self.schema = pa.schema([field for field in schema if field.name not in self.repeated])

    def count(self) -> int:
        return sum(1 for _, lines in self._blocks() for line in lines if line.strip())

    def all_names(self) -> list[str]:
        """The names in all lines; ``schema`` is that of the first ones."""
        names = dict[str, None]()
        for schema in self._schemas(_BLOCK):
            repeated = repeated_in(schema.names)
            names |= dict.fromkeys(name for name in schema.names if name not in repeated)
        return list(names)

    def _schemas(self, size: int) -> Iterator[Any]:
        reader = JsonReader(self._path)
        return (reader.schema(lines, number) for number, lines in self._blocks(size) if any(map(bytes.strip, lines)))

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """A key that a line does not have is null in it."""
        reader, start = JsonReader(self._path), 0
        for number, lines in self._blocks():
            table = reader.table(lines, number, start, columns)
            again = repeated_in(table.schema.names) & set(columns)
            if again:
                raise LogsError(
                    f"{self._path}, from line {number:,} on, has several columns {min(again)!r}, one of them in an object "
                    "inside; rename one. Nothing was computed."
                )
            known = set(table.schema.names)
            parts = {name: table[name] if name in known else pa.nulls(table.num_rows) for name in columns}
            yield from pa.table(parts).combine_chunks().to_batches(max_chunksize=size)
            start += table.num_rows

    def _blocks(self, size: int = 0) -> Iterator[tuple[int, list[bytes]]]:
        number, rest = 1, b""
        with opened_text(self._path, self._encoding) as stream:
            while block := stream.read(size or _BLOCK):
                if number == 1:
                    block = block.removeprefix(_MARK)
                whole, found, rest = (rest + block).rpartition(b"\n")
                if len(rest) > LONGEST_LINE:
                    raise LogsError(
                        f"{self._path} has a line of more than {LONGEST_LINE >> 20} MiB: it begins {rest[:40]!r}. JSON is "
                        "read as one object per line (JSON lines); nothing was computed."
                    )
                if found:
                    yield number, whole.split(b"\n")
                    number += whole.count(b"\n") + 1
            if rest.strip():
                yield number, [rest]


class JsonReader:
    """Tables from lines: by Arrow, and line by line where it finds fault, to say what is wrong, or that it is no matter."""

    def __init__(self, called: str) -> None:
        self._called = called
        # Columns of text, of which Arrow would make times where they look like such.
        self._texts = dict[str, Any]()

    def table(self, lines: Sequence[bytes], number: int, start: int, columns: Sequence[str] | None = None) -> Any:
        """The lines from ``number`` on, the first of which is row ``start``; where columns are named, perhaps only those."""
        quick = self._quick(lines)
        if quick is not None:
            return quick
        found = self._columns(lines, number)
        empty = [None] * sum(1 for line in lines if line.strip())
        names = list(found) if columns is None else columns
        try:
            return pa.table({name: to_arrow(name, found.get(name, empty), start) for name in names})
        except LogsError as error:
            raise LogsError(f"{self._called}: {error}") from error

    def schema(self, lines: Sequence[bytes], number: int) -> Any:
        """The schema, also of columns of several types, which do not matter until they are read."""
        quick = self._quick(lines)
        return quick.schema if quick is not None else pa.schema({name: pa.null() for name in self._columns(lines, number)})

    def _columns(self, lines: Sequence[bytes], number: int) -> dict[str, list[Any]]:
        return columns_of(self._object(line, at) for at, line in enumerate(lines, number) if line.strip())

    def _quick(self, lines: Sequence[bytes]) -> Any | None:
        texts = [line for line in lines if line.strip()]
        content = b"\n".join(texts)
        if _brackets(content) > MOST_BRACKETS and max(map(_brackets, texts), default=0) > MOST_BRACKETS:
            raise LogsError(f"a line of {self._called} has more than {MOST_BRACKETS:,} brackets; a round is a flat object.")
        content.decode()
        if not texts:
            return pa.table({})
        from pyarrow import json as arrow_json

        def read() -> Any:
            schema = pa.schema(list(self._texts.values())) if self._texts else None
            options = arrow_json.ParseOptions(explicit_schema=schema)
            return arrow_json.read_json(in_arrow(content), parse_options=options)

        try:
            table = read()
            if any("timestamp[" in str(field.type) for field in table.schema):
                self._texts |= {field.name: text for field in table.schema if (text := _as_text(field)) is not None}
                table = read()
            while any(pa.types.is_struct(field.type) for field in table.schema):
                table = table.flatten()
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == len(texts) else None

    def _object(self, line: bytes, number: int) -> Mapping[str, Any]:
        problem = "it holds another value"
        try:
            found = json.loads(line.decode(), object_pairs_hook=_once)
            if isinstance(found, dict):
                return found
        except (ValueError, RecursionError) as error:
            problem = str(error)
        raise LogsError(
            f"{self._called}, line {number:,}, is not a JSON object: {problem}. It begins "
            f"{printed(line[:60].decode(errors='replace'))}.\nJSON is read as one object per line (JSON lines), such as "
            "written by: jq -c '.[]'. Nothing was computed."
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if again := repeated_in(name for name, _ in pairs):
        raise ValueError(f"it has the key {next(name for name, _ in pairs if name in again)!r} twice")
    return dict(pairs)


def columns_of(rows: Iterable[Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """The columns of rows that are dicts; a key that a row does not have is null in it."""
    flat = list[dict[str, Any]]()
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            kind = type(row).__name__
            raise UsageError(f"entry {place:,} of the list is a {kind}, counting from 0; give a dict for each round.")
        flat.append(flattened(row))
    names = dict.fromkeys(name for row in flat for name in row)
    return {name: [row.get(name) for row in flat] for name in names}


def flattened(row: Mapping[Any, Any], above: str = "") -> dict[str, Any]:
    """Objects inside an object as columns of their own.

    >>> flattened({"reward": 1, "user": {"country": "FR", "age": None}})
    {'reward': 1, 'user.country': 'FR', 'user.age': None}
    """
    found = dict[str, Any]()
    for key, value in row.items():
        inner = flattened(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
        if again := [name for name in inner if name in found]:
            raise LogsError(f"the key {again[0]!r} occurs twice in one object, once as an object inside it; rename one.")
        found |= inner
    return found


def in_arrow(content: bytes) -> Any:
    """A reader of Arrow's own memory: a thread that lets go of Python's memory while Python ends aborts the process."""
    memory = pa.BufferOutputStream()
    memory.write(content)
    return pa.BufferReader(memory.getvalue())


def _brackets(text: bytes) -> int:
    """Arrow follows them one inside the other until its stack overflows."""
    return text.count(b"[") + text.count(b"{")


def _as_text(field: Any) -> Any | None:
    """The field with its times as text, and nothing but text; None if it has none."""
    kind = field.type
    if pa.types.is_timestamp(kind) or pa.types.is_string(kind):
        return field.with_type(pa.string())
    if pa.types.is_list(kind):
        entry = _as_text(kind.value_field)
        return None if entry is None else field.with_type(pa.list_(entry))
    inner = [text for text in map(_as_text, kind) if text is not None] if pa.types.is_struct(kind) else []
    return field.with_type(pa.struct(inner)) if inner else None
