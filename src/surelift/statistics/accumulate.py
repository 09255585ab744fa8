"""From the rounds of one batch to their sums: every statistic of a plan, in every group of its key."""

from surelift.logs.rounds import Rounds
from surelift.statistics.groups import groups_of
from surelift.statistics.plan import Plan
from surelift.statistics.reading import Reading
from surelift.statistics.sums import Sums


def accumulate(reading: Reading, plan: Plan) -> Sums:
    """A batch with faults adds nothing but their count, and will be refused."""
    rounds = reading.rounds
    groups = {key: groups_of(key, rounds) for key in plan.keys}
    if not reading.fit:
        return unfit(rounds, plan)
    readings = {outcome: reading.judged_by(outcome) for outcome in (None, *plan.outcomes)}
    states = {}
    for request in plan.requests:
        of_key = groups[request.key]
        found = request.statistic.of(readings[request.outcome], of_key)
        states[request] = dict(zip(of_key.values, found, strict=True))
    return Sums(rows=rounds.size, states=states, fingerprint=rounds.hashes.fingerprint())


def unfit(rounds: Rounds, plan: Plan) -> Sums:
    return Sums(rows=rounds.size, states={request: {} for request in plan.requests}, invalid=rounds.faults.tallies)
