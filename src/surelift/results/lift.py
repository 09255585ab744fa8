"""A certified lift in the words of the reward: at least 48% more clicks."""

from dataclasses import dataclass

from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import rounded

ZERO_IS_NONE = "0 is a true zero of the {kind}, so that percentages of it are meaningful"
# Columns of rewards that count something, and words that stand for an amount.
COUNTED = {
    "booking": "bookings", "buy": "buys", "click": "clicks", "clicked": "clicks", "clicks": "clicks",
    "conversion": "conversions", "converted": "conversions", "download": "downloads", "install": "installs",
    "like": "likes", "order": "orders", "play": "plays", "purchase": "purchases", "sale": "sales", "sales": "sales",
    "share": "shares", "signup": "signups", "stream": "streams", "view": "views", "visit": "visits",
}  # fmt: skip
AMOUNTS = {"reward", "revenue", "profit", "cost", "latency", "time"}


@dataclass(frozen=True, slots=True)
class Measured:
    """What an improvement is an improvement of."""

    column: str = ""
    kind: str = "reward"
    """Or cost, of which less is better."""
    sums_up: bool = True
    """Whether shares are those of the total; not where clusters of unequal sizes count once each."""

    def lift(self, lower: float | None, over: str) -> str:
        """A certified share in words, rounded down; empty where it is below 0.1%, or not one of the total.

        >>> Measured("click").lift(0.4897, "production")
        'at least 48% more clicks than production'
        """
        if lower is None or lower < 0.001 or not self.sums_up or not self.column:
            return ""
        share = rounded(100.0 * lower, 0 if lower >= 0.1 else 1, towards="down")
        word, counted = self.column.lower(), COUNTED.get(self.column.lower())
        less = "fewer" if counted else "less"
        noun = counted or (word if word in AMOUNTS else quoted(self.column))
        return f"at least {share}% {'more' if self.kind == 'reward' else less} {noun} than {baseline_name(over)}"
