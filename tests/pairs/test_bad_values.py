"""A wrong value of any field is refused at every door, by an error of surelift; none is answered, and none crashes."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

import surelift as sl
from surelift.statistics import Sums
from tests.pairs.asked import BY_NAME as ASKED
from tests.pairs.asked import Asked
from tests.pairs.doors import through_json
from tests.pairs.traits import BY_NAME as LOGS
from tests.pairs.traits import table

NAN, INF = math.nan, math.inf
NO_NUMBERS: Sequence[Any] = ("0.05", None, True, [0.05], {}, NAN)
NO_COUNTS: Sequence[Any] = (0, -1, 1.5, True, NAN, [2])
G = sl.Outcome("g")
# The question that the field is of, the field, and values that are wrong there.
OF_QUESTIONS: Sequence[tuple[str, str, Sequence[Any]]] = (
    *((name, "delta", (0, 1, 5, -1, INF, *NO_NUMBERS)) for name in ("evaluate", "compare", "select", "select by value")),
    *((name, "delta", (0, 5, NAN, "0.05", None)) for name in ("compare outcomes", "gate", "profile", "power", "report")),
    *((name, "delta", (0, 5, NAN, "0.05", None)) for name in ("estimate, ls",)),
    *((name, "margin", (2, -2, 1, INF, "x%", "%", "2", "nan%", "inf%", "", None, True, [0], NAN, 10**400))
      for name in ("compare", "select", "gate", "power", "report")),
    ("evaluate", "sides", ("left", "", None, 3, True, ["both"])),
    ("select", "many", ("holm", "", 3, True, ["e-holm"])),
    *((name, "method", ("nope", "", None, 3, True, ["mixture"], {}))
      for name in ("evaluate", "compare", "select", "gate", "profile", "power", "report")),
    *((name, "control", ("nope", "", 3, True, ["none"], {})) for name in ("evaluate", "compare", "gate")),
    *((name, "by", ("nope", "", 3, [], ["s", "s"], "r", "q", "a", ["s", 3], {"s": 1}, True))
      for name in ("evaluate", "compare", "select", "compare outcomes", "gate", "profile", "power", "estimate", "report")),
    ("check, by", "by", ("nope", "", 3, ["s", "s"], "r", "q", "a", [3], [[]], True)),
    *((name, "segments", ("x", [], ["x", "x"], 5, True, {}, [["x", "y"]]))
      for name in ("evaluate, by listed", "gate, by listed")),
    ("compare", "segments", (["x"], "x")),
    *((name, "over", ("nope", "", 3, None, True, {}, [], {"a": "a"}, {"b": "b", "c": "b"}, {"b": 3}, {"": "b"}))
      for name in ("compare", "select", "gate", "profile", "power", "report")),
    ("compare outcomes", "outcomes", (3, {}, [], "g", {"g": "g"}, {"g": sl.Outcome("nope")}, [G, G], {"": G}, {3: G}, [3])),
    ("gate, a guardrail", "guardrails", (3, "g", [3], [G, G], G, [sl.Outcome("nope")], None, {"g": G})),
    ("report", "outcomes", (3, {}, [], "g", {"g": "g"}, {"g": sl.Outcome("nope")}, [G, G])),
    ("check", "level", (0, 1, -1, INF, *NO_NUMBERS)),
    ("power", "power", (0, 1, -1, INF, *NO_NUMBERS)),
    ("power", "improvement_to_find", (5, -5, INF, "0.1", True, [0.1], NAN, 10**400)),
    ("estimate", "estimator", ("nope", "", None, 3, True, ["ips"])),
    ("estimate, clipped", "clip", (0, -1, INF, "2", True, [2], NAN)),
    ("estimate, shrinkage", "strength", (0, -1, INF, "2", None, True, [2], NAN)),
    ("estimate, dr", "model", (3, "nope", True, [])),
    ("evaluate", "grid", ("nope", "", 3, True, [], {})),
    ("evaluate, smoothing", "smoothing", (0, -1, INF, "2", True, [2], NAN, 10**400)),
    ("evaluate, moments", "order", (0, -1, 1.5, "3", True, [3], NAN)),
    ("evaluate, moments", "regularizer", ("nope", 3, True, [])),
    ("evaluate, empirical-bernstein", "clip", (0, -1, INF, "2", True, [2], NAN)),
)  # fmt: skip
POLICIES: Sequence[Any] = (
    3, {}, [], "", "nope", {"a": 3}, {"": "a"}, {"production": "a"}, {"a": None}, True, object(), [0.5, 0.5], {"a": {}},
)  # fmt: skip
ONE_POLICY = ("compare", "compare outcomes", "gate", "profile", "power")
# The log that the field is of, the field, and values that are wrong there.
OF_LOGS: Sequence[tuple[str, str, Sequence[Any]]] = (
    ("plain", "reward", (3, True, "nope", ["r"], {})),
    ("plain", "cost", ("x",)),
    ("plain", "reward_range", (
        (1, 0), (0, 0), (0, NAN), (0, INF), 3, "ab", (0,), (0, 1, 2), ("a", "b"), (0, 10**400), {}, (0, True), (0.5, 1),
    )),
    ("plain", "propensity", (3, True, "nope", ["q"], {})),
    ("plain", "log_propensity", ("lq", 3)),
    ("plain", "density", ("yes", 1, [True])),
    ("plain", "propensity_is_estimated", ("yes", 1)),
    ("counted", "action_count", (*NO_COUNTS, "nope", 10**400)),
    ("plain", "actions", ([], "abc", [1, 1], {1, 2}, [None], 3, [1, "1"], True)),
    ("counted", "action", (3, "nope", ["act"])),
    ("vectors", "logging", (3, "nope", [], True, {}, ["l0", "nope"], [3])),
    ("embedding", "embedding", (3, "kind", [0, 1], {}, True, {"kind": "nope"})),
    ("balanced loggers", "loggers", (
        {}, {"A": "pa"}, 3, {"A": "pa", "B": "pa"}, {"A": "pa", "B": 3}, "pa", {"A": "pa", "B": "nope"},
    )),
    ("balanced loggers", "logger", (3, "nope", ["who"])),
    ("balanced loggers", "logger_rounds", (3, {"A": 0, "B": 200}, {"A": 200}, {"A": 1.5, "B": 2}, "x", {"A": 150, "B": 50})),
    ("loggers by shares", "logger_shares", (
        3, {"A": 0.5}, {"A": 0.5, "B": 0.6}, {"A": 0, "B": 1}, "x", {"A": NAN, "B": 1}, {"A": "x", "B": 0.5},
    )),
    ("labels", "score", (3, "nope", "rl", ["j"])),
    ("labels", "label_probability", (0, 2, -1, NAN, "nope", True, [0.5])),
    ("settled", "settled_after", ("x", -1, NAN, True, [], "-1h", "1y", {})),
    ("settled", "as_of", ("x", True, [], {}, 3)),
    ("clusters of a size", "cluster", (3, "nope", ["c"])),
    ("clusters of a size", "cluster_size", (*NO_COUNTS, "nope", 3, 10**400)),
    ("clusters filled up", "cluster_max", (*NO_COUNTS, "3", 1)),
    ("sequences", "position", (3, "nope", ["step"], "size")),
    ("sampled of many", "keep_probability", (0, 0.5, "nope", ["k"], True)),
    ("sampled of many", "rounds_before_sampling", (*NO_COUNTS, "500", 100)),
    ("plain", "rounds_before_sampling", (500,)),
    ("where", "where", ("", 3, "nope = 1", "here =", "here", "r = 1", "q > 0.5", True, [], "here = 1 and", "a > 0")),
    ("plain", "contexts", (3, "nope", {"age"}, ["nope"], ["r"], [3], True)),
    ("timed", "time", (3, "nope", ["t"], True)),
    ("identified", "id", (3, "nope", ["id"], True, "s")),
    ("plain", "assumes", ("text", 3, [3], True)),
)  # fmt: skip
QUESTION_DOORS = ("verb", "question", "mapping", "json", "monitor")
LOGS_DOORS = ("logs", "mapping", "json", "monitor")
MONITORED = ("evaluate", "compare", "compare outcomes")
FIELD_OF_OPTION = {"clip": "parameter", "strength": "parameter"}
OF_METHODS = ("grid", "smoothing", "order", "regularizer")


def shown(value: Any) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return text if len(text) < 60 else f"{text[:50]}..."


def refuse(ask: Callable[[], Any]) -> None:
    """One sentence, or a few, that a user can read."""
    with pytest.raises(sl.SureliftError) as refused:
        ask()
    assert refused.type in (sl.UsageError, sl.LogsError)
    message = str(refused.value)
    assert len(message) > 20
    assert message.splitlines()[0].endswith((".", ":"))
    assert "Traceback" not in message


def by_parts(question: sl.Question) -> Any:
    return question.answer(sl.partial_sums([table()], question))


def _asked_wrongly(name: str, option: str, value: Any, door: str) -> None:
    asked, plain = ASKED[name], LOGS["vectors" if name == "estimate, dr" else "plain"]
    wrong = Asked(asked.kind, asked.name, asked.candidates, {**asked.options, option: value})
    logs = plain.logs()
    if door == "verb":
        wrong.verb(logs, plain.policies)
    elif door == "question":
        wrong.question(logs, plain.policies).ask(logs)
    elif door == "mapping":
        by_parts(wrong.question(plain.flat, plain.policies))
    elif door == "monitor":
        options = {**wrong.own(plain.policies)}
        question: Any = "evaluate" if asked.kind == "evaluate" else "compare"
        watch = sl.Monitor(asked.policies(plain.policies), question=question, **options, **plain.flat)
        watch.update(table())
        watch.answer()
    else:
        content = asked.question(logs, plain.policies).to_dict()
        stored = described(value)
        if option in OF_METHODS or (option == "clip" and asked.kind == "evaluate"):
            content["method"] = {**content["method"], "options": {**content["method"]["options"], option: stored}}
        elif option in ("method", "control"):
            content["method"] = {**content["method"], option: stored}
        elif option == "segments":
            content["by"] = {**content.get("by", {}), "segments": stored}
        elif option == "over":
            content["over"] = _policies(value)
        elif option == "by" and isinstance(value, str | list):
            content["columns" if name.startswith("check") else "by"] = _split(value, name)
        else:
            content[FIELD_OF_OPTION.get(option, option)] = stored
        sl.Question.from_dict(through_json(content)).ask(logs)


def _policies(value: Any) -> Any:
    """Descriptions of columns in the place of their names."""
    if isinstance(value, str):
        return {value: {"kind": "column", "column": value}}
    if isinstance(value, dict):
        return {name: {"kind": "column", "column": each} if isinstance(each, str) else each for name, each in value.items()}
    return value


def _split(value: Any, name: str) -> Any:
    if name.startswith("check"):
        return value if isinstance(value, list) else [value]
    return {"column": value} if isinstance(value, str) else {"columns": value}


def described(value: Any) -> Any:
    """As JSON would hold it."""
    if isinstance(value, dict):
        return {str(name): described(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [described(entry) for entry in value]
    return value.describe() if hasattr(value, "describe") else value


def wrong_options() -> Iterator[Any]:
    for name, option, values in OF_QUESTIONS:
        for value in values:
            for door in QUESTION_DOORS:
                of_a_monitor = ASKED[name].kind in MONITORED and option != "segments"
                if door == "monitor" and (not of_a_monitor or option in ("sides", "grid")):
                    continue
                if door == "monitor" and value is None:
                    continue  # there it says that nothing was given
                if door == "json" and isinstance(value, dict) and 3 in value:
                    continue  # there every name is a text
                yield named(f"{name} | {option}={shown(value)} | {door}", name, option, value, door)


def named(title: str, *values: Any) -> Any:
    """A case; one that is a bug of today, with its reason."""
    return pytest.param(*values, id=title)


@pytest.mark.parametrize("name, option, value, door", list(wrong_options()))
def test_a_wrong_option_is_refused_at_every_door(name: str, option: str, value: Any, door: str) -> None:
    refuse(lambda: _asked_wrongly(name, option, value, door))


def wrong_policies() -> Iterator[Any]:
    for name in ("evaluate", "compare", "select", "gate", "power", "estimate", "report", "check"):
        several: Sequence[Any] = ({"a": "a", "b": "b"},) if name in ONE_POLICY else ()
        for value in (*POLICIES, *several, *(() if name == "check" else (None,))):
            for door in ("verb", "question", "mapping", "json", "monitor"):
                if door == "monitor" and (name not in MONITORED or value in several):
                    continue
                if door == "json" and (type(value) is object or (name, value) == ("check", {})):
                    continue  # JSON holds no object, and a check of no policy so
                yield named(f"{name} | policies={shown(value)} | {door}", name, value, door)


@pytest.mark.parametrize("name, value, door", list(wrong_policies()))
def test_policies_of_a_wrong_kind_are_refused_at_every_door(name: str, value: Any, door: str) -> None:
    plain, kind = LOGS["plain"], ASKED[name].kind
    logs = plain.logs()

    def ask() -> Any:
        if door == "verb":
            return getattr(sl, kind)(logs, value)
        if door == "question":
            return sl.Question.of(kind, logs, value).ask(logs)
        if door == "mapping":
            return by_parts(sl.Question.of(kind, plain.flat, value))
        if door == "json":
            content = sl.Question.of(kind, logs, "a").to_dict()
            return sl.Question.from_dict(through_json({**content, "policies": _policies(value)})).ask(logs)
        question: Any = kind
        return sl.Monitor(value, question=question, **plain.flat).update(table())

    refuse(ask)


def wrong_declarations() -> Iterator[Any]:
    for name, role, values in OF_LOGS:
        for value in values:
            for door in LOGS_DOORS:
                if door == "monitor" and role in ("rounds_before_sampling", "as_of"):
                    continue  # batches have their own
                if door == "json" and isinstance(value, set):
                    continue  # there it is a list
                yield named(f"{name} | {role}={shown(value)} | {door}", name, role, value, door)


@pytest.mark.parametrize("name, role, value, door", list(wrong_declarations()))
def test_a_wrong_declaration_is_refused_at_every_door(name: str, role: str, value: Any, door: str) -> None:
    log, asked = LOGS[name], ASKED["compare"]
    flat = {**log.flat, role: value}

    def ask() -> Any:
        if door == "logs":
            return asked.verb(sl.Logs(table(), **flat), log.policies)
        if door == "mapping":
            return by_parts(asked.question(flat, log.policies))
        if door == "json":
            content = asked.question(log.logs(), log.policies).to_dict()
            content["declaration"] = {**content["declaration"], role: described(value)}
            return by_parts(sl.Question.from_dict(through_json(content)))
        own: Mapping[str, Any] = {
            role: each for role, each in flat.items() if role not in ("rounds_before_sampling", "as_of")
        }
        batch = {
            "rounds_before_sampling": flat.get("rounds_before_sampling"), "as_of": flat.get("as_of"),
        }  # fmt: skip
        watch = sl.Monitor(asked.policies(log.policies), **own)
        watch.update(table(), **batch)
        return watch.answer()

    refuse(ask)


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": 0}, {"delta": "0.05"}, {"delta": None}, {"rounds": 0}, {"rounds": 1.5}, {"rounds": True}, {"runs": 0},
        {"runs": "3"}, {"runs": None}, {"seed": -1}, {"seed": 1.5}, {"seed": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_simulation_is_refused(wrong: Mapping[str, Any]) -> None:
    options: dict[str, Any] = {"runs": 2, **wrong}
    refuse(lambda: sl.simulate(LOGS["plain"].logs(), "a", **options))


def stored(**changes: Any) -> dict[str, Any]:
    content = ASKED["compare"].question(LOGS["plain"].logs(), LOGS["plain"].policies).to_dict()
    return {name: value for name, value in {**content, **changes}.items() if value is not LEFT_OUT}


LEFT_OUT = object()
loose: Any = sl
"""Without its types, of which most of these values are none."""
MADE: Mapping[str, Callable[[], Any]] = {
    "blend 2": lambda: loose.blend("a", 2),
    "blend nan": lambda: loose.blend("a", NAN),
    "blend text": lambda: loose.blend("a", "x"),
    "blend True": lambda: loose.blend("a", True),
    "bounded 0.5": lambda: loose.bounded("a", 0.5),
    "bounded nan": lambda: loose.bounded("a", NAN),
    "bounded None": lambda: loose.bounded("a", None),
    "epsilon 2": lambda: loose.epsilon_greedy("va", 2),
    "softmax 0": lambda: loose.softmax("va", 0),
    "wins of one": lambda: loose.wins("k", "k"),
    "wins of 0": lambda: loose.wins("k", 0),
    "wins 1.5": lambda: loose.wins("k", 1.5),
    "bins of none": lambda: loose.bins("age", []),
    "bins back": lambda: loose.bins("age", [3, 1]),
    "bins nan": lambda: loose.bins("age", [NAN]),
    "bins of 3": lambda: loose.bins(3, [1]),
    "outcome 3": lambda: loose.Outcome(3),
    "outcome of no range": lambda: loose.Outcome("g", range=(1, 0)),
    "outcome nan": lambda: loose.Outcome("g", at_least=NAN),
    "outcome twice": lambda: loose.Outcome("g", at_least=0, at_most_worse=0),
    "outcome below": lambda: loose.Outcome("g", at_most_worse=-1),
    "outcome text": lambda: loose.Outcome("g", at_least="x"),
    "outcome range 3": lambda: loose.Outcome("g", range=3),
    "outcome range nan": lambda: loose.Outcome("g", range=(0, NAN)),
    "outcome far": lambda: loose.compare(LOGS["plain"].logs(), "a", outcomes=[loose.Outcome("g", at_least=5)]),
    "outcome cost text": lambda: loose.Outcome("g", cost="yes"),
    "kinds of text": lambda: loose.embeddings.kinds("ab"),
    "kinds with gaps": lambda: loose.embeddings.kinds([0, 2]),
    "no kind": lambda: loose.Question.of("nope", LOGS["plain"].logs(), "a"),
    "kind 3": lambda: loose.Question.of(3, LOGS["plain"].logs(), "a"),
    "no logs": lambda: loose.Question.of("compare", table(), "a"),
    "no logs at a verb": lambda: loose.compare(table(), "a"),
    "monitor asks nothing": lambda: loose.Monitor("a", question="gate", reward="r", propensity="q"),
    "monitor of a number": lambda: loose.Monitor("a", reward="r", propensity="q").update(3),
    "parts of a number": lambda: loose.partial_sums([3], loose.Question.of("compare", LOGS["plain"].flat, "a")),
    "parts of no question": lambda: loose.partial_sums([table()], "compare"),
    "parts of nothing": lambda: loose.partial_sums([], loose.Question.of("compare", LOGS["plain"].flat, "a")),
    "stored as text": lambda: loose.Question.from_dict("compare"),
    "stored empty": lambda: loose.Question.from_dict({}),
    "stored kind 3": lambda: loose.Question.from_dict(stored(kind=3)),
    "stored with more": lambda: loose.Question.from_dict(stored(more=3)),
    "stored without delta": lambda: loose.Question.from_dict(stored(delta=LEFT_OUT)),
    "stored without method": lambda: loose.Question.from_dict(stored(method=LEFT_OUT)),
    "sums of text": lambda: sums_from("x"),
    "sums empty": lambda: sums_from({}),
    "sums of a number": lambda: sums_from({"rows": "x"}),
}


def sums_from(state: Any) -> Any:
    return Sums.from_state(state, ASKED["compare"].question(LOGS["plain"].logs(), LOGS["plain"].policies).plan())


@pytest.mark.parametrize("make", [named(f"made: {name}", make) for name, make in MADE.items()])
def test_a_wrong_value_is_refused_where_it_is_made(make: Callable[[], Any]) -> None:
    refuse(make)
