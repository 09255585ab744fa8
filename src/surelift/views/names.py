"""Names from other people's files, made safe to display."""

LONGEST = 40


def visible(name: object) -> str:
    """A name with every unprintable character escaped.

    >>> visible("a\\x1b[31mb\\u202ec")
    'a\\\\x1b[31mb\\\\u202ec'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(name))


def short(name: object, longest: int = LONGEST) -> str:
    """The same, at most ``longest`` characters: a long name loses its middle."""
    whole = visible(name)
    half = longest // 2
    return whole if len(whole) <= longest else f"{whole[: half - 1]}…{whole[-half:]}"


def quoted(name: object) -> str:
    """A name in quotes, for a sentence; a very long name loses its middle."""
    text = str(name)
    return repr(text) if len(text) <= 2 * LONGEST else repr(f"{text[: LONGEST - 1]}…{text[-LONGEST:]}")


def baseline_name(over: str) -> str:
    """The policy a candidate is compared with: production by its plain name, any other in quotes."""
    return "production" if over == "production" else quoted(over)


def harmless(text: str) -> str:
    """Text for a terminal: line breaks stay, control characters are escaped."""
    return "\n".join(visible(line) for line in text.split("\n"))


def cell(value: object) -> object:
    """A value for a CSV cell: text that a spreadsheet would run as a formula gets an apostrophe in front."""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if shown.lstrip()[:1] in ("=", "+", "-", "@") else shown
