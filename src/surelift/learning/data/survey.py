"""One pass over the logs before learning: the feature layout, the number of actions, fingerprints, invalid rounds."""

import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from surelift import capabilities
from surelift.arrays import ArrowColumn, FloatArray, IntArray
from surelift.batch import Batch
from surelift.errors import LogsError, UsageError
from surelift.learning.data.feature_survey import FeatureSurvey
from surelift.learning.data.features import FeatureLayout
from surelift.logs import faults
from surelift.logs.batch import Needs, TableBatch
from surelift.logs.columns import decode, is_list, is_text
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.hash_sample import HashSample
from surelift.logs.order import RowOrder, TimeOrder
from surelift.logs.origins import Contexts, Origins
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
        """Of the rounds in each part: the same rounds in other parts are other ones to learn from, and to be judged by."""
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

    processes, rows = process_group(), logs.count()
    asked = _Asked(intercept, tuple(cuts), first_part_only, standardise, tuple(others.memories))
    if processes.count == 1:
        found = _survey_share(logs, asked, None)
    else:
        processes.require_equal("rounds and options", repr((logs.declaration.describe(), rows, asked)))
        asked = processes.together(lambda: asked._replace(cuts=tuple(_moved_cuts(logs, asked.cuts, rows))))
        shares = processes.gather(lambda: _survey_share(logs, asked, processes.share(rows)))
        found = reduce(add, shares)
    return found.checked(logs, cuts)


class _Asked(NamedTuple):
    intercept: bool
    cuts: tuple[int, ...]
    first_part_only: bool
    standardise: bool
    others: tuple[Contexts, ...]


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

    def checked(self, logs: Logs, cuts: Sequence[int]) -> LogSurvey:
        counts, declared = set(self.counts), logs.declaration
        refuse_faults(self.invalid, rows=self.rows)
        if not counts:
            raise LogsError("these logs are empty: there are no rounds to learn from.")
        if counts == {1}:
            raise LogsError("every round has one action only, so there is nothing to choose, and nothing to learn.")
        if len(counts) > 1:
            raise LogsError(
                f"{SUBJECT} needs the same actions in every round, but their number varies: {sorted(counts)[:5]}."
            )
        if declared.id is not None:
            IdMemory(declared.id, of_clusters=False).refuse_again(self.ids)
        if cuts and declared.time is None:
            self.order.refuse_sorted(
                action=str(declared.propensity.action),
                reward=declared.reward.name,
                tests_action=not declared.has("estimated propensities"),
            )
        if any(first >= last for first, last in pairwise((*self.cuts, self.rows))):
            raise UsageError(
                f"no rounds would be left to certify the policy on, or to learn from: rounds of one time {declared.time!r} "
                "stay together, and too many share one. Name a column of finer times, or change holdout= or prior_share=."
            )
        origins, contents = tuple(self.origins), tuple(self.contents)
        return LogSurvey(self.features.layout(), counts.pop(), origins, contents, tuple(self.cuts))


def _survey_share(logs: Logs, asked: _Asked, share: range | None) -> SurveyedShare:
    """Survey all rounds, or a share of them, whose cuts were moved already; the round before it shows how rows follow."""
    require_learnable(logs)
    contexts, declared = logs.declaration.contexts or (), logs.declaration
    remembered = dict.fromkeys((contexts, *asked.others))
    parts = len(asked.cuts) + 1
    found = SurveyedShare(
        FeatureSurvey(contexts, intercept=asked.intercept),
        [Origins()] * parts,
        [Fingerprint()] * parts,
        list(asked.cuts),
    )
    times = TimeOrder(declared.time) if asked.cuts and declared.time is not None else None
    needs = needs_of(logs, remembered)
    for part, batch in _parts_of(logs, needs, found.cuts, share):
        rounds = Batch(logs, batch).read()
        rows = rounds.rows
        if times is not None:
            times.check(rows)
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
        found.invalid = merge_tallies(found.invalid, rows.faults.tallies)
        if not rounds.fit:
            continue
        if part == 0 or not asked.first_part_only:
            found.features.update(table)
        if part == 0 and asked.standardise:
            found.features.standardise(table)
        if declared.id is not None:
            found.ids += HashSample.of(hashed_ids(rows, declared.id), MOST_IDS)
        found.counts |= set(np.unique(counts_of(rounds)).astype(int).tolist())
        found.order.add(*_followed(rounds))
        found.origins[part] += Origins.of(rows, rounds.decisions.taken, remembered)
        found.contents[part] += fingerprint_of_all(rounds, contexts)
    return found


def counts_of(rounds: Batch) -> FloatArray:
    """The number of actions in each round."""
    return rounds.decisions.available(SUBJECT)


