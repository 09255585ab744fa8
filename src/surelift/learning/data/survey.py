"""One pass over the logs before learning: the feature layout, the number of actions, fingerprints, invalid rounds."""

import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise, product
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from surelift import capabilities
from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.errors import LogsError, UsageError
from surelift.learning.data.features import FeatureSurvey
from surelift.learning.data.layout import FeatureLayout
from surelift.logs import faults
from surelift.logs.batch import Needs, TableBatch
from surelift.logs.columns import decode, is_list, is_text
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.order import RowOrder, TimeOrder
from surelift.logs.seen import Contexts, HashSample, Origins
from surelift.statistics.memories import MOST_IDS, IdMemory, hashed_ids
from surelift.traits.logs import Logs

SUBJECT = "a policy to learn"


class LogSurvey(NamedTuple):
    layout: FeatureLayout
    actions: int
    origins: tuple[Origins, ...]  # for each part of the logs, what tells its rounds again
    contents: tuple[Fingerprint, ...]  # for each part, the fingerprint of all that was read
    cuts: tuple[int, ...]  # where the parts but the first begin

    @property
    def all_origins(self) -> Origins:
        return sum(self.origins, Origins())

    @property
    def identity(self) -> str:
        """The same rounds in other parts are other ones to learn from, and to be judged by."""
        return " ".join(map(str, self.contents))


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

    processes, rows, moved = process_group(), logs.count(), list(cuts)
    remembered = tuple(others.memories)
    options: dict[str, Any] = {"first_part_only": first_part_only, "standardise": standardise, "others": remembered}
    if processes.count == 1:
        found = _survey_share(logs, None, moved, intercept=intercept, **options)
    else:
        processes.require_equal("rounds and options", repr((logs.declaration.describe(), rows, intercept, moved, options)))
        moved = processes.together(lambda: _moved_cuts(logs, cuts, rows))
        share = processes.share(rows)
        shares = processes.gather(lambda: _survey_share(logs, share, moved, intercept=intercept, **options))
        found = reduce(add, shares)
    return found.checked(logs)


@dataclass(slots=True)
class SurveyedShare:
    """What a pass over consecutive rounds leaves; the shares of several processes are added in their order."""

    features: FeatureSurvey
    origins: list[Origins]
    contents: list[Fingerprint]
    cuts: list[int]
    counts: set[int] = field(default_factory=set)
    rows: int = 0
    invalid: Mapping[Fault, Tally] = field(default_factory=dict)
    order: RowOrder = field(default_factory=RowOrder)
    before: str | None = None  # the row before the first
    last: str | None = None  # the last row
    ids: HashSample = field(default_factory=lambda: HashSample(MOST_IDS))  # where id= is declared

    def __add__(self, later: "SurveyedShare") -> "SurveyedShare":
        if later.before is not None and later.before != self.last:
            raise UsageError("the processes do not have the same rounds and options; start all of them with the same.")
        return SurveyedShare(
            self.features + later.features,
            [mine + theirs for mine, theirs in zip(self.origins, later.origins, strict=True)],
            [mine + theirs for mine, theirs in zip(self.contents, later.contents, strict=True)],
            self.cuts, self.counts | later.counts, self.rows + later.rows, merge_tallies(self.invalid, later.invalid),
            self.order + later.order, self.before, later.last or self.last, self.ids + later.ids,
        )  # fmt: skip

    def checked(self, logs: Logs) -> LogSurvey:
        counts, declared = set(self.counts), logs.declaration
        if self.invalid:
            refuse_faults(self.invalid, rows=self.rows)
        problem = ""
        if not counts:
            problem = "these logs are empty: there are no rounds to learn from."
        elif counts == {1}:
            problem = "every round has one action only, so there is nothing to choose, and nothing to learn."
        elif len(counts) > 1:
            problem = f"{SUBJECT} needs the same actions in every round, but their number varies: {sorted(counts)[:5]}."
        if problem:
            raise LogsError(problem)
        for name, of_units in declared.ids:
            IdMemory(name, of_clusters=of_units).refuse_again(self.ids)
        if self.cuts and not declared.has("time"):
            of, tests_action = declared.propensity.action, not declared.has("estimated propensities")
            self.order.refuse_sorted(action=str(of), reward=declared.reward.name, tests_action=tests_action)
        if any(first >= last for first, last in pairwise((*self.cuts, self.rows))):
            raise UsageError(
                f"no rounds would be left to certify the policy on, or to learn from: rounds of one time {declared.time!r} "
                "stay together, and too many share one. Name a column of finer times, or change holdout= or prior_share=."
            )
        parts = tuple(self.origins), tuple(self.contents)
        return LogSurvey(self.features.layout(), counts.pop(), *parts, tuple(self.cuts))


