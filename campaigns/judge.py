"""A slow judge of tables, in plain Python: is a log fit for a guarantee, and what must come out of it?

It shares no code with the library. It was written from the statements of what a log is: every number present and finite,
rewards in their range, probabilities in (0, 1] or [0, 1], vectors that sum to 1 and hold the propensity, whole clusters.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

GRID = [(2.0**j, (2 + abs(j + 4)) ** -1.5) for j in range(-20, 7)]
LARGEST_WEIGHT = 1e150
WIDE, NARROW = 1e-6, 1e-5
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-?inf(inity)?|nan")
MISSING = ("", "na", "n/a", "#n/a", "null", "none")
WORDS = ({"t", "f"}, {"y", "n"}, {"yes", "no"})
NUMERIC = ("reward", "cost", "propensity", "log_propensity", "keep_probability", "cluster_size", "action_count")


@dataclass(frozen=True)
class Text:
    """A cell of text where a number is wanted."""

    text: str


@dataclass
class Column:
    """What a container stores: numbers, None, Text, or lists of these."""

    cells: list[Any]
    tolerance: float = WIDE
    exact: float = math.inf
    """From here on two ids may have become one: the whole numbers that floats of this width cannot tell apart."""
    mixed: bool = False
    """Numbers and text in a container that has no one type for both."""


@dataclass
class Log:
    columns: dict[str, Column]
    declared: dict[str, Any]
    policy: str | list[str]
    delta: float
    by: str | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).cells)


@dataclass
class Answer:
    """In the units of the column."""

    estimate: float
    lower: float
    upper: float
    slack: float
    """How far another answer may be, where vectors and propensities agree only within the tolerance."""


@dataclass
class Verdict:
    faults: dict[str, set[int]] = field(default_factory=dict)
    """The rows at fault for each subject: the repr of a column, "logging" or "policy". Only the first kind of fault is
    judged where several kinds are in a table: a row that has one is not looked at for the next."""
    reasons: tuple[str, ...] = ()
    """What such a fault may be called."""
    says: str = ""
    """Part of a refusal of the whole log."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """By segment; "" is the whole log."""

    @property
    def fit(self) -> bool:
        return not self.faults and not self.says


def bad_numbers(column: Column) -> set[int]:
    return {row for row, cell in enumerate(column.cells) if not is_number(cell)}


def is_number(cell: Any) -> bool:
    if cell is None or isinstance(cell, Text | str | list | tuple):
        return False
    try:
        return math.isfinite(float(cell))
    except OverflowError:
        return False


def outside(column: Column, low: float, high: float, *, open_below: bool = False) -> set[int]:
    """The rows whose number is not from ``low`` to ``high``, or that have none."""
    bad = bad_numbers(column)
    for row, cell in enumerate(column.cells):
        if row not in bad and not (low <= float(cell) <= high and not (open_below and float(cell) == low)):
            bad.add(row)
    return bad


def as_read(log: Log) -> Log:
    """Texts that say numbers are numbers, where numbers are wanted."""
    roles = [log.declared.get(role) for role in NUMERIC] + [log.policy, log.declared.get("logging")]
    if not isinstance((log.declared.get("actions") or [0])[0], str):
        roles.append(log.declared.get("action"))
    wanted = {name for role in roles for name in (role if isinstance(role, list) else [role]) if isinstance(name, str)}
    columns = {
        name: replace(column, cells=said(column.cells)) if name in wanted and not column.mixed else column
        for name, column in log.columns.items()
    }
    return replace(log, columns=columns)


def said(cells: Sequence[Any]) -> list[Any]:
    read = [number_in(cell.text) if isinstance(cell, Text) else cell for cell in cells]
    words = {cell.text.strip().lower() if isinstance(cell, Text) else None for cell in read if cell is not None}
    if any(words and words <= pair for pair in WORDS):
        return [None if cell is None else cell.text.strip().lower() in ("t", "y", "yes") for cell in read]
    return read


def number_in(text: str) -> Any:
    plain = text.strip().lower()
    if plain in MISSING:
        return None
    if plain in ("true", "false"):
        return plain == "true"
    if not (NUMBER.fullmatch(plain) and plain.isascii()):
        return Text(text)
    return int(plain) if plain.lstrip("-").isdigit() and len(plain) < 400 else float(plain)


def verdict_on(log: Log) -> Verdict:
    if log.rows == 0:
        return Verdict(says="empty")
    log = as_read(log)
    for stage, reasons in STAGES:
        faults = {subject: rows for subject, rows in stage(log).items() if rows}
        if faults:
            vectors = stage is _each_column and _is_vector(log, log.policy)
            return Verdict(faults, tuple(reason for reason in reasons if not (vectors and reason == "lie outside [0, 1]")))
    return _answer(log)


def _vector(log: Log, columns: str | list[str]) -> tuple[list[list[Any]], float]:
    if isinstance(columns, str):
        return log.columns[columns].cells, log.columns[columns].tolerance
    parts = [log.columns[name] for name in columns]
    rows = [list(cells) for cells in zip(*(part.cells for part in parts), strict=True)]
    return rows, max(part.tolerance for part in parts)


def _is_vector(log: Log, columns: Any) -> bool:
    return not isinstance(columns, str) or any(isinstance(cell, list) for cell in log.columns[columns].cells)


def _mixed(log: Log) -> dict[str, set[int]]:
    read = {name: column for name, column in log.columns.items() if column.mixed and name in _read(log)}
    return {
        repr(name): {row for row, cell in enumerate(column.cells) if isinstance(cell, Text)} for name, column in read.items()
    }


def _read(log: Log) -> set[str]:
    """The columns that have a meaning."""
    roles = [*log.declared.values(), log.policy, log.by]
    return {name for role in roles for name in (role if isinstance(role, list) else [role]) if isinstance(name, str)}


def _each_column(log: Log) -> dict[str, set[int]]:
    """What is wrong with a column by itself."""
    declared, faults = log.declared, {}
    low, high = declared.get("reward_range", (0.0, 1.0))
    outcome = declared.get("reward") or declared["cost"]
    faults[repr(outcome)] = outside(log.columns[outcome], low, high)
    if "log_propensity" in declared:
        name = declared["log_propensity"]
        column = log.columns[name]
        faults[repr(name)] = outside(column, -745.0, math.log1p(column.tolerance))
    else:
        name = declared["propensity"]
        most = math.inf if declared.get("density") else 1.0 + log.columns[name].tolerance
        faults[repr(name)] = outside(log.columns[name], 0.0, most, open_below=True)
    if "keep_probability" in declared:
        name = declared["keep_probability"]
        faults[repr(name)] = outside(log.columns[name], 0.0, 1.0 + log.columns[name].tolerance, open_below=True)
    if isinstance(declared.get("cluster_size"), str):
        faults[repr(declared["cluster_size"])] = bad_numbers(log.columns[declared["cluster_size"]])
    if isinstance(declared.get("action_count"), str):
        column = log.columns[declared["action_count"]]
        faults[repr(declared["action_count"])] = outside(column, 1.0, math.inf) | {
            row for row, cell in enumerate(column.cells) if is_number(cell) and not float(cell).is_integer()
        }
    for role in ("time", "cluster"):
        if role in declared:
            faults[repr(declared[role])] = {
                row for row, cell in enumerate(log.columns[declared[role]].cells) if _absent(cell)
            }
    if "action" in declared:
        faults[repr(declared["action"])] = {row for row, place in enumerate(positions(log)) if place < 0}
    for name in (declared.get("action"), declared.get("cluster")):
        if name is not None:
            faults[repr(name)] |= inexact(log.columns[name])
    for subject, columns in (("logging", declared.get("logging")), ("policy", log.policy)):
        if columns is None or (subject == "policy" and not _is_vector(log, columns)):
            continue
        if isinstance(columns, str):
            bad = {row for row, vector in enumerate(log.columns[columns].cells) if not _finite(vector)}
            faults[subject if subject == "policy" else repr(columns)] = bad
        else:
            faults |= {repr(name): bad_numbers(log.columns[name]) for name in columns}
    if not _is_vector(log, log.policy):
        assert isinstance(log.policy, str)
        most = math.inf if declared.get("density") else 1.0 + log.columns[log.policy].tolerance
        faults["policy"] = outside(log.columns[log.policy], 0.0, most)
    return faults


def inexact(column: Column) -> set[int]:
    return {row for row, cell in enumerate(column.cells) if is_number(cell) and abs(cell) >= column.exact}


def _absent(cell: Any) -> bool:
    if isinstance(cell, float) and math.isnan(cell):
        return True
    return cell is None or cell == "" or cell == Text("")


def _finite(vector: Any) -> bool:
    return isinstance(vector, list) and len(vector) > 0 and all(is_number(cell) for cell in vector)


def positions(log: Log) -> list[int]:
    """The position of each logged action; -1 if it is none."""
    labels, found = log.declared.get("actions"), list[int]()
    for cell in log.columns[log.declared["action"]].cells:
        if cell is None or cell == Text(""):
            found.append(-1)
        elif labels is not None:
            plain = cell.text if isinstance(cell, Text) else cell
            found.append(labels.index(plain) if plain in labels else -1)
        elif is_number(cell) and float(cell).is_integer() and 0 <= cell < 2**63:
            found.append(int(cell))
        else:
            found.append(-1)
    return found


def _production_alone(log: Log) -> dict[str, set[int]]:
    logging = log.declared.get("logging")
    return {} if logging is None else {_name(logging): _no_distributions(log, logging)}


def _policy_alone(log: Log) -> dict[str, set[int]]:
    return {"policy": _no_distributions(log, log.policy)} if _is_vector(log, log.policy) else {}


def _name(logging: str | list[str]) -> str:
    return repr(logging) if isinstance(logging, str) else "logging"


def _no_distributions(log: Log, columns: str | list[str]) -> set[int]:
    """Negative entries, and sums that are not 1."""
    vectors, tolerance = _vector(log, columns)
    return {row for row, vector in enumerate(vectors) if min(vector) < 0 or abs(_sum(vector) - 1.0) > tolerance}


def _sum(vector: Sequence[float]) -> float:
    try:
        return math.fsum(vector)
    except OverflowError:
        return math.inf


def _production_layout(log: Log) -> dict[str, set[int]]:
    """Vectors as long as declared, and the logged action among them."""
    if "action" not in log.declared:
        return {}
    counts, places = _counts(log), positions(log)
    if "logging" not in log.declared:
        beyond = {row for row in range(log.rows) if counts[row] is not None and places[row] >= counts[row]}
        return {repr(log.declared["action"]): beyond}
    lengths = [len(vector) for vector in _vector(log, log.declared["logging"])[0]]
    wrong = {row for row in range(log.rows) if counts[row] is not None and counts[row] != lengths[row]}
    beyond = {row for row in range(log.rows) if places[row] >= min(lengths[row], counts[row] or math.inf)}
    return {_name(log.declared["logging"]): wrong, repr(log.declared["action"]): beyond - wrong}


def _policy_layout(log: Log) -> dict[str, set[int]]:
    if not _is_vector(log, log.policy):
        return {}
    lengths = [len(vector) for vector in _vector(log, log.policy)[0]]
    wanted, places = _counts(log), positions(log)
    if "logging" in log.declared:
        wanted = [len(vector) for vector in _vector(log, log.declared["logging"])[0]]
    wrong = {row for row in range(log.rows) if wanted[row] is not None and wanted[row] != lengths[row]}
    return {
        "policy": wrong,
        repr(log.declared["action"]): {row for row in range(log.rows) if places[row] >= lengths[row]} - wrong,
    }


def _counts(log: Log) -> list[Any]:
    count = log.declared.get("action_count")
    if isinstance(count, str):
        return list(log.columns[count].cells)
    labels = log.declared.get("actions")
    return [len(labels) if count is None and labels is not None else count] * log.rows


def propensities(log: Log) -> tuple[list[float], float]:
    name = log.declared.get("log_propensity") or log.declared["propensity"]
    column = log.columns[name]
    values = [float(cell) for cell in column.cells]
    return [math.exp(value) for value in values] if "log_propensity" in log.declared else values, column.tolerance


def _propensities(log: Log) -> dict[str, set[int]]:
    """The vector must hold the logged propensity at the logged action."""
    if "logging" not in log.declared:
        return {}
    vectors, slack = _vector(log, log.declared["logging"])
    values, tolerance = propensities(log)
    tolerance, bad = max(slack, tolerance), set()
    for row, (vector, place) in enumerate(zip(vectors, positions(log), strict=True)):
        if abs(vector[place] - values[row]) > tolerance * max(vector[place], values[row]):
            bad.add(row)
    return {repr(log.declared.get("log_propensity") or log.declared["propensity"]): bad}


def runs(log: Log) -> list[list[int]]:
    """The rows of each cluster, where they stand together; without clusters, each row for itself."""
    if "cluster" not in log.declared:
        return [[row] for row in range(log.rows)]
    found: list[list[int]] = []
    cells = log.columns[log.declared["cluster"]].cells
    for row, cell in enumerate(cells):
        if row and cells[row - 1] == cell:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _units(log: Log) -> dict[str, set[int]]:
    """A cluster comes once, whole, and is as large as declared."""
    declared, faults = log.declared, set[int]()
    if "cluster" not in declared:
        return {}
    seen = set()
    for rows in runs(log):
        cell = log.columns[declared["cluster"]].cells[rows[0]]
        if cell in seen:
            faults |= set(rows)
        seen.add(cell)
        size = declared.get("cluster_size")
        for row in rows:
            said: Any = log.columns[size].cells[row] if isinstance(size, str) else size
            if (size is not None and float(said) != len(rows)) or len(rows) > declared.get("cluster_max", math.inf):
                faults.add(row)
    return {repr(declared["cluster"]): faults}


def _kept(log: Log) -> dict[str, set[int]]:
    name = log.declared.get("keep_probability")
    if name is None:
        return {}
    cells = log.columns[name].cells
    return {repr(name): {row for rows in runs(log) for row in rows if cells[row] != cells[rows[0]]}}


def weights(log: Log) -> tuple[list[float], float]:
    """The weight of each round, and how far another answer may be."""
    logged, slack = propensities(log)
    exact = True
    if "logging" in log.declared:
        vectors, tolerance = _vector(log, log.declared["logging"])
        for row, (vector, place) in enumerate(zip(vectors, positions(log), strict=True)):
            exact &= abs(vector[place] - logged[row]) <= 1e-14 * logged[row] and abs(math.fsum(vector) - 1) <= 1e-14
            logged[row] = max(vector[place], logged[row]) / min(1.0, math.fsum(vector))
        slack = max(slack, tolerance)
    if _is_vector(log, log.policy):
        vectors, tolerance = _vector(log, log.policy)
        chosen = []
        for vector, place in zip(vectors, positions(log), strict=True):
            exact &= abs(math.fsum(vector) - 1) <= 1e-14
            chosen.append(float(vector[place]) / max(1.0, math.fsum(vector)))
        slack = max(slack, tolerance)
    else:
        assert isinstance(log.policy, str)
        most = math.inf if log.declared.get("density") else 1.0
        chosen = [min(float(cell), most) for cell in log.columns[log.policy].cells]
    found = [_divided(new, old) for new, old in zip(chosen, logged, strict=True)]
    return found, 0.0 if exact else 10 * slack


def _divided(new: float, old: float) -> float:
    return 0.0 if new == 0.0 else new / old if old > 0.0 and new / old < math.inf else math.inf


def _weights(log: Log) -> dict[str, set[int]]:
    found, _ = weights(log)
    if "rounds_before_sampling" in log.declared:
        kept = log.columns[log.declared["keep_probability"]].cells
        found = [_divided(weight, float(cell)) for weight, cell in zip(found, kept, strict=True)]
    return {"policy": {row for row, weight in enumerate(found) if not weight <= LARGEST_WEIGHT}}


def _segments(log: Log) -> dict[str, set[int]]:
    if log.by is None:
        return {}
    return {repr(log.by): inexact(log.columns[log.by])}


STAGES: list[tuple[Callable[[Log], dict[str, set[int]]], tuple[str, ...]]] = [
    (_mixed, ()),
    (_each_column, (
        "are missing", "are NaN", "are infinite", "are not numbers", "are numbers with a comma",
        "lie outside (0, 1]", "lie outside the declared",
        "lie outside [0, 1]", "are not positive", "are negative",
        "are not logarithms", "are vectors with an entry", "are not vectors", "are not a position", "are not among",
        "are not whole numbers", "are floats too large",
    )),
    (_production_alone, ("lie outside", "do not sum")),
    (_production_layout, ("differ in length", "are not a position")),
    (_propensities, ("do not hold",)),
    (_units, ("belong to a cluster", "are not the number of rounds")),
    (_kept, ("differ within",)),
    (_policy_alone, ("lie outside", "do not sum")),
    (_policy_layout, ("differ in length", "are not a position")),
    (_weights, ("give a weight",)),
    (_segments, ("have no segment", "are floats too large")),
]  # fmt: skip


def lower_bound(terms: Sequence[float], rounds: int, delta: float) -> float:
    """Theorem 1 with the grid that needs no number of rounds, by bisection."""
    total = sum(mass for _, mass in GRID)
    sums = [(lam, math.log(mass / total) + math.fsum(math.log1p(lam * z) for z in terms)) for lam, mass in GRID]

    def wealth(mean: float) -> float:
        logs = [gained - rounds * math.log1p(lam * mean) for lam, gained in sums]
        top = max(logs)
        return top + math.log(math.fsum(math.exp(one - top) for one in logs)) - math.log(1 / delta)

    if wealth(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, max(terms) + 1.0
    while high - low > 1e-12 * (1.0 + low):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if wealth(middle) > 0.0 else (low, middle)
    return low


def _answer(log: Log) -> Verdict:
    declared = log.declared
    units = runs(log)
    before = declared.get("rounds_before_sampling")
    kept = [1.0] * log.rows
    if "keep_probability" in declared:
        cells = [min(1.0, float(cell)) for cell in log.columns[declared["keep_probability"]].cells]
        if before is None and len(set(cells)) > 1:
            return Verdict(says="varies")
        kept = kept if before is None else cells
        if before is not None and before < len(units):
            return Verdict(says="rounds_before_sampling")
    if log.by is None:
        return _bounds(log, {"": units}, kept, before)
    segments: dict[str, list[list[int]]] = {}
    for rows in units:
        cell = log.columns[log.by].cells[rows[0]]
        name = "(missing)" if _absent(cell) else cell.text if isinstance(cell, Text) else str(cell)
        segments.setdefault(name, []).append(rows)
    return _bounds(log, segments, kept, before)


def _bounds(log: Log, parts: Mapping[str, list[list[int]]], kept: list[float], before: int | None) -> Verdict:
    declared, verdict = log.declared, Verdict()
    low, high = map(float, declared.get("reward_range", (0.0, 1.0)))
    outcome = [float(cell) for cell in log.columns[declared.get("reward") or declared["cost"]].cells]
    unit = [(high - one if "cost" in declared else one - low) / (high - low) for one in outcome]
    weight, slack = weights(log)
    most = declared.get("cluster_max")
    for name, units in parts.items():
        value, short = [], []
        for rows in units:
            size = most or len(rows)
            value.append(math.fsum(weight[row] * unit[row] for row in rows) / size / kept[rows[0]])
            lost = math.fsum(weight[row] * (1.0 - unit[row]) for row in rows) + size - len(rows)
            short.append(lost / size / kept[rows[0]])
        rounds = before or len(units)
        each = log.delta / (2 * len(parts))
        bottom, top = lower_bound(value, rounds, each), 1.0 - lower_bound(short, rounds, each)
        if bottom > 1.0 + 1e-9 or top < -1e-9 or bottom > top + 1e-9:
            return Verdict(says="contradict")
        mean, width = min(max(math.fsum(value) / rounds, bottom), top), high - low
        if "cost" in declared:
            answer = Answer(high - width * mean, high - width * top, high - width * bottom, slack)
        else:
            answer = Answer(low + width * mean, low + width * bottom, low + width * top, slack)
        verdict.answers[name] = answer
    return verdict
