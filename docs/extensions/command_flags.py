"""``{flags}``: the flags that commands share, by group; ``{flags} compare``: those of one command.

They are read from the command line itself, so the page says what ``--help`` says.
"""

import re
from collections import Counter
from functools import cache
from inspect import Signature
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from surelift.cli.app import app as command_line

GROUPS = ["Arguments", "The log", "The log, more", "The policies", "The question", "The answer", "Output"]
# A flag of at least so many commands, with the same meaning in all of them, is explained once.
SHARED_BY = 3


class Flag(NamedTuple):
    group: str
    names: str
    meaning: str


@cache
def flags_of(command: str) -> tuple[Flag, ...]:
    found = []
    for argument in command_line[command].assemble_argument_collection():
        if argument.show and argument.parameter.help:
            names = [name for name in argument.names if not name.startswith(("--no-", "--empty-"))]
            names[0] = f"{names[0]} {argument.parameter.metavar or ''}".strip()
            default = argument.field_info.default
            hidden = argument.parameter.show_default is False or default in (None, Signature.empty)
            shown = "" if hidden else f" Default: `{default}`."
            written = ", ".join(f"`{name}`" for name in names)
            found.append(Flag(argument.parameter.group[0].name, written, argument.parameter.help + shown))
    return tuple(found)


def command_names() -> list[str]:
    return [name for name in command_line if not name.startswith("-")]


@cache
def shared_flags() -> tuple[Flag, ...]:
    counts = Counter(flag for command in command_names() for flag in flags_of(command))
    shared = [flag for flag, count in counts.items() if count >= SHARED_BY]
    return tuple(sorted(shared, key=lambda flag: GROUPS.index(flag.group) if flag.group in GROUPS else len(GROUPS)))


def anchor(group: str) -> str:
    return "flags-" + re.sub(r"\W+", "-", group.lower())


def table(flags: list[Flag]) -> str:
    lines = ["| flag | meaning |", "|---|---|"]
    for _, names, meaning in flags:
        meaning = re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", meaning)
        names, meaning = (part.replace("|", r"\|") for part in (names, meaning))
        lines.append(f"| {names} | {meaning} |")
    return "\n".join(lines)


class Flags(SphinxDirective):
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        text = self.of_command() if self.arguments else self.of_all()
        shown = self.parse_text_to_nodes(text, allow_section_headings=True)
        for part in shown:
            for found in part.findall(nodes.table):
                found["classes"].append("fields")
        return shown

    def of_all(self) -> str:
        groups: dict[str, list[Flag]] = {}
        for flag in shared_flags():
            groups.setdefault(flag.group, []).append(flag)
        return "\n\n".join(f"({anchor(group)})=\n### {group}\n\n{table(flags)}" for group, flags in groups.items())

    def of_command(self) -> str:
        (command,) = self.arguments
        shared = set(shared_flags())
        own = [flag for flag in flags_of(command) if flag not in shared]
        groups = dict.fromkeys(flag.group for flag in shared_flags() if flag in flags_of(command))
        links = " · ".join(f"[{group}](#{anchor(group)})" for group in groups)
        told = f"Shared flags: {links}" if links else ""
        return "\n\n".join(filter(None, [table(own) if own else "", told]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("flags", Flags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
