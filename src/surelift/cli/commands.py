"""What ``surelift --help`` says of the commands, read from ``commands.txt``; saying it loads none of them."""

import re
from pathlib import Path

# The verbs of one file.
QUESTIONS = ("compare", "select", "evaluate", "estimate", "gate", "report", "check", "simulate", "profile", "power")


def _unwrapped(text: str) -> str:
    """One line for each paragraph; what is indented stays as it is."""
    paragraphs = text.strip("\n").split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else " ".join(part.split()) for part in paragraphs)


_head, *_sections = re.split(
    r"^# ", Path(__file__).with_name("commands.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
)
HELP = _unwrapped(_head)
# By section and command.
SECTIONS: dict[str, dict[str, str]] = {}
# Two for each command: a simple one, and one as it is used.
EXAMPLES: dict[str, str] = {}
for _section in _sections:
    _title, *_commands = re.split(r"^## (\w+)\n", _section, flags=re.MULTILINE)
    SECTIONS[_title.strip()] = {}
    for _name, _text in zip(_commands[::2], _commands[1::2], strict=True):
        _help, _, _examples = _text.partition("\nExamples\n")
        SECTIONS[_title.strip()][_name], EXAMPLES[_name] = _unwrapped(_help), _examples.strip("\n")
