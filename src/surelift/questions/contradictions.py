"""Bounds that contradict each other or the range: with right logs that takes a bound that fails."""

from surelift.errors import LogsError


def refuse_contradiction(
    lower: float, upper: float, *, possible: tuple[float, float], subject: str, mean_weight: float
) -> None:
    least, most = possible
    rounding = 1e-9 * (most - least)
    if lower <= most + rounding and upper >= least - rounding and lower <= upper + rounding:
        return
    raise LogsError(
        f"{subject}: the bounds contradict each other, at least {lower:.6g} and at most {upper:.6g}, where only "
        f"[{least:.6g}, {most:.6g}] is possible.\nWith right logs one of the two would have to fail. The mean weight is "
        f"{mean_weight:.4g}; it is at most about 1 when everything is right. If other candidates have it near 1, this "
        "column does not hold probabilities of the logged action (scores, or predicted rewards?); otherwise suspect the "
        "propensities: they must be those of the action really taken, from the policy version that took it, after "
        "business rules."
    )
