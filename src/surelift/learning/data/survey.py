"""One pass over the logs before learning: the feature layout, the number of actions, fingerprints, invalid rounds."""

import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from surelift.arrays import ArrowColumn
from surelift.errors import LogsError, UsageError
from surelift.learning.data.features import FeatureLayout
from surelift.logs import faults
from surelift.logs.batch import Batch, Needs
from surelift.logs.columns import decode, is_list, is_text, list_to_vectors
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.hash_sample import HashSample
from surelift.logs.logs import Logs
from surelift.logs.order import RowOrder, TimeOrder
from surelift.logs.origins import Contexts, Origins
from surelift.logs.rounds import Rounds
from surelift.policies.policy import action_counts, require_action, require_action_count
from surelift.statistics.memories import MOST_IDS, IdMemory, hashed_ids

SUBJECT = "a policy to learn"


class FeatureSurvey:
    """Finds which contexts are text, and their categories; and the mean and deviation of numeric features, on request."""

    def __init__(self, names: Sequence[str], *, intercept: bool, most: int = 10_000) -> None:
        self._names, self._intercept, self._most = tuple(names), intercept, most
        self._texts: dict[str, dict[str, None]] = {}
        self._widths: dict[str, int] = {}
        self._numeric = FeatureLayout((), intercept=False)
        self._count, self._mean, self._squares = 0, np.zeros(0), np.zeros(0)

    def update(self, table: Any) -> None:
        for name in self._names:
            column = table[name]
            if is_list(column):
                self._widths.setdefault(name, len(column[0].as_py() or ()) if len(column) else 0)
            elif is_text(decode(column)):
                known = self._texts.setdefault(name, {})
                known.update(dict.fromkeys(text for text in decode(column).unique().to_pylist() if text is not None))
                if len(known) > self._most:
                    raise UsageError(
                        f"context {name!r} has more than {self._most:,} different texts, so it looks like an identifier; "
                        "drop it, or group its values."
                    )

    def standardise(self, table: Any) -> None:
        """Standardise by these rounds too, after ``update``."""
        self._keep_numeric()
        if not self._numeric.size:
            return
        values = self._numeric.encode(table).astype(np.float64)
        # Chan et al. (1983): merges the sums of two parts without cancellation.
        count, mean = len(values), values.mean(axis=0)
        gap = mean - self._mean
        self._squares += ((values - mean) ** 2).sum(axis=0) + gap * gap * (self._count * count / (self._count + count))
        self._mean += gap * (count / (self._count + count))
        self._count += count

    def _keep_numeric(self) -> None:
        """Drop the sums of a context that turned out to be text."""
        old, names = self._numeric, tuple(name for name in self._names if name not in self._texts)
        self._numeric = FeatureLayout(names, {}, dict(self._widths), intercept=False)
        if not self._count:
            self._mean, self._squares = np.zeros(self._numeric.size), np.zeros(self._numeric.size)
        elif names != old.names:
            keep = np.concatenate([np.full(old.width(name), name in names) for name in old.names])
            self._mean, self._squares = self._mean[keep], self._squares[keep]

    def layout(self) -> FeatureLayout:
        texts = {name: tuple(sorted(texts)) for name, texts in self._texts.items()}
        layout = FeatureLayout(self._names, texts, dict(self._widths), self._intercept)
        self._keep_numeric()
        if not self._count or not self._numeric.size:
            return layout
        deviation = np.sqrt(self._squares / self._count)
        scale = np.where(deviation > 0.0, deviation, 1.0)
        return replace(layout, centre=tuple(self._mean.tolist()), scale=tuple(scale.tolist()))


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
    require_learnable(logs)
    contexts = logs.declaration.contexts or ()
    remembered = dict.fromkeys((contexts, *others.memories))
    features = FeatureSurvey(contexts, intercept=intercept)
    origins, contents = [Origins()] * (len(cuts) + 1), [Fingerprint()] * (len(cuts) + 1)
    counts, rows, ids = set[int](), 0, HashSample(MOST_IDS)
    declared, moved = logs.declaration, list(cuts)
    times, order = TimeOrder() if cuts and declared.time is not None else None, RowOrder()
    batches = logs.batches(needs_of(logs, remembered))
    invalid: Mapping[Fault, Tally] = {}
    for part, batch in split_batches(
        batches if times is None else _between_times(batches, moved, declared.time), moved
    ):
        rounds = Rounds(logs, batch)
        if times is not None:
            times.check(rounds)
        table = rounds.handed_on(contexts)
        for name in table.column_names:
            if not is_list(table[name]) and not is_text(decode(table[name])):
                numbers = rounds.plain_numbers(name)
                rounds.refuse(f"context {name!r}", faults.NULL, numbers.null, None)
                rounds.check_finite(numbers.values, f"context {name!r}", besides=numbers.null)
        rows += rounds.size
        invalid = merge_tallies(invalid, rounds.faults.tallies)
        if rounds.faults.tallies:
            continue
        if part == 0 or not first_part_only:
            features.update(table)
        if part == 0 and standardise:
            features.standardise(table)
        if declared.id is not None:
            ids += HashSample.of(hashed_ids(rounds, declared.id), MOST_IDS)
        counts |= set(np.unique(action_counts(rounds)).astype(int).tolist())
        assert rounds.action is not None
        order.add(rounds.reward, rounds.action, rounds.propensity, action_counts(rounds))
        origins[part] += Origins.of(rounds, remembered)
        contents[part] += fingerprint_of_all(rounds, contexts)
    refuse_faults(invalid, rows=rows)
    if not counts:
        raise LogsError("these logs are empty: there are no rounds to learn from.")
    if len(counts) > 1:
        raise LogsError(
            f"{SUBJECT} needs the same actions in every round, but their number varies: {sorted(counts)[:5]}."
        )
    if declared.id is not None:
        IdMemory(declared.id, of_clusters=False).refuse_again(ids)
    if cuts and times is None:
        order.refuse_sorted(
            action=str(declared.action), reward=declared.outcome, tests_action=not declared.propensity_is_estimated
        )
    if any(first >= last for first, last in pairwise((*moved, rows))):
        raise UsageError(
            f"no rounds would be left to certify the policy on, or to learn from: rounds of one time {declared.time!r} stay "
            "together, and too many share one. Name a column of finer times, or change holdout= or prior_share=."
        )
    return LogSurvey(features.layout(), counts.pop(), tuple(origins), tuple(contents), tuple(moved))


