"""What a bound promises, in words."""

from surelift.bounds.bound import Promise
from surelift.views.numbers import chance

# (one bound, several bounds); the gap is the probability.
_WORDS: dict[Promise, tuple[str, str]] = {
    "any number of looks": (
        "holds with probability {}, at any number of looks",
        "hold with probability {}, at any number of looks",
    ),
    "one look": (
        "holds with probability {}, at one look, with the number of rounds fixed in advance",
        "hold with probability {}, at one look, with the number of rounds fixed in advance",
    ),
    "asymptotic": ("aims for probability {}, only asymptotically", "aim for probability {}, only asymptotically"),
    "none": ("aims for probability {}, without a proof", "aim for probability {}, without a proof"),
}


def one_holds(promise: Promise, delta: float, method: str = "") -> str:
    """Of a single bound.

    >>> one_holds("any number of looks", 0.05, "mixture")
    'holds with probability 0.95, at any number of looks (mixture)'
    """
    return _WORDS[promise][0].format(chance(delta)) + (f" ({method})" if method else "")


def all_hold(promise: Promise, delta: float) -> str:
    """Of several bounds together."""
    return _WORDS[promise][1].format(chance(delta))


def certifies(promise: Promise) -> bool:
    return promise in ("any number of looks", "one look")
