"""Names as they come from other people's files, made harmless for whoever reads them."""

LONGEST = 40


def visible(name: object) -> str:
    """A name in which nothing is hidden: what does not print is written out.

    >>> visible("a\\x1b[31mb\\u202ec")
    'a\\\\x1b[31mb\\\\u202ec'
    """
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in str(name))


def short(name: object) -> str:
    """The same for a place with little room: the middle of a long name is left out."""
    whole = visible(name)
    half = LONGEST // 2
    return whole if len(whole) <= LONGEST else f"{whole[: half - 1]}…{whole[-half:]}"


def quoted(name: object) -> str:
    """A name in a sentence, in quotes; of a very long one the middle is left out."""
    text = str(name)
    return repr(text) if len(text) <= 2 * LONGEST else repr(f"{text[: LONGEST - 1]}…{text[-LONGEST:]}")


def harmless(text: str) -> str:
    """A text for a terminal: lines stay lines, and no control character gets through."""
    return "\n".join(visible(line) for line in text.split("\n"))


def cell(value: object) -> object:
    """A value for a cell of CSV: a text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if shown.lstrip()[:1] in ("=", "+", "-", "@") else shown
