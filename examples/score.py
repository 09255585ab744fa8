"""Score a log by replay: show every logged context to a candidate, and write the probability of the logged action.

    python score.py log.parquet scored.parquet --policy policy.py:probabilities --action item --context visitor

The policy is a function in a file of yours. It gets a context as a dict, and returns the probability of every action that
it may take in it:

    def probabilities(context):
        return {"hat": 0.9, "coat": 0.1} if context["visitor"] == "new" else {"hat": 0.2, "coat": 0.8}

It sees the columns named by --context and no others: a policy that saw the reward, or the action, would look better than
it is. The result is Parquet: the log, row by row, with one more column, to be compared with
``surelift compare scored.parquet --policy new=p_new``. A model that is quicker on many contexts at once goes into
``column_of``. Exit codes are those of surelift: 2 asked wrongly, 4 the log or the policy is not fit.
"""

import argparse
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from surelift import LogsError, UsageError
from surelift.errors import SureliftError

Policy = Callable[[dict[str, Any]], Mapping[Any, float]]
ROWS = 1 << 16
# Arrow guesses the types of a CSV from its first block.
FIRST_BLOCK = 1 << 26
# How far from 1 probabilities may add up, by rounding.
ROUNDING = 1e-6


def load_policy(place: str) -> Policy:
    """The function of ``file.py:function``."""
    path, _, name = place.rpartition(":")
    if not Path(path).is_file():
        raise UsageError(f"--policy is a file and a function, as in policy.py:probabilities; there is no file {path!r}.")
    sys.path.insert(0, str(Path(path).resolve().parent))  # it may import what lies beside it
    spec = importlib.util.spec_from_file_location("candidate", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a file of Python (.py).")
    module = sys.modules["candidate"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    policy = getattr(module, name, None)
    if not callable(policy):
        raise UsageError(f"{path} has no function {name!r}.")
    return policy


def batches(path: str) -> Iterator[pa.Table]:
    """The log in pieces, in its order."""
    if path.endswith((".parquet", ".pq")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS):
                yield pa.Table.from_batches([batch], file.schema_arrow)
    elif path.endswith(".csv"):
        rows = 0
        for batch in pyarrow.csv.open_csv(path, pyarrow.csv.ReadOptions(block_size=FIRST_BLOCK)):
            rows += batch.num_rows
            yield pa.Table.from_batches([batch])
        with open(path, "rb") as file:
            lines = sum(1 for line in file if line.strip()) - 1
        if lines != rows:  # an unclosed quote swallows the rows after it
            raise LogsError(f"{path} has {lines:,} lines below its header, but {rows:,} rows: look for an unclosed quote.")
    else:
        raise UsageError(f"{path} is neither .parquet nor .csv.")


def probability(given: Mapping[Any, float], action: Any, place: str) -> float:
    """The probability of the logged action, once all of them are found to be probabilities."""
    if not isinstance(given, Mapping):
        raise LogsError(f"{place}: the policy must return a dict of actions and probabilities, not {given!r}.")
    for name, value in given.items():
        if not isinstance(value, Real) or not 0.0 <= value <= 1.0:  # NaN is refused too
            raise LogsError(f"{place}: the policy takes {name!r} with probability {value!r}, which is none.")
    total = math.fsum(given.values())
    if abs(total - 1.0) > ROUNDING:
        raise LogsError(f"{place}: the probabilities add up to {total:.9g}, not to 1: name every action that may be taken.")
    if action not in given:
        raise LogsError(
            f"{place}: the logged action {action!r} is not among those of the policy ({', '.join(map(repr, given))}). "
            "If the policy never takes it, return it with probability 0."
        )
    return float(given[action])


def column_of(policy: Policy, table: pa.Table, action: str, contexts: list[str], first: int) -> pa.Array:
    """The candidate's probability of every logged action."""
    shares = []
    shown = table.select(contexts).to_pylist()
    for row, (context, taken) in enumerate(zip(shown, table[action].to_pylist(), strict=True), start=first):
        place = f"row {row}"
        if taken is None:
            raise LogsError(f"{place}: column {action!r} is empty; every round has its action.")
        try:
            given = policy(context)
        except Exception as error:
            raise LogsError(f"{place}: the policy failed on {context!r}: {type(error).__name__}: {error}") from error
        shares.append(probability(given, taken, place))
    return pa.array(shares, pa.float64())


def score(source: str, target: str, policy: Policy, *, action: str, contexts: list[str], column: str) -> int:
    """Write beside and rename, so that no half-written file is ever read; returns the number of rounds."""
    if action in contexts:
        raise UsageError(f"--context {action} is the action, which the policy must not see.")
    if not Path(source).is_file():
        raise UsageError(f"there is no file {source!r}.")
    if not Path(target).absolute().parent.is_dir():
        raise UsageError(f"{target} cannot be written: there is no folder {str(Path(target).parent)!r}; create it first.")
    if os.path.realpath(source) == os.path.realpath(target):
        raise UsageError(f"{target} would replace the log; name another file.")
    beside = Path(target).with_name(f".{Path(target).name}.{os.getpid()}")
    writer, rows = None, 0
    try:
        for table in batches(source):
            names = table.column_names
            for name in dict.fromkeys([action, *contexts]):
                if names.count(name) != 1:
                    raise UsageError(f"{source} has {names.count(name)} columns {name!r}; it has {', '.join(names)}.")
            if column in names:
                raise UsageError(f"{source} has a column {column!r} already; name another with --column.")
            if pa.types.is_nested(table.schema.field(action).type):
                raise UsageError(f"column {action!r} holds several values in a round; this script knows single actions.")
            scored = table.append_column(column, column_of(policy, table, action, contexts, rows))
            writer = writer or pq.ParquetWriter(beside, scored.schema)
            writer.write_table(scored)
            rows += scored.num_rows
        if writer is None or not rows:
            raise LogsError(f"{source} holds no round.")
        writer.close()
        os.replace(beside, target)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise LogsError(f"{source} cannot be read: {' '.join(str(error).split())}") from error
    finally:
        if writer is not None:
            writer.close()
        beside.unlink(missing_ok=True)
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Add the probability of the logged action under a candidate to a log.")
    parser.add_argument("log", help="the log: .parquet or .csv")
    parser.add_argument("scored", help="the Parquet file to write")
    parser.add_argument("--policy", required=True, help="file.py:function, from a context to {action: probability}")
    parser.add_argument("--action", required=True, help="column of the logged action")
    parser.add_argument("--context", action="append", required=True, help="column that the policy sees; repeatable")
    parser.add_argument("--column", default="p_new", help="the column to write (p_new)")
    asked = parser.parse_args(arguments)
    try:
        policy = load_policy(asked.policy)
        columns = {"action": asked.action, "contexts": asked.context, "column": asked.column}
        rows = score(asked.log, asked.scored, policy, **columns)
    except SureliftError as error:
        print(f"score.py: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    print(f"{asked.scored}: {rows:,} rounds with {asked.column!r}, the probability of the logged {asked.action!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
