"""The flags of a bound: how sure it is, how it is made, and what narrows it."""

from typing import Any, Literal

from surelift.cli.flag import ANSWER, Flags, columns, flag, flags
from surelift.errors import UsageError


def control(text: str) -> Any:
    """The name of a control, or the predictions of a reward model."""
    kind, colon, column = text.partition(":")
    if kind != "model" or not colon:
        return text
    if not column:
        raise UsageError("--control model:COL names the column of expected rewards after the colon.")
    return predictions(column)


def predictions(text: str) -> Any:
    """Expected rewards in a column or columns, from a model fitted elsewhere."""
    from surelift.controls import models

    return models.given(columns(text))


def delta() -> Any:
    return flag("P", "The probability of error.", default=0.05, group=ANSWER)


def grid(**options: Any) -> Any:
    return flag("anytime|planned", "Smoothings to try: planned is for a single look.", default="anytime", **options)


@flags(ANSWER)
class GridFlags(Flags):
    delta: float = delta()
    grid: str = grid()


@flags(ANSWER)
class MethodFlags(Flags):
    delta: float = delta()
    method: str = flag("NAME", "The bound to use; see 'surelift explain'.", default="mixture")
    control: str = flag(
        "NAME", "What narrows the bound: auto, none, weights (needs whole distributions), model (a reward model refitted "
        "in the order of --time), or model:COL (a list column of expected rewards, from a model fitted elsewhere). With "
        "--score, auto is control by the score.", default="auto", read=control
    )  # fmt: skip
    grid: str = grid(read=lambda name: None if name == "anytime" else name)  # the default of the bounds that have one
    smoothing: float | None = flag("X", "A single smoothing, for methods that use one; by default 1/sqrt(rounds).")
    draws: int | None = flag("N", "Number of resamples, for methods that resample; by default 1000.")


@flags(ANSWER)
class ValueFlags(MethodFlags):
    order: int | None = flag("N", "Order of the method 'moments'; by default 2.")
    regularizer: str | None = flag("NAME:X", "Regularizer of the method 'moments', such as clipping:10 or shrinkage:5.")
    clip: float | None = flag("X", "Largest weight, for methods that clip; by default sqrt(rounds).")
    sides: Literal["both", "lower", "upper"] = flag(
        None, "Spend delta on both bounds or on one.", default="both", show_choices=True
    )
