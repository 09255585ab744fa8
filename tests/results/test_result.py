"""Every result has a sentence, a text, a table, a plot, a notebook form, and a page."""

import csv
import io
import json
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import matplotlib
import pytest

from surelift.results.result import OMITTED, Result, dict_key
from surelift.views.figures import Interval, Intervals
from surelift.views.tables import table
from tests.results.samples import KINDS, every_result, result_classes

matplotlib.use("Agg")


def test_the_samples_cover_every_class() -> None:
    assert {type(result).__name__ for result in every_result().values()} == result_classes()


@pytest.mark.parametrize("kind", KINDS)
def test_text_fits_a_narrow_terminal(kind: str) -> None:
    for line in str(every_result()[kind]).splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_ends_with_a_full_stop(kind: str) -> None:
    assert every_result()[kind].sentence().endswith(".")


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_is_labelled_and_draws(kind: str, tmp_path: Path) -> None:
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = every_result()[kind].plot()
        assert axes.get_xlabel()
        axes.figure.savefig(tmp_path / "plot.png")
        pyplot.close(axes.figure)


def test_a_plot_uses_the_axes_it_is_given() -> None:
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2)
    assert every_result()["Selection"].plot(ax=right) is right
    assert not left.lines
    assert right.lines
    pyplot.close(figure)


@pytest.mark.parametrize("kind", KINDS)
def test_the_notebook_form_has_no_script_and_no_network(kind: str) -> None:
    html = every_result()[kind]._repr_html_()
    assert "<script" not in html
    assert "http" not in html
    assert "<table>" in html


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_small_and_needs_no_other_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert every_result()[kind].to_html(path) is None
    text = path.read_text()
    assert len(text) < 1_500_000
    assert f"<h1>{escaped(every_result()[kind].sentence())}</h1>" in text
    head = text[: text.index("<script type=")]
    assert not re.search(r"\b(src|href)\s*=\s*[\"'](?!data:)", head)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")


@pytest.mark.parametrize("kind", KINDS)
def test_csv_has_one_row_for_each_record(kind: str) -> None:
    rows = list(csv.DictReader(io.StringIO(every_result()[kind].to_csv() or "")))
    assert len(rows) == len(every_result()[kind].records())


@pytest.mark.parametrize("kind", KINDS)
def test_the_dict_is_what_json_gives_back(kind: str) -> None:
    result = every_result()[kind]
    assert json.loads(result.to_json()) == result.to_dict()
    assert "provenance" not in result.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_no_record_holds_a_list_or_a_dict(kind: str) -> None:
    for record in every_result()[kind].records():
        assert not any(isinstance(value, list | dict) for value in record.values())


def test_the_numbers_of_a_figure_are_those_of_the_result() -> None:
    selection: Any = every_result()["Selection"]
    figure = selection.figure()
    assert isinstance(figure, Intervals)
    for row in figure.rows:
        improvement = selection.improvements[row.name]
        assert (row.lower, row.estimate, row.upper) == (improvement.lower, improvement.estimate, improvement.upper)
    for cells in table(figure).rows:
        improvement = selection.improvements[cells[0]]
        assert float(cells[2].removeprefix("> ")) <= improvement.lower
        assert float(cells[3]) >= improvement.upper


@dataclass(frozen=True)
class Share:
    part: str
    of: tuple[int, int]


@dataclass(frozen=True, slots=True, repr=False)
class Survey(Result):
    """A result as someone else might add it: one class, nothing registered anywhere."""

    answers: int
    shares: tuple[Share, ...] = field(metadata=dict_key("parts"))
    draft: str = field(default="not for others", metadata=OMITTED)
    doubts: tuple[str, ...] = ("few answered",)

    title: ClassVar = "What did people say?"
    derived: ClassVar = ("enough",)
    columns: ClassVar = {"answers": "answers", "first": "parts.0.part", "of": "parts.0.of", "enough": "enough"}

    @property
    def enough(self) -> bool:
        return self.answers > 100

    def sentence(self) -> str:
        return f"{self.answers} people answered."

    def text(self) -> str:
        return f"A survey\n{self.sentence()}"

    def figure(self) -> Intervals:
        return Intervals("answers", (Interval("all", self.answers, None, None),))


def test_a_new_result_is_one_class() -> None:
    survey = Survey(3, (Share("half", (1, 2)),))
    parts = [{"part": "half", "of": [1, 2]}]
    assert survey.to_dict() == {"answers": 3, "parts": parts, "doubts": ["few answered"], "enough": False}
    assert survey.records() == [{"answers": 3, "first": "half", "of": "1; 2", "enough": False}]
    assert survey.to_csv() == "answers,first,of,enough\n3,half,1; 2,False\n"
    assert repr(survey) == "A survey\n3 people answered."
    assert "<strong>3 people answered.</strong>" in survey._repr_html_()
    page = survey.page()
    assert (page.title, page.tone, page.verdict) == ("What did people say?", "open", "3 people answered.")
    assert page.lead == ("Doubt: few answered.",)
    assert "What did people say?" in (survey.to_html() or "")
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(survey)


def test_a_result_without_a_sentence_says_so() -> None:
    class Unknown(Result):
        pass

    with pytest.raises(NotImplementedError, match="a Unknown has no sentence"):
        Unknown().sentence()
