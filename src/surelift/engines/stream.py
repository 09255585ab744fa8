"""The embedded engine: one batch after the other, in this process, in memory that does not grow with the log."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies import Policy
from surelift.statistics.adding import add_up, read_policies
from surelift.statistics.efron_stein import WholeLog
from surelift.statistics.plan import Plan
from surelift.statistics.sums import Sums


def known_distributions(logs: Logs, policies: Mapping[str, Policy]) -> frozenset[str]:
    """The policies whose probabilities are known for every action, as production's are: a look at the first batch."""
    if logs.logging is None:
        return frozenset()
    needs = Needs()
    for policy in policies.values():
        needs = needs + policy.needs(logs)
    for batch in logs.batches(needs):
        rounds = Rounds(logs, batch)
        found = {name: policy.probabilities(rounds, f"policy {name!r}") for name, policy in policies.items()}
        if rounds.faults.tallies:
            break
        return frozenset(name for name, one in found.items() if one.vectors is not None)
    return frozenset(policies)  # the log will be refused, for a better reason


def collect(logs: Logs, plan: Plan, *, progress: Callable[[int], None] | None = None) -> Sums:
    """Add up the plan over all rounds; ``progress`` is told the rows read so far."""
    needs = Needs()
    for policy in plan.policies.values():
        needs = needs + policy.needs(logs)
    sums = Sums()
    whole = {term.candidate: WholeLog() for term in plan.terms if term.needed.efron_stein is not None}
    for batch in logs.batches(needs):
        rounds = Rounds(logs, batch)
        probabilities = read_policies(rounds, plan)
        sums = sums + add_up(rounds, plan, probabilities)
        for name, kept in whole.items():
            kept.add(rounds, probabilities[name], name)
        if progress is not None:
            progress(sums.rows)
    if not whole or sums.invalid or sums.rows == 0:
        return sums
    asked = {term.candidate: one for term in plan.terms if (one := term.needed.efron_stein) is not None}
    return replace(sums, proxies={name: kept.proxies(asked[name]) for name, kept in whole.items()})
