"""Bounds in per cent need a ratio that does not drift: where the days show that rewards do, they are in doubt."""

from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.questions.drift import LEVEL
from surelift.questions.relative import STEADY_RATIO

DAYS, A_DAY = 10, 400
DECLARED: dict[str, Any] = {"reward": "click", "propensity": "q", "time": "day"}


def visits(*, drifting: bool, seed: int = 0) -> dict[str, Any]:
    rng, rounds = np.random.default_rng(seed), DAYS * A_DAY
    day = np.repeat(np.arange(DAYS), A_DAY)
    new = rng.choice([0.2, 0.8], rounds)
    rate = np.where(day < 5, 0.1, 0.35) if drifting else np.full(rounds, 0.2)
    return {
        "day": np.datetime64("2026-03-01") + day, "q": np.full(rounds, 0.5), "new": new,
        "click": (rng.random(rounds) < rate * (new + 0.5)) * 1.0, "stay": (rng.random(rounds) < 0.3 * (new + 0.5)) * 1.0,
        "device": rng.choice(["phone", "desktop"], rounds),
    }  # fmt: skip


def logs(drifting: bool, **declared: Any) -> sl.Logs:
    return sl.Logs(visits(drifting=drifting), **{**DECLARED, **declared})


def test_the_doubt_is_told_and_the_headline_keeps_to_units() -> None:
    answer, steady = sl.compare(logs(True), "new"), sl.compare(logs(False), "new")
    assert answer.certified
    assert answer.relative_doubt.startswith("rewards differ from day to day by more than chance")
    assert f"in doubt, the bounds in per cent: {answer.relative_doubt}" in " ".join(str(answer).split())
    assert f"The bounds in per cent are in doubt: {answer.relative_doubt}." in answer.page().lead
    assert answer.certified_lift == ""
    assert answer.doubts == ()
    assert steady.relative_doubt == ""
    assert steady.certified_lift.startswith("at least ")
    for each in (answer, steady):
        assert "of the value of production, if that ratio does not drift" in " ".join(str(each).split())
        assert STEADY_RATIO in each.assumptions


def test_the_claim_of_a_margin_in_per_cent_is_not_in_doubt() -> None:
    for decide in (sl.compare, sl.gate):
        answer: Any = decide(logs(True), "new", margin="5%")
        assert answer.certified
        assert getattr(answer, "improvement", answer).relative_doubt


def test_without_times_nothing_is_said_but_the_assumption() -> None:
    answer = sl.compare(logs(True, time=None), "new")
    assert answer.relative_doubt == ""
    assert STEADY_RATIO in answer.assumptions


def test_answers_without_per_cent_assume_nothing_of_it() -> None:
    answer = sl.compare(logs(True), "new", method="blocks")
    assert STEADY_RATIO not in answer.assumptions
    assert answer.relative_doubt == ""


def test_each_segment_and_outcome_has_doubts_of_its_own() -> None:
    by = sl.compare(logs(True), "new", by="device", segments=["phone", "desktop"])
    assert all(answer.relative_doubt for answer in by.values())
    outcomes = sl.compare(logs(True), "new", outcomes=[sl.Outcome("click"), sl.Outcome("stay")])
    assert outcomes["click"].relative_doubt
    assert not outcomes["stay"].relative_doubt


def test_parts_and_monitors_say_the_same(tmp_path: Any) -> None:
    whole, table = sl.compare(logs(True), "new"), visits(drifting=True)
    parts = [{name: column[rows] for name, column in table.items()} for rows in (slice(0, 1_500), slice(1_500, None))]
    question = sl.Question.of("compare", DECLARED, {"new": "new"})
    sums = [sl.partial_sums([part], question) for part in parts]
    assert question.answer(sums[1] + sums[0]).relative_doubt == whole.relative_doubt
    watch = sl.Monitor("new", **DECLARED)
    for number, part in enumerate(parts):
        watch.update(part, sequence=number + 1)
        watch.save(tmp_path / "state.json")
        watch = sl.Monitor.load(tmp_path / "state.json")
    assert watch.answer().relative_doubt == whole.relative_doubt  # type: ignore[union-attr]


def test_it_is_stored_and_verified() -> None:
    certificate = sl.Certificate.of(sl.compare(logs(True), "new"))
    assert certificate.content["answer"]["relative_doubt"]
    assert sl.verify(certificate, visits(drifting=True)).differences == ()


@pytest.mark.slow
def test_steady_rewards_are_hardly_ever_in_doubt() -> None:
    tables = (visits(drifting=False, seed=seed) for seed in range(400))
    wrong = sum(bool(sl.compare(sl.Logs(table, **DECLARED), "new").relative_doubt) for table in tables)
    assert wrong <= 4  # of 400 at LEVEL = 0.001 five or more have a chance below 1e-4
    assert LEVEL == 0.001
