"""A campaign for the test of the runner: some cases are wrong, one kills its process, and some are judged at the end."""

import os
from collections.abc import Iterator, Sequence

from campaigns.campaign import Case, Told

SLICE, FULL = 4, 8


def case(case: Case) -> str | Told | None:
    if case.number == 2:
        return f"drew {case.chance.random():.6f}"
    if case.number == 3:
        raise ValueError("a raw error")
    if case.number == 4:
        os._exit(9)
    return Told("law", False) if case.number == 5 else None


def judge(told: Sequence[Told]) -> Iterator[str]:
    if told:
        yield f"{len(told)} outside"
