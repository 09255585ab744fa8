"""One pass over the logs before learning: the feature layout, the number of actions, fingerprints, invalid rounds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from surelift.errors import LogsError, UsageError
from surelift.learning.data.feature_survey import FeatureSurvey, Standardizer
from surelift.learning.data.features import FeatureLayout
from surelift.learning.data.fingerprints import fingerprint_of_all, fingerprint_of_decisions
from surelift.learning.data.rounds import split_batches
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.columns import decode, is_list, is_text
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import action_counts, require_action, require_action_count

SUBJECT = "a policy to learn"


class LogSurvey(NamedTuple):
    layout: FeatureLayout
    actions: int
    decisions: tuple[Fingerprint, ...]
    """For each part of the logs, the fingerprint of rewards, propensities and actions."""
    contents: tuple[Fingerprint, ...]
    """For each part, the fingerprint of the contexts too."""

    @property
    def all_decisions(self) -> Fingerprint:
        return sum(self.decisions, Fingerprint())

    @property
    def all_contents(self) -> Fingerprint:
        return sum(self.contents, Fingerprint())


def survey(
    logs: Logs,
    *,
    intercept: bool,
    cuts: Sequence[int] = (),
    layout_from_first_part: bool = False,
    standardise: bool = False,
) -> LogSurvey:
    """Survey logs whose parts begin at ``cuts``; with ``standardise``, by the mean and deviation of the first part.

    Invalid rounds are counted over the whole log before they are reported.
    """
    require_learnable(logs)
    contexts = logs.declaration.contexts or ()
    features, standardizer = FeatureSurvey(contexts, intercept=intercept), Standardizer()
    decisions, contents = ([Fingerprint()] * (len(cuts) + 1) for _ in range(2))
    counts, rows = set[int](), 0
    invalid: Mapping[Fault, Tally] = {}
    for part, batch in split_batches(logs.batches(Needs(handed_on=contexts)), cuts):
        rounds = Rounds(logs, batch)
        table = rounds.handed_on(contexts)
        _check_numbers(rounds, table)
        rows += rounds.size
        invalid = merge_tallies(invalid, rounds.faults.tallies)
        if rounds.faults.tallies:
            continue
        if part == 0 or not layout_from_first_part:
            features.update(table)
        if part == 0 and standardise:
            standardizer.update(table, features.numeric())
        counts |= set(np.unique(action_counts(rounds)).astype(int).tolist())
        decisions[part] += fingerprint_of_decisions(rounds)
        contents[part] += fingerprint_of_all(rounds, contexts)
    refuse_faults(invalid, rows=rows)
    if not counts:
        raise LogsError("these logs are empty: there are no rounds to learn from.")
    if len(counts) > 1:
        raise LogsError(
            f"{SUBJECT} needs the same actions in every round, but their number varies: {sorted(counts)[:5]}."
        )
    layout = standardizer.standardised(features) if standardise else features.layout()
    return LogSurvey(layout, counts.pop(), tuple(decisions), tuple(contents))


def _check_numbers(rounds: Rounds, table: Any) -> None:
    for name in table.column_names:
        if not is_list(table[name]) and not is_text(decode(table[name])):
            numbers = rounds.plain_numbers(name)
            rounds.refuse(f"context {name!r}", faults.NULL, numbers.null, None)
            rounds.check_finite(numbers.values, f"context {name!r}", besides=numbers.null)


def require_learnable(logs: Logs) -> None:
    require_action(logs, SUBJECT)
    require_action_count(logs, SUBJECT)
    if not logs.declaration.contexts:
        raise UsageError(f"{SUBJECT} needs contexts: name their columns in contexts=.")
    for name in ("cluster", "keep_probability", "embedding"):
        if getattr(logs.declaration, name) is not None:
            raise UsageError(f"policies cannot be learned from logs with {name}=; use the rounds as they were logged.")