def _survey_share(
    logs: Logs, share: range | None, cuts: list[int], *, intercept: bool, first_part_only: bool, standardise: bool,
    others: Sequence[Contexts],
) -> SurveyedShare:  # fmt: skip
    """Survey all rounds, or a share of them, whose cuts were moved already; the round before it shows how rows follow."""
    require_learnable(logs)
    contexts, declared, parts = logs.contexts, logs.declaration, len(cuts) + 1
    remembered = dict.fromkeys((contexts, *others))
    features = FeatureSurvey(contexts, intercept=intercept)
    found = SurveyedShare(features, [Origins()] * parts, [Fingerprint()] * parts, cuts)
    time_orders = [TimeOrder(time) for time in declared.times if cuts]
    for part, batch in _parts_of(logs, needs_of(logs, remembered), found.cuts, share):
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
            found.features.update(table)
        if part == 0 and standardise:
            found.features.standardise(table)
        for name, _ in declared.ids:
            found.ids += HashSample.of(hashed_ids(rows, name), MOST_IDS)
        found.counts |= set(np.unique(rounds.decisions.available(SUBJECT)).astype(int).tolist())
        found.order.add(*_followed(rounds))
        found.origins[part] += Origins.of(rows, rounds.decisions.taken, remembered)
        found.contents[part] += fingerprint_of_all(rounds, contexts)
    return found


def _followed(rounds: Batch) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    return rounds.reward, rounds.decisions.taken, rounds.propensity, rounds.decisions.available(SUBJECT)


def _parts_of(logs: Logs, needs: Needs, cuts: list[int], share: range | None) -> Iterator[tuple[int, TableBatch]]:
    """The batches with the number of their part; the round before a share is of part -1."""
    if share is None:
        batches = logs.batches(needs)
        for time in logs.declaration.times if cuts else ():
            batches = _between_times(batches, cuts, time)
        yield from split_batches(batches, cuts)
    elif len(share):
        lead = int(share.start > 0)
        begins = [max(cut - share.start, 0) + lead for cut in cuts]
        for part, batch in split_batches(logs.part(share.start - lead, share.stop).batches(needs), (lead, *begins)):
            yield part - 1, batch


def _moved_cuts(logs: Logs, cuts: Sequence[int], rounds: int) -> list[int]:
    """What ``_between_times`` makes of cuts, from a few rounds behind each, or more where they are of one time."""
    moved = list(cuts)
    for time, (number, cut) in product(logs.declaration.times if rounds else (), enumerate(cuts)):
        for few in (1 << 6, 1 << 9, 1 << 12, 1 << 18, rounds):
            end, place = min(cut + few, rounds), [1]
            for _ in _between_times(logs.part(cut - 1, end).batches(), place, time):
                pass
            moved[number] = cut - 1 + place[0]
            if moved[number] < end:
                break
    return moved


def require_learnable(logs: Logs) -> None:
    features = logs.declaration.features
    capabilities.require(features, ("policy over all actions", "policy over counted actions"), SUBJECT)
    if not logs.contexts:
        shown = ", ".join(logs.column_names()[:30])
        raise UsageError(f"{SUBJECT} needs contexts: name their columns in contexts=. The columns are: {shown}.")
    capabilities.check(features | {"learning"})


