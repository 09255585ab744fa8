"""Are these logs fit for a guarantee, are their propensities right, and how much can they say about each policy?"""

from collections.abc import Sequence
from typing import Any

from surelift.decisions.asking import Progress, before_sampling, require_logs
from surelift.decisions.findings import (
    about_copies,
    about_drift,
    about_propensities,
    about_rounding,
    about_rounds,
    about_tests,
    all_about_weights,
    weight_health,
)
from surelift.decisions.segments import check_by
from surelift.engines import collect
from surelift.errors import LogsError, UsageError, is_number
from surelift.evidence.oddities import Copies, DailyRewards, Rounding, Tails
from surelift.evidence.propensities import BY_DAY, Family, PropensityTests
from surelift.logs.batch import Needs
from surelift.logs.logs import Logs
from surelift.policies.resolve import name_policies
from surelift.results.health import Health
from surelift.results.weights import WeightHealth
from surelift.statistics import Plan, Sums
from surelift.statistics.reading import Reading
from surelift.statistics.segments import MOST, codes_of, day_codes


def check(
    logs: Logs,
    policies: Any = None,
    *,
    level: float = 0.001,
    by: str | Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Health:
    """Read every round once and say what is wrong with the logs, and what the weights of each policy look like.

    The propensities are tested overall, by action, by day where ``time`` says it, and by the columns in ``by``, known
    before the action. If they are right, the chance of any refusal by these tests is at most ``level``, however often one
    looks at a list of segments that does not grow. With production's whole distribution (``logging``) they are tested in
    both directions, else only for being too small, by the candidates' weights and by the number of actions where it is
    declared.

    >>> check(Logs(reward=[0, 1], propensity=[0.5, 1.2])).ok
    False
    """
    require_logs(logs)
    if not (is_number(level) and 0.0 < level < 1.0):
        raise UsageError(f"level, the chance of a false alarm, must lie strictly between 0 and 1, but is {level!r}.")
    named = {} if policies is None else name_policies(policies)
    columns = [by] if isinstance(by, str) else by or ()
    if not isinstance(columns, Sequence):
        raise UsageError(f"by must name a column of segments, or list several, but is a {type(by).__name__}.")
    for column in columns:
        check_by(logs, column, None, named)
    look = _Look(logs, columns, list(named))
    sums = collect(logs, Plan(named), besides=Needs(read=tuple(columns)), look=look, progress=progress)
    fit = sums.units > 0 and not sums.invalid
    findings = list(about_rounds(logs, sums))
    weights: dict[str, WeightHealth] = {}
    if fit:
        sums = before_sampling(logs, sums)
        weights = {
            name: weight_health(name, sums.weights[name], sums.units, look.tails[name], logs.scale) for name in named
        }
        findings += [
            *about_propensities(look.tests.found(level=level), look.tests.evidence()),
            *about_rounding(look.rounding, sums.logging.smallest_propensity),
            *about_copies(look.copies),
            *about_drift(look.course),
            *all_about_weights(weights, sums, logs.declaration.counted),
            *about_tests(look.tests.evidence(), sampled=logs.declaration.keep_probability is not None),
        ]
    return Health(
        rounds=sums.rows,
        findings=tuple(findings),
        weights=weights,
        evidence=tuple(look.tests.evidence()) if fit else (),
        mean_reward=logs.scale.value(look.earned(sums)) if fit else None,
        smallest_propensity=sums.logging.smallest_propensity if fit else None,
        kind="cost" if logs.scale.is_cost else "reward",
    )


class _Look:
    """All that an examination keeps of the batches it is shown."""

    def __init__(self, logs: Logs, columns: Sequence[str], policies: Sequence[str]) -> None:
        self._columns = columns
        self._seen: dict[str, set[str]] = {column: set() for column in columns}
        # Rounds that were kept by what happened in them say nothing about the propensities.
        self._sampled = logs.declaration.keep_probability is not None
        self._clustered = None if logs.declaration.cluster is None else 0.0
        self.tests = PropensityTests(logs.declaration.actions)
        self.copies, self.course, self.rounding = Copies(), DailyRewards(), Rounding()
        self.tails = {name: Tails() for name in policies}

    def earned(self, sums: Sums) -> float:
        """By a round, on [0, 1]: where rounds come in clusters, by each of them alike."""
        return sums.logging.rewards / sums.units if self._clustered is None else self._clustered / sums.rows

    def __call__(self, reading: Reading) -> None:
        rounds = reading.rounds
        if self._clustered is not None:
            self._clustered += float(rounds.reward.sum())
        days = day_codes(rounds)
        if not self._sampled:
            families = {Family("column", column): codes_of(rounds, column) for column in self._columns}
            self.tests.add(reading, families if days is None else {**families, BY_DAY: days})
            for column, names in self._seen.items():
                names.update(families[Family("column", column)][1])
                if len(names) > MOST:
                    raise LogsError(f"by {column!r} has more than {MOST:,} segments; group them beforehand into few.")
            if not rounds.declaration.density:
                self.rounding.add(rounds.propensity)
        if days is not None and rounds.clusters is None:
            self.course.add(rounds.reward, *days)
        self.copies.add(reading)
        for name, tails in self.tails.items():
            tails.add(reading.weights[name].weight, rounds)