def _followed(rounds: Batch) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    return rounds.reward, rounds.decisions.taken, rounds.propensity, counts_of(rounds)


def _parts_of(logs: Logs, needs: Needs, cuts: list[int], share: range | None) -> Iterator[tuple[int, TableBatch]]:
    """The batches with the number of their part; the round before a share is of part -1."""
    declared = logs.declaration
    if share is None:
        batches = logs.batches(needs)
        yield from split_batches(
            _between_times(batches, cuts, declared.time) if cuts and declared.time is not None else batches, cuts
        )
    elif len(share):
        lead = int(share.start > 0)
        begins = [max(cut - share.start, 0) + lead for cut in cuts]
        for part, batch in split_batches(logs.part(share.start - lead, share.stop).batches(needs), (lead, *begins)):
            yield part - 1, batch


def _moved_cuts(logs: Logs, cuts: Sequence[int], rounds: int) -> Sequence[int]:
    """What ``_between_times`` makes of cuts, from a few rounds behind each, or more where they are of one time."""
    return [_next_time(logs, cut, rounds) for cut in cuts] if rounds and logs.declaration.time is not None else cuts


def _next_time(logs: Logs, cut: int, rounds: int) -> int:
    few = 64
    while True:
        end, place = min(cut + few, rounds), [1]
        for _ in _between_times(logs.part(cut - 1, end).batches(), place, logs.declaration.time):
            pass
        if cut - 1 + place[0] < end or end == rounds:
            return cut - 1 + place[0]
        few *= 8


def require_learnable(logs: Logs) -> None:
    features = logs.declaration.features
    for wanting in ("policy over all actions", "policy over counted actions"):
        capabilities.require(features, wanting, SUBJECT)
    if not logs.declaration.contexts:
        shown = ", ".join(logs.column_names()[:30])
        raise UsageError(f"{SUBJECT} needs contexts: name their columns in contexts=. The columns are: {shown}.")
    capabilities.check(features | {"learning"})


def _between_times(batches: Iterable[TableBatch], cuts: list[int], time: str | None) -> Iterator[TableBatch]:
    """The batches; ``cuts`` in a batch are moved, before it is handed on, to the first round at or after them whose time is
    not that of the round before: the order of rounds within one time may tell of their rewards.
    """
    seen, last = 0, None
    for batch in batches:
        column = decode(batch.table[time])
        rows = len(column)
        new = [*([0] if rows and column[0] != last else []), *_changes(column)]
        for place, cut in enumerate(cuts):
            if seen <= cut < seen + rows:
                cuts[place] = seen + next((row for row in new if row >= cut - seen), rows)
        seen, last = seen + rows, column[rows - 1] if rows else last
        yield batch


def _changes(column: ArrowColumn) -> list[int]:
    before, after = column.slice(0, max(len(column) - 1, 0)), column.slice(1)
    found: list[int] = (1 + np.flatnonzero(np.asarray(pc.not_equal(before, after).fill_null(True)))).tolist()
    return found


def split_batches(batches: Iterable[TableBatch], cuts: Sequence[int]) -> Iterator[tuple[int, TableBatch]]:
    """Each batch with the number of its part; a new part begins at every round in ``cuts``."""
    seen = 0
    for batch in batches:
        rows = batch.table.num_rows
        for part, (first, last) in enumerate(pairwise((0, *cuts, sys.maxsize))):
            begin, end = max(first - seen, 0), min(last - seen, rows)
            if begin < end:
                yield part, replace(batch, table=batch.table.slice(begin, end - begin), start=batch.start + begin)
        seen += rows


def full_fingerprint(logs: Logs, contexts: Contexts) -> Fingerprint:
    return survey_again(logs, contexts, Origins())[0]


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
        invalid = merge_tallies(invalid, rounds.rows.faults.tallies)
        if rounds.size and not invalid:
            yield rounds
    refuse_faults(invalid, rows=rows)


def fingerprint_of_all(batch: Batch, contexts: Sequence[str]) -> Fingerprint:
    """Of everything read so far and the contexts; call it once for each batch, since it adds to the hashes."""
    rows = batch.rows
    table = rows.handed_on(contexts)
    for name in contexts:
        column = decode(table[name])
        if is_list(column):
            rows.hashes.mix_hashed(rows.list_words(name))
        elif is_text(column):
            encoded = column.dictionary_encode()
            checksums = [float(zlib.crc32(text.encode())) for text in encoded.dictionary.to_pylist()]
            codes = np.asarray(encoded.indices.fill_null(len(checksums)))
            rows.hashes.mix(np.array([*checksums, -1.0])[codes])
        else:
            rows.hashes.mix(np.ascontiguousarray(rows.context_numbers(name).values))
    return rows.hashes.fingerprint()
