"""Numbers as people read them: bounds rounded away from what they promise, never towards it."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal


def decimals_for(width: float) -> int:
    """So many decimals that an interval of this width shows two or three digits of it.

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
    mode = {"down": ROUND_FLOOR, "up": ROUND_CEILING, "nearest": ROUND_HALF_EVEN}[towards]
    shown = Decimal(number).quantize(Decimal(1).scaleb(-decimals), rounding=mode, context=Context(prec=400))
    shown = abs(shown) if shown == 0 else shown
    return f"{shown:+,f}" if sign else f"{shown:,f}"
