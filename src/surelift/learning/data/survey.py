"""One pass over the logs before learning: the feature layout, the number of actions, fingerprints, invalid rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.errors import LogsError, UsageError
from surelift.learning.data.features import FeatureSurvey
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.data.rounds import SUBJECT, fingerprint_of_all, moved_cuts, needs_of, parts_of, require_learnable
from surelift.logs import faults
from surelift.logs.columns import decode, is_list, is_text
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.order import RowOrder, TimeOrder
from surelift.logs.seen import Contexts, HashSample, Origins
from surelift.statistics.memories import MOST_IDS, IdMemory, hashed_ids
from surelift.traits.logs import Logs


@dataclass
class LogSurvey:
    """What a pass over consecutive rounds leaves; the shares of several processes are added in their order."""

    features: FeatureSurvey
    origins: list[Origins]  # for each part of the logs, what tells its rounds again
    contents: list[Fingerprint]  # for each part, the fingerprint of all that was read
    cuts: list[int]  # where the parts but the first begin
    counts: set[int] = field(default_factory=set)  # of actions in a round
    rows: int = 0
    invalid: Mapping[Fault, Tally] = field(default_factory=dict)
    order: RowOrder = field(default_factory=RowOrder)
    before: str | None = None  # the row before the first
    last: str | None = None  # the last row
    ids: HashSample = field(default_factory=lambda: HashSample(MOST_IDS))  # where id= is declared

    @cached_property
    def layout(self) -> FeatureLayout:
        return self.features.layout()

    @property
    def actions(self) -> int:
        return min(self.counts)

    @property
    def all_origins(self) -> Origins:
        return sum(self.origins, Origins())

    @property
    def identity(self) -> str:
        """The same rounds in other parts are other ones to learn from, and to be judged by."""
        return " ".join(map(str, self.contents))

    def __add__(self, later: "LogSurvey") -> "LogSurvey":
        if later.before is not None and later.before != self.last:
            raise UsageError("the processes do not have the same rounds and options; start all of them with the same.")
        return LogSurvey(
            self.features + later.features,
            [mine + theirs for mine, theirs in zip(self.origins, later.origins, strict=True)],
            [mine + theirs for mine, theirs in zip(self.contents, later.contents, strict=True)],
            self.cuts, self.counts | later.counts, self.rows + later.rows, merge_tallies(self.invalid, later.invalid),
            self.order + later.order, self.before, later.last or self.last, self.ids + later.ids,
        )  # fmt: skip

    def checked(self, logs: Logs) -> "LogSurvey":
        declared, problem = logs.declaration, ""
        if self.invalid:
            refuse_faults(self.invalid, rows=self.rows)
        if not self.counts:
            problem = "these logs are empty: there are no rounds to learn from."
        elif self.counts == {1}:
            problem = "every round has one action only, so there is nothing to choose, and nothing to learn."
        elif len(self.counts) > 1:
            several = sorted(self.counts)[:5]
            problem = f"{SUBJECT} needs the same actions in every round, but their number varies: {several}."
        if problem:
            raise LogsError(problem)
        for name, of_units in declared.ids:
            IdMemory(name, of_clusters=of_units).refuse_again(self.ids)
        if self.cuts and "time" not in declared.features:
            of, tests_action = declared.propensity.action, "estimated propensities" not in declared.features
            self.order.refuse_sorted(action=str(of), reward=declared.reward.name, tests_action=tests_action)
        if any(first >= last for first, last in pairwise((*self.cuts, self.rows))):
            raise UsageError(
                f"no rounds would be left to certify the policy on, or to learn from: rounds of one time {declared.time!r} "
                "stay together, and too many share one. Name a column of finer times, or change holdout= or prior_share=."
            )
        return self


def survey(
    logs: Logs, *, intercept: bool, cuts: Sequence[int] = (), first_part_only: bool = False, standardise: bool = False,
    others: Origins = Origins(),
) -> LogSurvey:  # fmt: skip
    """Survey logs whose parts begin at ``cuts``; with ``standardise``, by the mean and deviation of the first part.

    With ``first_part_only``, categories come from the first part too. Invalid rounds are counted over the whole log. Rounds
    are remembered such that they can be compared with ``others``. Parts must follow each other: times must ascend, and a cut
    moves to the next time; without times, rows must not be sorted.
    """
    from surelift.learning.training.processes import process_group  # imports torch, which reading alone does not need

    require_learnable(logs)
    processes, rows, moved = process_group(), logs.count(), list(cuts)
    options: dict[str, Any] = {
        "first_part_only": first_part_only, "standardise": standardise, "intercept": intercept,
        "remembered": tuple(dict.fromkeys((logs.contexts, *others.memories))),
    }  # fmt: skip
    if processes.count == 1:
        return _survey_share(logs, None, moved, **options).checked(logs)
    processes.require_equal("rounds and options", repr((logs.declaration.describe(), rows, moved, options)))
    moved, share = processes.together(lambda: moved_cuts(logs, cuts)), processes.share(rows)
    return reduce(add, processes.gather(lambda: _survey_share(logs, share, moved, **options))).checked(logs)


def _survey_share(
    logs: Logs, share: range | None, cuts: list[int], *, intercept: bool, first_part_only: bool, standardise: bool,
    remembered: Sequence[Contexts],
) -> LogSurvey:  # fmt: skip
    """Survey all rounds, or a share of them, whose cuts were moved already; the round before it shows how rows follow."""
    contexts, declared, parts = logs.contexts, logs.declaration, len(cuts) + 1
    features = FeatureSurvey(contexts, intercept=intercept)
    found = LogSurvey(features, [Origins()] * parts, [Fingerprint()] * parts, cuts)
    time_orders = [TimeOrder(time) for time in declared.times if cuts]
    for part, batch in parts_of(logs, needs_of(logs, remembered), found.cuts, share):
        rounds = Batch(logs, batch).read()
        rows = rounds.rows
        for order in time_orders:
            order.check(rows)
        if part < 0:
            found.before = str(batch.table.to_pylist())
            if rounds.fit:
                found.order.follow(*_followed(rounds))
            continue
        if share is not None:
            found.last = str(batch.table.slice(rounds.size - 1).to_pylist())
        table = rows.handed_on(contexts)
        for name in table.column_names:
            if not is_list(table[name]) and not is_text(decode(table[name])):
                numbers = rows.context_numbers(name)
                rows.refuse(f"context {name!r}", faults.NULL, numbers.null, None)
                rows.check_finite(numbers.values, f"context {name!r}", besides=numbers.null)
        found.rows += rounds.size
        found.invalid = merge_tallies(found.invalid, rows.tallies)
        if not rounds.fit:
            continue
        if part == 0 or not first_part_only:
            features.update(table)
        if part == 0 and standardise:
            features.standardise(table)
        for name, _ in declared.ids:
            found.ids += HashSample.of(hashed_ids(rows, name), MOST_IDS)
        found.counts |= set(np.unique(rounds.decisions.available(SUBJECT)).astype(int).tolist())
        found.order.add(*_followed(rounds))
        found.origins[part] += Origins.of(rows, rounds.decisions.taken, remembered)
        found.contents[part] += fingerprint_of_all(rounds, contexts)
    return found


def _followed(rounds: Batch) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    return rounds.reward, rounds.decisions.taken, rounds.propensity, rounds.decisions.available(SUBJECT)
