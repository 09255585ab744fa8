"""Does a column of segments tell of the action? A segment must be known before it."""

import math
from collections.abc import Mapping

from surelift.evidence.propensities import LARGEST_LOG, Evidence, Family
from surelift.statistics.restricted import Taken

TOLD = "told"


def telling_evidence(column: str, segments: Mapping[str, Taken], *, level: float, among: int | None = None) -> Evidence:
    """Against "known before the action, with right propensities": the mean of the e-values of all segments.

    ``observed`` is the share of segments, or of rounds where it is larger, in which there is evidence; ``expected`` the
    chance, per round of the strongest segment, of what always happened there.
    """
    count = among or len(segments)
    logs = {name: min(taken.log_e_value(), LARGEST_LOG) for name, taken in segments.items()}
    strongest = max(logs, key=lambda name: logs[name])
    found = [name for name, log in logs.items() if log >= math.log(count / level)]
    rounds = {name: taken.rounds for name, taken in segments.items()}
    share = max(len(found) / count, sum(rounds[name] for name in found) / sum(rounds.values()))
    e_value = sum(math.exp(log - math.log(count)) for log in logs.values())
    seen = segments[strongest].seen
    bet = "one action was" if seen == 1 else f"{seen} actions were"
    chance = math.exp(-segments[strongest].log_e_value() / rounds[strongest])
    return Evidence(Family(TOLD, column), strongest, e_value, bet, rounds[strongest], share, chance)
