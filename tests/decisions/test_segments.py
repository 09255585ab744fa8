"""By segment: what each segment's own log would say at its share of delta, in one pass."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import surelift as sl
from surelift.datasets import shop
from tests.controls.test_models import columns, logs_of

DATA = shop(4_000, seed=3)


def part(segment: str) -> sl.Logs:
    import pyarrow.compute as pc

    return sl.Logs(DATA.table.filter(pc.equal(DATA.table["visitor"], segment)), **DATA.columns())


@pytest.mark.parametrize(
    "options",
    [{}, {"grid": "planned"}, {"method": "logarithmic-smoothing"}, {"method": "normal"}, {"method": "bootstrap"}],
)
def test_each_segment_is_a_log_of_its_own(options: dict[str, Any]) -> None:
    found = sl.evaluate(DATA.logs(), DATA.policies(), by="visitor", delta=0.09, **options)
    compared = sl.compare(DATA.logs(), {"better": "p_better"}, by="visitor", delta=0.09, **options)
    assert list(found) == list(compared) == ["loyal", "new", "returning"]
    for segment, evaluation in found.items():
        alone = sl.evaluate(part(segment), DATA.policies(), delta=0.03, **options)
        for name, value in evaluation.items():
            if options.get("method") == "bootstrap":  # resamples go by row number
                assert value.lower == pytest.approx(alone[name].lower, abs=0.02)
            else:
                assert value.lower == pytest.approx(alone[name].lower)
                assert value.upper == pytest.approx(alone[name].upper)
            assert value.rounds == alone[name].rounds
        if options.get("method") != "bootstrap":
            single = sl.compare(part(segment), {"better": "p_better"}, delta=0.03, **options)
            assert compared[segment].lower == pytest.approx(single.lower)
            assert compared[segment].e_value == pytest.approx(single.e_value)
    assert found.rounds == 4_000


def test_arrays_vectors_and_models_are_split_with_their_rounds() -> None:
    table = columns(3, 600)
    logs = logs_of(table)
    whole = sl.compare(logs, {"new": table["new"]}, by="name", control=sl.models.given(table["q"]))
    for segment, answer in whole.items():
        chosen = table["name"] == segment
        own = {name: column[chosen] for name, column in table.items()}
        alone = sl.compare(logs_of(own), {"new": own["new"]}, delta=0.05 / 3, control=sl.models.given(own["q"]))
        assert answer.lower == pytest.approx(alone.lower)
        assert answer.control == "model"
        assert any("segment" in assumption for assumption in answer.assumptions)
    redrawn = sl.evaluate(logs, {"new": "new"}, by="name", method="efron-stein", draws=50)
    assert all(value["new"].promise == "none" for value in redrawn.values())


def test_certified_segments_certificates_and_frames() -> None:
    answer = sl.compare(DATA.logs(), {"better": "p_better"}, by="visitor")
    assert answer.certified == tuple(name for name, one in answer.items() if one.lower > 0)
    certificate = sl.Certificate.of(answer)
    assert certificate.content["question"]["by"] == {"column": "visitor"}
    assert sl.verify(certificate, DATA.logs()).same
    with pytest.raises(sl.UsageError, match="a single segment cannot be certified"):
        sl.Certificate.of(answer["new"])
    assert list(answer.to_frame()["visitor"]) == ["loyal", "new", "returning"]
    assert "By 'visitor': 3 segments, 4,000 rounds" in str(answer)
    assert set(answer.to_dict()["segments"]) == {"loyal", "new", "returning"}


def test_how_often_one_may_look() -> None:
    """delta is divided by the segments seen so far, so that a growing list allows one look; a declared one any number."""
    logs = DATA.logs()
    seen = sl.compare(logs, {"better": "p_better"}, by="visitor")
    assert {one.promise for one in seen.values()} == {"one look"}
    assert any("this is the only look" in text for text in seen["new"].assumptions)
    listed = ["new", "returning", "loyal", "lapsed"]
    declared = sl.compare(logs, {"better": "p_better"}, by="visitor", segments=listed)
    assert {one.promise for one in declared.values()} == {"any number of looks"}
    assert declared["new"].delta == pytest.approx(0.05 / 4)
    assert sl.verify(sl.Certificate.of(declared), logs).same
    assert sl.evaluate(logs, "p_better", by="visitor", segments=listed)["new"].delta == pytest.approx(0.05 / 4)
    with pytest.raises(sl.LogsError, match=r"segment that was not declared; the first is 'loyal' in row"):
        sl.compare(logs, {"better": "p_better"}, by="visitor", segments=["new", "returning"])
    with pytest.raises(sl.UsageError, match="name it in by="):
        sl.compare(logs, {"better": "p_better"}, segments=["new"])  # type: ignore[call-overload]
    with pytest.raises(sl.UsageError, match="lists a name twice"):
        sl.compare(logs, {"better": "p_better"}, by="visitor", segments=["new", "new"])


@pytest.mark.parametrize("column", ["click", "item", "propensity", "p_better"])
def test_a_segment_is_known_before_the_action(column: str) -> None:
    for ask in (sl.evaluate, sl.compare):
        with pytest.raises(sl.UsageError, match="must be known before the action"):
            ask(DATA.logs(), {"better": "p_better"}, by=column)
    assert sl.evaluate(sl.Logs(DATA.table.slice(0, 50), **DATA.columns()), "p_better", by="daypart")


def test_odd_segments() -> None:
    arrays: dict[str, Any] = {"r": [0.0, 1.0] * 20, "p": [0.5] * 40, "n": [0.5] * 40}
    declared: dict[str, Any] = {"reward": "r", "propensity": "p"}
    times = pa.array([1, 2] * 20, pa.time64("ns"))
    found = sl.evaluate(sl.Logs({**arrays, "s": times}, **declared), "n", by="s")
    assert found.rounds == 40
    assert sum(one.rounds for one in found.values()) == 40
    with pytest.raises(sl.UsageError, match="a segment is named by"):
        sl.evaluate(sl.Logs({**arrays, "s": [[1]] * 40}, **declared), "n", by="s")
    found = sl.evaluate(sl.Logs({**arrays, "s": [1.0, float("nan")] * 20}, **declared), "n", by="s")
    assert {name: one.rounds for name, one in found.items()} == {"1.0": 20, "(missing)": 20}


def test_what_is_refused() -> None:
    arrays: dict[str, Any] = {"r": [0.0, 1.0], "p": [0.5, 0.5], "n": [0.5, 0.5]}
    declared: dict[str, Any] = {"reward": "r", "propensity": "p"}
    with pytest.raises(sl.UsageError, match="no column 'country' for by"):
        sl.evaluate(sl.Logs(arrays, **declared), "n", by="country")
    with pytest.raises(sl.LogsError, match=r"by 's': 1 of 2 values are the text '\(missing\)'.*in row 0"):
        sl.evaluate(sl.Logs({**arrays, "s": ["(missing)", None]}, **declared), "n", by="s")
    with pytest.raises(sl.LogsError, match="empty"):
        sl.evaluate(sl.Logs({"r": [], "p": [], "n": [], "s": []}, **declared), "n", by="s")
    with pytest.raises(sl.LogsError, match="policy 'n': 1 of 2 values lie outside"):
        sl.evaluate(sl.Logs({**arrays, "n": [0.5, 1.5], "s": ["a", "b"]}, **declared), "n", by="s")
    many = {"r": np.zeros(1200), "p": np.ones(1200), "n": np.ones(1200), "s": np.arange(1200)}
    with pytest.raises(sl.LogsError, match="more than 1,000 segments"):
        sl.evaluate(sl.Logs(many, **declared), "n", by="s")
    wrong = {"r": np.ones(400), "p": np.full(400, 0.1), "n": np.ones(400), "s": ["a", "b"] * 200}
    with pytest.raises(sl.LogsError, match=r"value of 'n' in segment 'a': .* contradict"):
        sl.evaluate(sl.Logs(wrong, **declared), "n", by="s")


@pytest.mark.parametrize("verb", ["select", "power", "estimate", "profile"])
def test_every_question_that_makes_sense_by_segment(verb: str) -> None:
    """Each segment is answered as if it were a log of its own, at its share of delta."""
    ask = getattr(sl, verb)
    answer = ask(DATA.logs(), {"better": "p_better"}, by="visitor", delta=0.06)
    assert list(answer) == ["loyal", "new", "returning"]
    for name, result in answer.items():
        rows = DATA.table.filter(pc.equal(DATA.table["visitor"], name))
        alone = ask(sl.Logs(rows, **DATA.columns()), {"better": "p_better"}, delta=0.02)
        ours, theirs = (one["better"] if verb in ("select", "estimate") else one for one in (result, alone))
        bound = "estimate" if verb == "estimate" else "lower"
        assert getattr(ours, bound) == pytest.approx(getattr(theirs, bound), rel=1e-11)
        assert result.rounds == rows.num_rows
    assert len(answer.to_frame()) >= 3
    assert answer.sentence()


@pytest.mark.parametrize("column", ["click", "propensity", "p_better"])
def test_a_question_of_a_declaration_is_held_to_the_same_segments(column: str) -> None:
    declared: dict[str, Any] = {"reward": "click", "propensity": "propensity"}

    def question() -> sl.Question:
        return sl.Question.of("compare", declared, {"better": "p_better"}, by=column)

    for ask in (
        lambda: sl.partial_sums([DATA.table], question()), lambda: question().ask(sl.Logs(DATA.table, **declared)),
    ):  # fmt: skip
        with pytest.raises(sl.UsageError, match="must be known before the action"):
            ask()
