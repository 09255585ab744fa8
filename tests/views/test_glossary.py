"""Every way to declare a log is a word that ``surelift explain`` knows, and so is what people call it."""

from dataclasses import fields

import pytest

from surelift.cli.app import main
from surelift.cli.log_flags import LogFlags
from surelift.views.glossary import ALIASES, WORDS, word_for


@pytest.mark.parametrize("role", [field.name for field in fields(LogFlags) if field.name != "format"])
def test_what_is_declared_is_explained(role: str) -> None:
    assert word_for(role) in WORDS
    assert word_for(f"--{role.replace('_', '-')}") in WORDS


def test_other_words_lead_to_one_that_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(ALIASES.values()) <= set(WORDS)
    assert not set(ALIASES) & set(WORDS)
    assert main(["explain", "per", "cent"]) == 0
    assert capsys.readouterr().out.startswith("relative lift\n")
    assert word_for("astrology") is None
