"""The doors to a question: each answers, or refuses, and all must do the same."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import surelift as sl
from surelift.capabilities import NEEDS, NOT_TOGETHER
from surelift.statistics import Sums
from tests.pairs.asked import Asked
from tests.pairs.traits import AS_OF, BEFORE_SAMPLING, ROUNDS, TRAITS, Declared, table
from tests.same_answers import assert_same_content

CUTS = (0, 50, 124, ROUNDS)
"""Between clusters; the parts hold unequal shares of the log."""
OF_A_DOOR: Mapping[str, str] = {
    "parts": "parts", "monitor": "monitor", "shards": "monitor", "spark": "Spark", "sql": "database",
}  # fmt: skip
"""The doors that are a feature in the table."""
ELSEWHERE: Mapping[str, str] = {
    "the whole distributions": "which policies give vectors is seen in the log",
    "must predict a reward for every action": "what a model predicts is seen in the log",
    "must be given as a vector over actions": "which policies give vectors is seen in the log",
}
"""Refusals that no pair of features tells, with the reason why not."""
WATCHING = ("monitor", "shards")
OF_BATCHES = frozenset({"rounds_before_sampling", "as_of"})
PLANNED = "a growing log has no number of rounds to plan for"
"""Said of parts and of monitors where a plan depends on how many rounds there are."""


@dataclass(frozen=True)
class Outcome:
    """What a door said: an answer as a dict, or an error."""

    answer: Mapping[str, Any] | None = None
    error: type[Exception] | None = None
    message: str = ""

    @property
    def crashed(self) -> bool:
        return self.error is not None and not issubclass(self.error, sl.SureliftError)

    def __str__(self) -> str:
        return "an answer" if self.error is None else f"{self.error.__name__}: {self.message}"


@dataclass(frozen=True)
class Cell:
    declared: Declared
    asked: Asked

    @property
    def name(self) -> str:
        return f"{self.declared.name} | {self.asked.name}"

    @property
    def policies(self) -> Mapping[str, Any]:
        return self.declared.policies


def outcome(ask: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(through_json(ask().to_dict()))
    except Exception as error:  # a crash is one of the outcomes
        return Outcome(error=type(error), message=str(error))


def through_json(content: Any) -> Any:
    return json.loads(json.dumps(content))


def by_verb(cell: Cell) -> Outcome:
    return outcome(lambda: cell.asked.verb(cell.declared.logs(), cell.policies))


def by_question(cell: Cell) -> Outcome:
    """Made of what would be declared, before there is a log."""
    return outcome(lambda: cell.asked.question(cell.declared.flat, cell.policies).ask(cell.declared.logs()))


def by_json(cell: Cell) -> Outcome:
    return outcome(lambda: sl.Question.from_dict(_stored(cell)).ask(cell.declared.logs()))


def _stored(cell: Cell) -> Any:
    """The question as JSON keeps it; one that cannot be made is put together from two that can."""
    logs = cell.declared.logs()
    try:
        return through_json(cell.asked.question(logs, cell.policies).to_dict())
    except sl.UsageError:
        ours = sl.Question.of("check", logs, cell.policies).to_dict()
        other = _alike(cell)
        named = {**other["policies"], **other.get("over", {})}
        policies = {name: ours["policies"].get(name, policy) for name, policy in named.items()}
        own = {"declaration": ours["declaration"], "policies": {name: policies[name] for name in other["policies"]}}
        over = {"over": {name: policies[name] for name in other["over"]}} if "over" in other else {}
        seen: Mapping[str, Any] = {"known": []} if cell.asked.kind == "estimate" else {}
        return through_json({**{name: value for name, value in other.items() if name != "known"}, **own, **over, **seen})


def _alike(cell: Cell) -> dict[str, Any]:
    """The same options, of a log that goes with them."""
    for name in ("", "vectors", "labels", "timed"):
        declared = Declared(tuple(trait for trait in TRAITS if trait.name == name))
        try:
            return cell.asked.question(declared.logs(), declared.policies).to_dict()
        except sl.UsageError:
            continue
    raise NotExpressibleError


class NotExpressibleError(Exception):
    """No stored question says this."""


def parts_of_table() -> Sequence[Any]:
    return [table().slice(first, last - first) for first, last in pairwise(CUTS)]


def by_parts(cell: Cell) -> Outcome:
    """Added up apart, kept as JSON, and added in another order."""

    def ask() -> Any:
        question = cell.asked.question(cell.declared.logs(), cell.policies)
        first, second, third = (
            Sums.from_state(through_json(sl.partial_sums([part], question).to_state()), question.plan())
            for part in parts_of_table()
        )
        return question.answer(third + (first + second))

    return outcome(ask)


def monitored(cell: Cell) -> bool:
    """Whether a monitor asks such a question."""
    if cell.asked.kind == "select":
        return cell.asked.options.get("many") == "simultaneous" and len(cell.asked.candidates) > 1
    return cell.asked.kind in ("evaluate", "compare", "compare outcomes") and "sides" not in cell.asked.options


def monitor_of(cell: Cell, name: str = "") -> sl.Monitor:
    """What batches differ in is given with each."""
    flat = {role: value for role, value in cell.declared.flat.items() if role not in OF_BATCHES}
    own = {role: value for role, value in cell.asked.own(cell.policies).items() if role != "many"}
    policies: Any = cell.asked.policies(cell.policies)
    question: Any = "evaluate" if cell.asked.kind == "evaluate" else "compare"
    return sl.Monitor(policies, question=question, name=name, **own, **flat)


def batches_of(cell: Cell) -> Sequence[tuple[Any, Mapping[str, Any]]]:
    """Batches with what is said of each; one of rewards that are not final would be refused, so they are not sent."""
    flat = cell.declared.flat
    tables = [table().slice(0, 50), table().slice(50, 140 - 50)] if "settled_after" in flat else parts_of_table()
    before = np.diff(np.linspace(0, BEFORE_SAMPLING, len(tables) + 1).astype(int)).tolist()
    said: dict[str, Sequence[Any]] = {"rounds_before_sampling": before, "as_of": [AS_OF] * len(tables)}
    return [(batch, {role: said[role][place] for role in said if role in flat}) for place, batch in enumerate(tables)]


def by_monitor(cell: Cell) -> Outcome:
    """Batch after batch, saved and read back between them."""

    def ask() -> Any:
        watch = monitor_of(cell)
        with tempfile.TemporaryDirectory() as folder:
            for batch, said in batches_of(cell):
                watch.update(batch, **said)
                watch.save(f"{folder}/state.json")
                watch = sl.Monitor.load(f"{folder}/state.json")
        return watch.answer()

    return outcome(ask)


def by_shards(cell: Cell) -> Outcome:
    """A monitor for every part of the log, added up in another order."""

    def ask() -> Any:
        shards = []
        for place, (batch, said) in enumerate(batches_of(cell)):
            shards.append(monitor_of(cell, f"shard {place}"))
            shards[-1].update(batch, **said)
        first, *others = reversed(shards)
        return sum(others[1:], start=first + others[0]).answer()

    return outcome(ask)


def in_engine(cell: Cell, source: Any) -> Outcome:
    return outcome(lambda: cell.asked.question(cell.declared.logs(source), cell.policies).ask(cell.declared.logs(source)))


@cache
def database() -> Any:
    """A table in a database of this process."""
    import ibis

    return ibis.duckdb.connect().create_table("rounds", table())


def by_sql(cell: Cell) -> Outcome:
    return in_engine(cell, database())


DOORS: Mapping[str, Callable[[Cell], Outcome]] = {
    "question": by_question, "json": by_json, "parts": by_parts, "monitor": by_monitor,
    "shards": by_shards, "sql": by_sql,
}  # fmt: skip


def doors_of(cell: Cell) -> Mapping[str, Callable[[Cell], Outcome]]:
    return {name: door for name, door in DOORS.items() if name not in WATCHING or monitored(cell)}


REASONS = frozenset([*NOT_TOGETHER.values(), *(reason for _, reason in NEEDS.values())])


def told_by_the_table(message: str) -> bool:
    return any(reason in message for reason in REASONS) or any(said in message for said in ELSEWHERE)


def told_of_the_door(door: str, message: str) -> bool:
    """Whether it is the door that refuses, by a row of the table."""
    feature = OF_A_DOOR.get(door)
    rows = (reason for pair, reason in NOT_TOGETHER.items() if feature in pair)
    return feature is not None and any(reason in message for reason in rows)


# Only the verb looks whether another method would have been narrower.
SAID_BY_THE_VERB = frozenset({"advice"})
# Parts number their rows anew, and a cluster knows no number: the heaviest rounds lie elsewhere, and of those that weigh
# alike others are shown. What is dealt by the number of a row is dealt otherwise.
PLACES = frozenset({"row", "heaviest_rounds"})
FORECAST = frozenset({"rounds_needed", "rounds_needed_range", "more_rounds", "more_rounds_range", "forecasts"})
RESAMPLED = frozenset(
    {"lower", "upper", "certified", "e_value", "p_value", "tipping_factor", "relative_lower", "relative_upper"}
)
# Where rows have no order, a report shows no history.
ORDER = frozenset({"history"})
# A database does not keep the table by which an improvement is told in per cent.
IN_PER_CENT = frozenset({"relative_lower", "relative_upper", "relative_note", "relative_doubt", "tipping_factor"})


def ignored_of(door: str, cell: Cell) -> frozenset[str]:
    """What may differ from the verb's answer."""
    found = SAID_BY_THE_VERB
    if door in OF_A_DOOR:
        found |= PLACES
        found |= FORECAST if cell.asked.kind in ("power", "report") else frozenset()
        found |= RESAMPLED if cell.asked.options.get("method") in ("bootstrap", "blocks") else frozenset()
    if door in WATCHING and "settled" in cell.declared.names:
        # Its rounds are settled when they are counted, and none is left out.
        found |= {"aloud", "assumptions"}
    if door in ("spark", "sql"):
        found |= ORDER
    return found | IN_PER_CENT if door == "sql" else found


