"""Outcomes as flags: a column, what is claimed of it, its range, and whether less is better."""

from typing import TYPE_CHECKING, Annotated

from surelift.cli.flag import QUESTION, flag, number
from surelift.errors import UsageError

if TYPE_CHECKING:
    from surelift.results.outcomes import Outcome

CLAIM = "at-least=X (better by at least X), at-most-worse=X, range=LOW,HIGH (by default 0,1) and cost (less is better)"
OutcomeFlag = Annotated[
    list[str] | None,
    flag(
        "[NAME=]COL[:CLAIM]",
        f"Judge by this column beside the reward (compare and monitor: instead of it). After colons: {CLAIM}. Delta is "
        f"split "
        "evenly over the outcomes, and certified means that every claim holds. Repeatable.",
        group=QUESTION,
    ),
]
_AMOUNTS = {"at-least": "at_least", "at-most-worse": "at_most_worse"}


def parse_outcome(text: str, named: str) -> "Outcome":
    """Parse COL:at-least=X or COL:at-most-worse=X, with range=LOW,HIGH and cost as further parts.

    >>> parse_outcome("usd:at-least=0.05:range=0,2:cost", "--outcome")
    Outcome(column='usd', at_least=0.05, at_most_worse=None, range=(0.0, 2.0), cost=True)
    """
    from surelift.results.outcomes import Outcome

    column, *parts = text.split(":")
    claim: dict[str, float] = {}
    limits, cost = (0.0, 1.0), False
    given = [part.partition("=")[0] for part in parts]
    if twice := next((name for name in given if given.count(name) > 1), None):
        raise UsageError(f"{named} {text}: {twice} is given twice.")
    for part in parts:
        name, _, value = part.partition("=")
        if part == "cost":
            cost = True
        elif name in _AMOUNTS:
            claim[_AMOUNTS[name]] = number(value, f"{named} {text}")
        elif name == "range" and value.count(",") == 1:
            low, high = value.split(",")
            limits = (number(low, f"{named} {text}"), number(high, f"{named} {text}"))
        else:
            raise UsageError(f"{named} {text}: {part!r} cannot be read; give COL, and after colons {CLAIM}.")
    if not column:
        raise UsageError(f"{named} takes COL, and after colons {CLAIM}; not {text!r}.")
    return Outcome(column, **claim, range=limits, cost=cost)


def parse_outcomes(texts: list[str]) -> "dict[str, Outcome]":
    """Parse several as [NAME=]COL:...

    >>> list(parse_outcomes(["quality:at-least=0.01", "price=usd:cost"]))
    ['quality', 'price']
    """
    outcomes: dict[str, Outcome] = {}
    for text in texts:
        head, colon, rest = text.partition(":")
        name, equals, column = head.partition("=")
        if not name:
            raise UsageError(f"--outcome {text}: the outcome has no name; give NAME=COL:... or COL:...")
        if name in outcomes:
            raise UsageError(f"--outcome names {name!r} twice; give each outcome a name of its own, NAME=COL:...")
        outcomes[name] = parse_outcome(f"{column if equals else head}{colon}{rest}", "--outcome")
    return outcomes
