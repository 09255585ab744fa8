"""From the rounds of one batch to their sums: every statistic of a plan, in every group of its key."""

from typing import Any

from surelift.logs.rounds import Rounds
from surelift.statistics.groups import groups_of
from surelift.statistics.plan import Plan, Request
from surelift.statistics.reading import Reading
from surelift.statistics.sums import Sums


def accumulate(reading: Reading, plan: Plan) -> Sums:
    """A batch with faults adds nothing but their count, and will be refused."""
    rounds = reading.rounds
    groups = {key: groups_of(key, rounds) for key in plan.keys}
    if not reading.fit:
        return unfit(rounds, plan)
    readings = {outcome: reading.judged_by(outcome) for outcome in (None, *plan.outcomes)}
    states: dict[Request, Any] = dict.fromkeys(plan.requests)
    for requests in plan.shared:
        first, of_key = requests[0], groups[requests[0].key]
        statistics = [request.statistic for request in requests]
        found = first.statistic.of_all(statistics, readings[first.outcome], of_key)
        for request, of_request in zip(requests, found, strict=True):
            states[request] = dict(zip(of_key.values, of_request, strict=True))
    return Sums(rounds.size, states, {}, rounds.hashes.fingerprint(), rounds.left_out, rounds.excluded)


def unfit(rounds: Rounds, plan: Plan) -> Sums:
    states: dict[Request, Any] = {request: {} for request in plan.requests}
    return Sums(rounds.size, states, rounds.faults.tallies, left_out=rounds.left_out, excluded=rounds.excluded)
