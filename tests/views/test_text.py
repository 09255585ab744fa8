"""Text for a terminal of 80 columns."""

from surelift.views.figures import Interval, Intervals
from surelift.views.text import aligned, doubt_lines, figure_lines, lines, wrap


def test_prose_is_wrapped_and_tables_are_not() -> None:
    prose, row = "word " * 30, "  cell" + "  cell" * 30
    assert all(len(line) <= 80 for line in wrap(prose.strip()).splitlines())
    assert wrap(row) == row


def test_words_about_a_number_continue_below_themselves() -> None:
    wrapped = wrap(f"  lower bound   +0.1   holds {'with probability ' * 5}").splitlines()
    assert len(wrapped) == 2
    assert wrapped[1].startswith(" " * wrapped[0].index("holds") + "with")


def test_the_first_column_is_aligned_left_and_the_others_right() -> None:
    assert aligned([("policy", "n"), ("a", "1,000")]) == ["  policy      n", "  a       1,000"]


def test_lines_skip_what_is_empty() -> None:
    assert lines("a", [], "", ["b", ""]) == "a\nb"
    assert doubt_lines(["x", "x"]) == ["Doubt: x."]


def test_names_in_a_table_are_quoted() -> None:
    assert figure_lines(Intervals("value", (Interval("a", 0.5, None, None),)))[1].split()[0] == "'a'"
