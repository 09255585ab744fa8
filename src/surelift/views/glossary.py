"""The words used in answers, explained in ``glossary.txt``: a word with its synonyms in a line, and its meaning indented."""

import re
from pathlib import Path

ALIASES: dict[str, str] = {}
WORDS: dict[str, str] = {}
for _entry in re.split(r"\n(?=\S)", Path(__file__).with_name("glossary.txt").read_text(encoding="utf-8")):
    _words, _meaning = _entry.split("\n", 1)
    _word, *_synonyms = _words.split("; ")
    WORDS[_word] = " ".join(_meaning.split())
    ALIASES.update(dict.fromkeys(_synonyms, _word))


def word_for(topic: str) -> str | None:
    """The word that explains a topic, however it is spelled: as a flag, an argument, a plural or another word for it.

    >>> word_for("--settled-after"), word_for("loggers"), word_for("per cent")
    ('settled after', 'logger', 'relative lift')
    """
    spelled = " ".join(re.split(r"[-_\s]+", topic.strip().lower())).strip()
    known = {re.sub("[-_]", " ", word.lower()): word for word in WORDS} | ALIASES
    return next((known[form] for form in (spelled, spelled.removesuffix("s"), spelled + "s") if form in known), None)
