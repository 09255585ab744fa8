"""Any result by segment can be read: those with bounds as a table, the others as a sentence for each segment."""

import pytest

import surelift as sl

LOGS = sl.datasets.shop(4_000).logs()
BETTER = {"better": "p_better"}


def test_results_without_bounds_are_sentences() -> None:
    estimates = sl.estimate(LOGS, BETTER, by="device")
    assert str(estimates).splitlines() == [
        "By 'device': 2 segments, 4,000 rounds",
        *(f"  {name}: {estimates[name].sentence()}" for name in ("desktop", "phone")),
    ]
    assert estimates.sentence().startswith("desktop: 'better' is estimated at ")
    with pytest.raises(sl.UsageError, match="draw them one by one"):
        estimates.plot()


@pytest.mark.parametrize("ask", [sl.estimate, sl.power, sl.profile, sl.select])
def test_every_verb_by_segment_has_a_text_and_a_page(ask: object) -> None:
    answer = ask(LOGS, BETTER, by="device")  # type: ignore[operator]
    for text in (str(answer), answer.to_html()):
        assert "desktop" in text
        assert "phone" in text
    assert answer["phone"].sentence() in answer.sentence()


def test_a_selection_by_segment_is_a_table_with_a_choice_for_each() -> None:
    answer = sl.select(LOGS, {**BETTER, "worse": "p_worse"}, by="device")
    rows = [line.split()[:2] for line in str(answer).splitlines() if "certified" in line]
    assert rows == [[segment, f"'{name}'"] for segment in ("desktop", "phone") for name in ("better", "worse")]
    assert f"  phone: {answer['phone'].sentence()}" in str(answer)


def test_a_question_by_its_verb_takes_segments() -> None:
    question = sl.Question.of("compare", LOGS, BETTER, by="device", segments=["phone", "desktop"])
    assert question.ask(LOGS) == sl.compare(LOGS, BETTER, by="device", segments=["phone", "desktop"])
    declared = {"reward": "click", "propensity": "propensity"}
    apart = sl.Question.of("compare", declared, BETTER, by="device")
    table = sl.datasets.shop(4_000).table
    sums = sl.partial_sums([table.slice(0, 1_000)], apart) + sl.partial_sums([table.slice(1_000)], apart)
    assert {name: part.rounds for name, part in apart.answer(sums).items()} == {"desktop": 1_379, "phone": 2_621}
    with pytest.raises(sl.UsageError, match="depends on the action"):
        sl.Question.of("compare", LOGS, BETTER, by="click")
