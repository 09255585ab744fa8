"""How often to redraw: an option of the bounds that simulate."""

from surelift.errors import UsageError, is_number


def check_draws(draws: int | None, default: int) -> int:
    if draws is None:
        return default
    if not is_number(draws) or draws != int(draws) or draws < 2:
        raise UsageError(f"draws must be a whole number of at least 2, but is {draws!r}.")
    return int(draws)
