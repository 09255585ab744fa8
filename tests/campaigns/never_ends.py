"""A campaign for the test of the runner, to be killed."""

import time

from campaigns.campaign import Case

SLICE, FULL = 2, 2


def case(case: Case) -> str | None:
    time.sleep(600)
    return None
