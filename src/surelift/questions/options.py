"""The numbers that questions share, checked once."""

from surelift.errors import UsageError, is_number


def check_delta(delta: float) -> float:
    if not (is_number(delta) and 0.0 < delta < 1.0):
        raise UsageError(f"delta, the chance of being wrong, must lie strictly between 0 and 1, but is {delta!r}.")
    return float(delta)


def check_margin(margin: float) -> float:
    if not (is_number(margin) and abs(margin) < float("inf")):
        raise UsageError(f"margin must be a finite number, but is {margin!r}.")
    return float(margin)
