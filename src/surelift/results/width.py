"""Why upper bounds lie further from their estimates than lower ones, and what would narrow them."""

from collections.abc import Collection

from surelift.results.improvement import Improvement

# How many times further most of them must lie for an explanation.
FURTHER = 1.5
# Rewards are rare where production earns less than this share of what is possible; support is missing where the mean
# weight is below the other.
RARE, SUPPORTED = 0.25, 0.9


def upper_explained(improvements: Collection[Improvement], *, earned: float | None, listed: bool) -> str:
    """Empty where upper bounds are about as near as lower ones, or far for another reason.

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
