"""What bounds mean: a certified lift in the words of the reward, and why upper bounds lie further from their estimates."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surelift.views.formats import baseline_name, quoted, rounded

if TYPE_CHECKING:
    from surelift.results.improvement import Improvement

ZERO_IS_NONE = "0 is a true zero of the {kind}, so that percentages of it are meaningful"
# Columns of rewards that count something, and words that stand for an amount.
COUNTED = {
    "booking": "bookings", "buy": "buys", "click": "clicks", "clicked": "clicks", "clicks": "clicks",
    "conversion": "conversions", "converted": "conversions", "download": "downloads", "install": "installs",
    "like": "likes", "order": "orders", "play": "plays", "purchase": "purchases", "sale": "sales", "sales": "sales",
    "share": "shares", "signup": "signups", "stream": "streams", "view": "views", "visit": "visits",
}  # fmt: skip
AMOUNTS = {"reward", "revenue", "profit", "cost", "latency", "time"}
# Upper bounds are explained where most of them lie so many times further from their estimates than the lower ones.
FURTHER = 1.5
# Rewards are rare where production earns less than this share of what is possible; support is missing where the mean
# weight is below the other.
RARE, SUPPORTED = 0.25, 0.9


@dataclass(frozen=True, slots=True)
class Measured:
    """What an improvement is an improvement of."""

    column: str = ""
    kind: str = "reward"
    """The kind of column: reward, or cost, of which less is better."""
    sums_up: bool = True
    """Shares are those of the total; not so where clusters of unequal sizes count once each."""

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


def upper_explained(improvements: "Collection[Improvement]", *, earned: float | None, listed: bool) -> str:
    """Why upper bounds are far, and what would narrow them; empty where they are not, or far for another reason.

    ``earned`` is the share of the declared range that production earns; ``listed`` whether actions can be listed, and
    their probabilities were not logged.
    """
    further = [one for one in improvements if one.upper - one.estimate > FURTHER * (one.estimate - one.lower)]
    if len(further) * 2 <= len(improvements):
        return ""
    if any(one.mean_weight < SUPPORTED for one in further):
        return (
            "The upper bounds are far from the estimates because the mean weight is well below 1, as it is where production "
            "cannot take some of a candidate's actions: an upper bound must allow for the best outcome there. More rounds "
            "do not change that; rounds in which production explores these actions do."
        )
    if earned is None or earned > RARE:
        return ""
    cost = further[0].measured.kind == "cost"
    got, missed = ("costs that were avoided", "were not") if cost else ("rewards that were earned", "were missed")
    most = "Production's probabilities of all actions, logged with each round, would narrow them most. " if listed else ""
    return (
        f"The upper bounds are further from the estimates than the lower bounds. A lower bound rests on the {got}, an upper "
        f"bound on those that {missed}: here these are most rounds, and the noise of their weights counts in full. "
        f"{most}More rounds narrow both. Choosing a candidate rests on the lower bounds."
    )