def _between_times(batches: Iterable[TableBatch], cuts: list[int], time: str) -> Iterator[TableBatch]:
    """The batches; ``cuts`` in a batch are moved, before it is handed on, to the first round at or after them whose time is
    not that of the round before: the order of rounds within one time may tell of their rewards.
    """
    seen, last = 0, None
    for batch in batches:
        column = decode(batch.table[time])
        rows = len(column)
        changes = pc.not_equal(column.slice(0, max(rows - 1, 0)), column.slice(1)).fill_null(True)
        new = [*([0] if rows and column[0] != last else []), *(1 + np.flatnonzero(np.asarray(changes))).tolist()]
        for place, cut in enumerate(cuts):
            if seen <= cut < seen + rows:
                cuts[place] = seen + next((row for row in new if row >= cut - seen), rows)
        seen, last = seen + rows, column[rows - 1] if rows else last
        yield batch


def split_batches(batches: Iterable[TableBatch], cuts: Sequence[int]) -> Iterator[tuple[int, TableBatch]]:
    """Each batch with the number of its part; a new part begins at every round in ``cuts``."""
    seen = 0
    for batch in batches:
        rows = batch.table.num_rows
        for part, (first, last) in enumerate(pairwise((0, *cuts, sys.maxsize))):
            begin, end = max(first - seen, 0), min(last - seen, rows)
            if begin < end:
                numbers = None if batch.rows is None else batch.rows[begin:end]
                table = batch.table.slice(begin, end - begin)
                yield part, replace(batch, table=table, start=batch.start + begin, rows=numbers)
        seen += rows


def survey_again(logs: Logs, contexts: Contexts, others: Origins) -> tuple[Fingerprint, Origins]:
    """The fingerprint of all that was learned from, and what tells whether some of these rounds are among ``others``."""
    fingerprint, origins = Fingerprint(), Origins()
    for rounds in checked_rounds(logs, logs.batches(needs_of(logs, [contexts, *others.memories]))):
        origins += Origins.of(rounds.rows, rounds.decisions.taken, others.memories)
        fingerprint += fingerprint_of_all(rounds, contexts)
    return fingerprint, origins


def needs_of(logs: Logs, several: Iterable[Contexts]) -> Needs:
    names = tuple(dict.fromkeys(name for contexts in several for name in contexts))
    logs.require_columns(names, role="a context of what was learned before")
    return Needs(handed_on=names)


def checked_rounds(logs: Logs, batches: Iterable[TableBatch]) -> Iterator[Batch]:
    """The rounds, as long as none is invalid; those that are are counted over the whole log."""
    rows, invalid = 0, dict[Fault, Tally]()
    for batch in batches:
        rounds = Batch(logs, batch).read()
        rows += rounds.size
        invalid = merge_tallies(invalid, rounds.rows.tallies)
        if rounds.size and not invalid:
            yield rounds
    if invalid:
        refuse_faults(invalid, rows=rows)


def fingerprint_of_all(batch: Batch, contexts: Sequence[str]) -> Fingerprint:
    """Of everything read so far and the contexts; call it once for each batch, since it adds to the hashes."""
    rows = batch.rows
    table = rows.handed_on(contexts)
    for name in contexts:
        column = decode(table[name])
        if is_list(column):
            rows.hashes.mix(rows.list_words(name))
        elif is_text(column):
            encoded = column.dictionary_encode()
            checksums = [float(zlib.crc32(text.encode())) for text in encoded.dictionary.to_pylist()]
            codes = np.asarray(encoded.indices.fill_null(len(checksums)))
            rows.hashes.mix(np.array([*checksums, -1.0])[codes])
        else:
            rows.hashes.mix(np.ascontiguousarray(rows.context_numbers(name).values))
    return rows.hashes.fingerprint()