def without(content: Any, names: frozenset[str]) -> Any:
    if isinstance(content, dict):
        return {name: without(value, names) for name, value in content.items() if name not in names}
    return [without(entry, names) for entry in content] if isinstance(content, list) else content


def disagreement(door: str, cell: Cell, found: Outcome, expected: Outcome) -> str:
    """What is wrong with what a door said, held against the verb in this process; empty where nothing is."""
    if found.error is NotExpressibleError:
        return ""
    if found.crashed:
        return f"crashed: {found}"
    if found.error is not None and told_of_the_door(door, found.message):
        return ""
    if door in ("parts", *WATCHING) and PLANNED in found.message:
        return ""
    if door in WATCHING and found.error is expected.error is sl.UsageError and OF_BATCHES & cell.declared.flat.keys():
        # What batches differ in is known when one comes: of two reasons another may be told first.
        return "" if told_by_the_table(found.message) else f"refused by no row of the table: {found}"
    if (found.error, expected.error) != (None, None):
        same = found.error == expected.error and _told(door, found) == _told(door, expected)
        return "" if same else f"said {found}\nwhere the verb said {expected}"
    try:
        names = ignored_of(door, cell)
        sides = [without(side.answer, names) for side in (found, expected)]
        for place, told in _only_one_says(*sides):
            return f"only one says at {place}: {told}"
        assert_same_content("answer", *sides, rel=1e-9)
    except AssertionError as error:
        return f"answered another number or text: {error}"
    return ""


def _only_one_says(found: Any, expected: Any, place: str = "answer") -> Iterator[tuple[str, Any]]:
    """What stands in one of two answers alone, by where it stands."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted(found.keys() ^ expected.keys()):
            yield f"{place}.{name}", found.get(name, expected.get(name))
        for name in found.keys() & expected.keys():
            yield from _only_one_says(found[name], expected[name], f"{place}.{name}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) != len(expected):
        yield place, [entry for entry in (*found, *expected) if (entry in found) != (entry in expected)]


def _told(door: str, said: Outcome) -> str:
    """A part refuses what is wrong in it, and counts its own rows."""
    counted = door in OF_A_DOOR and said.error is sl.LogsError
    return re.sub(r"\d[\d.,e+-]*", "#", said.message) if counted else said.message