def require_learnable(logs: Logs) -> None:
    require_action(logs, SUBJECT)
    require_action_count(logs, SUBJECT)
    if not logs.declaration.contexts:
        raise UsageError(f"{SUBJECT} needs contexts: name their columns in contexts=.")
    for name in ("cluster", "keep_probability", "embedding"):
        if getattr(logs.declaration, name) is not None:
            raise UsageError(f"policies cannot be learned from logs with {name}=; use the rounds as they were logged.")


def _between_times(batches: Iterable[Batch], cuts: list[int], time: str | None) -> Iterator[Batch]:
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


def split_batches(batches: Iterable[Batch], cuts: Sequence[int]) -> Iterator[tuple[int, Batch]]:
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
        origins += Origins.of(rounds, others.memories)
        fingerprint += fingerprint_of_all(rounds, contexts)
    return fingerprint, origins


def needs_of(logs: Logs, several: Iterable[Contexts]) -> Needs:
    names = tuple(dict.fromkeys(name for contexts in several for name in contexts))
    logs.require_columns(names, role="a context of what was learned before")
    return Needs(handed_on=names)


def checked_rounds(logs: Logs, batches: Iterable[Batch]) -> Iterator[Rounds]:
    """The rounds, as long as none is invalid; those that are are counted over the whole log."""
    rows, invalid = 0, dict[Fault, Tally]()
    for batch in batches:
        rounds = Rounds(logs, batch)
        rows += rounds.size
        invalid = merge_tallies(invalid, rounds.faults.tallies)
        if rounds.size and not invalid:
            yield rounds
    refuse_faults(invalid, rows=rows)


def fingerprint_of_all(rounds: Rounds, contexts: Sequence[str]) -> Fingerprint:
    """Of everything read so far and the contexts; call it once for each batch, since it adds to the hashes."""
    table = rounds.handed_on(contexts)
    for name in contexts:
        column = decode(table[name])
        if is_list(column):
            rounds.hashes.mix_vectors(list_to_vectors(column)[0])
        elif is_text(column):
            encoded = column.dictionary_encode()
            checksums = [float(zlib.crc32(text.encode())) for text in encoded.dictionary.to_pylist()]
            codes = np.asarray(encoded.indices.fill_null(len(checksums)))
            rounds.hashes.mix(np.array([*checksums, -1.0])[codes])
        else:
            rounds.hashes.mix(np.ascontiguousarray(rounds.plain_numbers(name).values))
    return rounds.hashes.fingerprint()
