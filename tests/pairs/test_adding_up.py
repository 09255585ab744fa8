"""Sums of two questions that differ in one field never add up, nor answer the other, whichever way they meet."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import surelift as sl
from surelift.saving import sealed
from surelift.statistics import Sums
from tests.pairs.doors import parts_of_table, through_json
from tests.pairs.traits import table


@dataclass(frozen=True)
class Side:
    """A question, as whoever asks it would write it."""

    flat: Mapping[str, Any] = field(default_factory=lambda: {"reward": "r", "propensity": "q"})
    policies: Any = field(default_factory=lambda: {"a": "a"})
    kind: str = "compare"
    options: Mapping[str, Any] = field(default_factory=dict)

    def question(self) -> sl.Question:
        return sl.Question.of(self.kind, self.flat, self.policies, **self.options)

    def sums(self, place: int = 0) -> Sums:
        return sl.partial_sums([parts_of_table()[place]], self.question())

    def monitor(self, name: str, place: int) -> sl.Monitor:
        question: Any = "evaluate" if self.kind == "evaluate" else "compare"
        watch = sl.Monitor(self.policies, question=question, name=name, **self.options, **self.flat)
        watch.update(parts_of_table()[place])
        return watch


PLAIN: Mapping[str, Any] = {"reward": "r", "propensity": "q"}
CLUSTERS: Mapping[str, Any] = {**PLAIN, "cluster": "c"}
LOGGERS: Mapping[str, Any] = {"reward": "r", "logger": "who", "loggers": {"A": "pa", "B": "pb"}}
LABELS: Mapping[str, Any] = {"reward": "rl", "propensity": "q", "score": "j"}


def of_logs(**changes: Any) -> Side:
    return Side({**PLAIN, **changes})


def asking(kind: str = "compare", **options: Any) -> Side:
    return Side(kind=kind, options=options)


def judged(**outcome: Any) -> Side:
    return asking("compare outcomes", outcomes={"g": sl.Outcome(**{"column": "g", **outcome})})


DIFFERING: Mapping[str, tuple[Side, Side]] = {
    "candidate column": (Side(), Side(policies={"a": "b"})),
    "candidate wrapped": (Side(), Side(policies={"a": sl.bounded("a", 4.0)})),
    "share of a blend": (Side(policies={"a": sl.blend("a", 0.25)}), Side(policies={"a": sl.blend("a", 0.5)})),
    "range": (Side(), of_logs(reward_range=(0, 2))),
    "cost or reward": (Side(), Side({"cost": "r", "propensity": "q"})),
    "reward column": (Side(), of_logs(reward="g")),
    "delta": (Side(), asking(delta=0.1)),
    "propensity column": (Side(), of_logs(propensity="pa")),
    "logarithm of the propensity": (Side(), Side({"reward": "r", "log_propensity": "lq"})),
    "density": (Side(), of_logs(density=True)),
    "where or not": (Side(), of_logs(where="here = 1")),
    "where": (of_logs(where="here = 1"), of_logs(where="here = 0")),
    "estimated propensities": (Side(), of_logs(propensity_is_estimated=True)),
    "contexts": (Side(), of_logs(contexts=["age"])),
    "time": (Side(), of_logs(time="t")),
    "id": (Side(), of_logs(id="id")),
    "assumes": (Side(), of_logs(assumes=["the shop was open"])),
    "number of actions": (of_logs(action_count=3), of_logs(action_count=4)),
    "outcome": (judged(), judged(column="half")),
    "range of an outcome": (judged(), judged(range=(0, 2))),
    "cost of an outcome": (judged(), judged(cost=True)),
    "claim of an outcome": (judged(), judged(at_most_worse=0.25)),
    "guardrail": (
        asking("gate", guardrails=[sl.Outcome("g", at_most_worse=0.25)]),
        asking("gate", guardrails=[sl.Outcome("g", at_most_worse=0.5)]),
    ),
    "over or production": (Side(), asking(over={"b": "b"})),
    "over": (asking(over={"b": "b"}), asking(over={"b": "pb"})),
    "margin": (Side(), asking(margin=0.125)),
    "margin in per cent": (asking(margin="2%"), asking(margin="4%")),
    "method": (Side(), asking(method="logarithmic-smoothing", smoothing=0.25)),
    "smoothing": tuple(asking(method="logarithmic-smoothing", smoothing=size) for size in (0.25, 0.5)),  # type: ignore[dict-item]
    "control": (Side(), asking(control="none")),
    "clusters or rows": (Side(), Side({**CLUSTERS, "cluster_size": 2})),
    "size of clusters": (Side({**CLUSTERS, "cluster_size": 2}), Side({**CLUSTERS, "cluster_max": 2})),
    "most of a cluster": (Side({**CLUSTERS, "cluster_max": 2}), Side({**CLUSTERS, "cluster_max": 3})),
    "position": (Side({**CLUSTERS, "cluster_size": 2}), Side({**CLUSTERS, "cluster_size": 2, "position": "step"})),
    "keep probability": (Side(), of_logs(keep_probability="same")),
    "score": (Side({**LABELS, "label_probability": 0.5}), Side({**LABELS, "score": "half", "label_probability": 0.5})),
    "label probability": (Side({**LABELS, "label_probability": 0.5}), Side({**LABELS, "label_probability": 0.25})),
    "shares of loggers": (
        Side({**LOGGERS, "logger_shares": {"A": 0.5, "B": 0.5}}), Side({**LOGGERS, "logger_shares": {"A": 0.25, "B": 0.75}})
    ),
    "settled after": tuple(  # type: ignore[dict-item]
        of_logs(time="t", settled_after=age, as_of="2024-03-30T00:00:00") for age in ("1h", "2h")
    ),
    "by": (asking(by="s", segments=["x", "y"]), asking(by="here", segments=["0", "1"])),
    "segments": (asking(by="s", segments=["x", "y"]), asking(by="s", segments=["x", "y", "z"])),
    "edges of bins": (asking(by=sl.bins("age", [30])), asking(by=sl.bins("age", [40]))),
    "sides": (asking("evaluate"), asking("evaluate", sides="lower")),
    "kind": (Side(), asking("profile")),
    "level": (asking("check"), asking("check", level=0.01)),
    "estimator": (asking("estimate"), asking("estimate", estimator="snips")),
    "parameter": (asking("estimate", estimator="clipped", clip=2.0), asking("estimate", estimator="clipped", clip=3.0)),
    "many": tuple(  # type: ignore[dict-item]
        Side(kind="select", policies={"a": "a", "b": "b"}, options={"many": many}) for many in ("simultaneous", "e-bh")
    ),
}  # fmt: skip


def cases(way: str) -> Iterator[Any]:
    for name, sides in DIFFERING.items():
        yield pytest.param(*sides, id=name)


def refused(ask: Any) -> None:
    with pytest.raises(sl.SureliftError) as told:
        ask()
    assert told.type in (sl.UsageError, sl.LogsError)
    assert "question" in str(told.value)


@pytest.mark.parametrize("one, other", list(cases("plus")))
def test_sums_of_two_questions_do_not_add_up(one: Side, other: Side) -> None:
    left, right = one.sums(0), other.sums(1)
    refused(lambda: left + right)
    refused(lambda: right + left)


@pytest.mark.parametrize("one, other", list(cases("answer")))
def test_sums_of_one_question_do_not_answer_another(one: Side, other: Side) -> None:
    refused(lambda: other.question().answer(one.sums()))
    refused(lambda: one.question().answer(other.sums()))


@pytest.mark.parametrize("one, other", list(cases("json")))
def test_sums_that_were_kept_as_json_do_not_add_up(one: Side, other: Side) -> None:
    """Each is read back by its own question; the digest must have come with it."""
    left, right = (
        Sums.from_state(through_json(side.sums(place).to_state()), side.question().plan())
        for place, side in enumerate((one, other))
    )
    refused(lambda: left + right)
    refused(lambda: right + left)


@pytest.mark.parametrize("one, other", list(cases("json answer")))
def test_sums_that_were_kept_as_json_do_not_answer_another_question(one: Side, other: Side) -> None:
    """A worker kept the sums of one question, and they are read back by the plan of the other."""
    kept = through_json(one.sums().to_state())
    asked = other.question()
    refused(lambda: asked.answer(Sums.from_state(kept, asked.plan())))


MONITORED = {
    name: sides
    for name, sides in DIFFERING.items()
    if {side.kind for side in sides} <= {"compare", "compare outcomes", "evaluate"}
    and name not in ("sides", "edges of bins")
}


@pytest.mark.parametrize(
    "one, other",
    [pytest.param(*sides, id=name) for name, sides in MONITORED.items() if name != "settled after"],
)
def test_monitors_of_two_questions_do_not_add_up(one: Side, other: Side) -> None:
    left, right = one.monitor("left", 0), other.monitor("right", 1)
    refused(lambda: left + right)


@pytest.mark.parametrize(
    "one, other",
    [pytest.param(*sides, id=name) for name, sides in MONITORED.items() if name != "settled after"],
)
def test_a_monitor_does_not_go_on_from_the_sums_of_another_question(one: Side, other: Side, tmp_path: Path) -> None:
    """Its state with the sums of another, sealed anew, as a script that merges states might write it."""
    states, path = [], tmp_path / "state.json"
    for side in (one, other):
        side.monitor("", 0).save(path)
        states.append(json.loads(path.read_text()))
    mixed = {name: value for name, value in states[0].items() if name != "checksum"}
    path.write_text(json.dumps(sealed({**mixed, "sums": states[1]["sums"]})))

    def go_on() -> Any:
        watch = sl.Monitor.load(path)
        watch.update(parts_of_table()[1])
        return watch.answer()

    with pytest.raises(sl.SureliftError):
        go_on()


SAME: Mapping[str, Side] = {name: side for name, sides in DIFFERING.items() for side in sides[:1]}


@pytest.mark.parametrize("side", [pytest.param(side, id=name) for name, side in SAME.items()])
def test_sums_of_one_question_add_up_whichever_door_made_it(side: Side) -> None:
    written = side.question()
    stored = sl.Question.from_dict(through_json(written.to_dict()))
    first, second = (parts_of_table()[place] for place in (0, 1))
    total = sl.partial_sums([first], written) + sl.partial_sums([second], stored)
    assert total.rows == first.num_rows + second.num_rows - total.excluded - total.left_out
    assert stored.answer(total).to_dict() == written.answer(total).to_dict()


@pytest.mark.parametrize("asked_of", [pytest.param({"reward": "r", "propensity": "q"})])
def test_a_question_is_not_answered_of_logs_that_are_declared_otherwise(asked_of: Mapping[str, Any]) -> None:
    """Asked of parts, it goes by its own declaration; asked of logs, by theirs: one of the two is not what was asked."""
    question = sl.Question.of("compare", {"cost": "x", "reward_range": (0, 12), "propensity": "q"}, "a")
    refused(lambda: question.ask(sl.Logs(table(), **asked_of)))
