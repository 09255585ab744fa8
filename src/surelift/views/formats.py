"""Names and numbers as people read them: names are made safe, lower bounds are rounded down and upper bounds up."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

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


def decimals_for(width: float) -> int:
    """Enough decimals to show two or three digits of an interval's width.

    >>> decimals_for(0.016), decimals_for(2.5)
    (4, 2)
    """
    if not (width > 0 and math.isfinite(width)):
        return 4
    return min(max(2 - math.floor(math.log10(width)), 2), 12)


def rounded(number: float, decimals: int, *, towards: str = "nearest", sign: bool = False) -> str:
    """A number in fixed point, rounded down for a lower bound and up for an upper one.

    >>> rounded(0.12349, 3, towards="down"), rounded(0.1231, 3, towards="up"), rounded(0.5, 2, sign=True)
    ('0.123', '0.124', '+0.50')
    """
    if not math.isfinite(number):
        return f"{number:+g}" if sign else f"{number:g}"
    mode = {"down": ROUND_FLOOR, "up": ROUND_CEILING, "nearest": ROUND_HALF_EVEN}[towards]
    shown = Decimal(number).quantize(Decimal(1).scaleb(-decimals), rounding=mode, context=Context(prec=400))
    shown = abs(shown) if shown == 0 else shown
    return f"{shown:+,f}" if sign else f"{shown:,f}"


def between(lower: float, upper: float, decimals: int) -> str:
    """An interval of improvements, never narrower than it is."""
    low, high = rounded(lower, decimals, towards="down", sign=True), rounded(upper, decimals, towards="up", sign=True)
    return f"{low} to {high}"


def chance(delta: float) -> str:
    """The probability 1 - delta, never overstated.

    >>> chance(0.05), chance(0.05 / 3), chance(1e-8)
    ('0.95', '0.9833', '0.99999999')
    """
    decimals = max(2, 2 - math.floor(math.log10(delta)))
    return rounded(1.0 - delta + 1e-15, decimals, towards="down").rstrip("0").rstrip(".")


def plain(number: float) -> str:
    """A number that someone chose, such as a margin, as they wrote it."""
    return f"{number + 0.0:.12g}"


def approximate(number: int) -> str:
    """A count rounded to two digits, which is all a forecast can tell.

    >>> approximate(87), approximate(12_345)
    ('87', '12,000')
    """
    return f"{number:,}" if number < 100 else f"{round(number, 2 - len(str(number))):,}"


def at_least(number: float) -> str:
    """Three digits of a positive number, never overstated.

    >>> at_least(19.96), at_least(5.146e72)
    ('19.9', '5.14e+72')
    """
    if number > 0.0 and math.isfinite(number):
        number = float(Decimal(number).normalize(Context(prec=3, rounding=ROUND_FLOOR)))
    return f"{number:.3g}"
