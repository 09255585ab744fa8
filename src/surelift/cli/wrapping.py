"""Text in lines of a terminal's width."""

import re

# What is not broken: a command up to the end of its line, what is in quotes, a flag with its placeholder, a word.
_PIECE = re.compile(
    r"""(?: (?<=:\ )(?:surelift|pip|cat)\ .*$
          | (?<!\w)'[^']*'(?!\w) | (?<!\w)"[^"]*"(?!\w)
          | --[a-z-]+\ (?:[A-Z][A-Z=,.]+|\.\.\.)
          | \S )+""",
    re.VERBOSE,
)


def wrapped(text: str, width: int) -> str:
    """The text with line breaks between words; its own breaks and indents stay, and bullets hang.

    >>> print(wrapped("Certificate written; confirm it with: surelift verify c.json SOURCE", 30))
    Certificate written; confirm
    it with:
    surelift verify c.json SOURCE
    """
    rows: list[str] = []
    for line in text.split("\n"):
        bare = line.lstrip().removeprefix("- ")
        begin = line[: len(line) - len(bare)] if len(line) > width else line
        rows.append(begin)
        blank = ""
        for piece in _PIECE.findall(line, len(begin)):
            if blank and len(rows[-1]) + 1 + len(piece) > width:
                rows.append(" " * len(begin) + piece)
            else:
                rows[-1] += blank + piece
            blank = " "
    return "\n".join(rows)
