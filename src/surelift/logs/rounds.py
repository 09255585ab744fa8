"""The rounds of one batch as validated numbers: rewards in [0, 1], propensities, actions, logging vectors."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from surelift.arrays import BoolArray, FloatArray, IntArray
from surelift.errors import UsageError
from surelift.kernels.columns import Words, count_outside, read_numbers
from surelift.logs import faults
from surelift.logs.batch import Batch
from surelift.logs.clusters import Clusters
from surelift.logs.columns import (
    NOWHERE,
    Numbers,
    as_array,
    decode,
    find_positions,
    has_decimal_comma,
    inexact,
    is_list,
    is_missing,
    is_text,
    is_vector,
    list_to_vectors,
    plain_numbers,
    text_to_vectors,
    to_numbers,
    tolerance_of,
)
from surelift.logs.densities import Density
from surelift.logs.faults import FaultCounter, Reason
from surelift.logs.fingerprint import RoundHashes, words_of_lists
from surelift.logs.kinds import numbers_in
from surelift.logs.labels import Labels, read_labels
from surelift.logs.loggers import read_loggers
from surelift.logs.positions import check_order
from surelift.logs.propensities import SMALLEST, read_propensity
from surelift.logs.scale import Scale
from surelift.logs.vectors import Vectors

if TYPE_CHECKING:
    from surelift.logs.logs import Logs

_TIMES = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_timestamp, pa.types.is_date,
    pa.types.is_null,
)  # fmt: skip


class Rounds:
    """What a policy sees of a batch. Every column read through it is validated and hashed."""

    def __init__(self, logs: "Logs", batch: Batch) -> None:
        self.logs = logs
        self.declaration = declared = logs.declaration
        self.table = batch.table
        self.start, self.part, self.row_numbers = batch.start, batch.part, batch.rows
        self.left_out, self.excluded = batch.left_out, batch.excluded
        self.size: int = batch.table.num_rows
        self.faults = FaultCounter(
            self.size, start=batch.start, place=batch.place, place_start=batch.place_start, numbers=batch.rows
        )
        self.hashes = RoundHashes(self.size)
        self._list_words: dict[str, tuple[Words, Words]] = {}
        self.as_text = batch.as_text
        self.labels: Labels | None = None if declared.score is None else read_labels(self)
        """Where only some rounds carry their reward."""
        self.reward = self.read_outcome(declared.outcome, declared.scale) if self.labels is None else self.labels.reward
        self.action_counts = self._read_action_counts()
        self.logging: Vectors | None = None
        self.action: IntArray | None = None
        self.continuous: FloatArray | None = None
        """The logged action, if actions are continuous."""
        if declared.action is not None and declared.density:
            self.continuous, _ = self.numbers(declared.action, f"action {declared.action!r}")
        elif declared.action is not None:
            self.action = self.positions(declared.action, f"action {declared.action!r}")
        # Read the vector first: it may show that the propensity is slightly larger than its column says.
        if declared.logging is not None:
            subject = f"logging {declared.logging!r}" if isinstance(declared.logging, str) else "logging"
            self.logging = self.check_probability_vectors(self.vectors(declared.logging, subject), subject)
        self.logger = None if declared.logger is None else read_loggers(self)
        self.propensity = read_propensity(self)
        self.logging_shares = None if self.logging is None else self.logging.normalised(only_down=False)
        self.clusters = None if declared.cluster is None else self._read_clusters(batch)
        if declared.position is not None and self.clusters is not None:
            check_order(self, self.clusters)
        self.keep_probability = self._read_keep_probability()
        for role, name in (("time", declared.time), ("id", declared.id)):
            if name is not None:
                self.refuse(f"{role} {name!r}", faults.NULL, is_missing(decode(self.table[name])), None)

    @cached_property
    def rows(self) -> IntArray:
        """Their numbers in the whole source."""
        return self.start + np.arange(self.size, dtype=np.int64) if self.row_numbers is None else self.row_numbers

    @property
    def usable(self) -> BoolArray:
        return self.faults.usable

    @property
    def estimated_reward(self) -> FloatArray:
        """The reward; where only some rounds were labelled, theirs divided by the probability of the label."""
        return self.reward if self.labels is None else self.labels.scaled_up(self.reward)

    def refuse(self, subject: str, reason: Reason, bad: BoolArray, shown: Any) -> None:
        self.faults.count(subject, reason, bad, shown)

    def numbers(self, name: str, subject: str) -> tuple[FloatArray, float]:
        """A column of finite numbers, and the tolerance of its type."""
        values, tolerance = self._checked_numbers(name, subject)
        self.hashes.mix(values)
        return values, tolerance

    def _checked_numbers(self, name: str, subject: str) -> tuple[FloatArray, float]:
        plain = None if name in self.as_text else plain_numbers(self.table[name])
        if plain is not None:
            values, infinite = read_numbers(plain)
            if not infinite:
                return values, tolerance_of(plain)
        numbers = self.told_numbers(name, subject)
        self.refuse(subject, faults.NULL, numbers.null, None)
        self.check_finite(numbers.values, subject, besides=numbers.null | numbers.not_numeric)
        return numbers.values, numbers.tolerance

    def told_numbers(self, name: str, subject: str) -> Numbers:
        """A column as numbers; what is none is refused, what is missing is not."""
        numbers = to_numbers(self.table[name], words=True)
        if numbers.not_numeric.any():
            comma = numbers.not_numeric & has_decimal_comma(numbers.shown)
            self.refuse(subject, faults.DECIMAL_COMMA, comma, numbers.shown)
            self.refuse(subject, faults.NOT_NUMERIC, numbers.not_numeric & ~comma, numbers.shown)
        return numbers

    def refuse_outside(self, subject: str, reason: Reason, values: FloatArray, least: float, most: float) -> None:
        """Refuse numbers that are not from ``least`` to ``most``; what is no number was refused before."""
        if count_outside(values, least, most):
            self.refuse(subject, reason, (values < least) | (values > most), values)

    def check_finite(self, values: FloatArray, subject: str, besides: BoolArray | None = None) -> None:
        missing = np.isnan(values)
        self.refuse(subject, faults.NOT_A_NUMBER, missing if besides is None else missing & ~besides, values)
        self.refuse(subject, faults.INFINITE, np.isinf(values), values)

    def vectors(self, columns: str | Sequence[str], subject: str) -> Vectors:
        """One vector of finite numbers per round, from a list column or one column per action."""
        if not isinstance(columns, str):
            parts = [self._checked_numbers(name, f"{subject}, column {name!r}") for name in columns]
            matrix = np.column_stack([values for values, _ in parts])
            stacked = Vectors.from_matrix(matrix, tolerance=max(tolerance for _, tolerance in parts))
            self.hashes.mix_vectors(stacked)
            return stacked
        if not is_vector(self.table[columns]):
            self.refuse(subject, faults.NOT_VECTORS, np.ones(self.size, dtype=np.bool_), self.table[columns])
            return Vectors(np.zeros(0), np.zeros(self.size + 1, dtype=np.int64), 0.0)
        if is_list(self.table[columns]):
            vectors, missing = list_to_vectors(self.table[columns])
        else:
            vectors, missing, other = text_to_vectors(self.table[columns])
            self.refuse(subject, faults.NOT_VECTORS, other, self.table[columns])
        self.refuse(subject, faults.LIST_MISSING, missing, self.table[columns])
        self.keep_vectors(vectors, subject)
        return vectors

    def keep_vectors(self, vectors: Vectors, subject: str) -> None:
        """Check that vectors are finite, and hash them."""
        entries = ~np.isfinite(vectors.values)
        if entries.any():
            bad = vectors.fold(np.add, entries.astype(np.float64), empty=0.0) > 0
            first = int(np.argmax(bad))
            shown = vectors.values[vectors.starts[first] : vectors.starts[first + 1]].tolist()
            self.refuse(subject, faults.VECTOR_ENTRIES, bad, shown)
        self.hashes.mix_vectors(vectors)

    def check_probability_vectors(self, vectors: Vectors, subject: str) -> Vectors:
        """Check that each vector is a probability distribution over production's actions."""
        usable = self.usable.copy()
        if (vectors.values < 0).any():
            smallest = vectors.fold(np.minimum, vectors.values, empty=0.0)
            self.refuse(subject, faults.PROBABILITY, usable & (smallest < 0), smallest)
        sums = vectors.sums()
        self.refuse(subject, faults.VECTOR_SUM, usable & (np.abs(sums - 1.0) > vectors.tolerance), sums)
        self.check_vector_layout(vectors, subject)
        return vectors

    def check_vector_layout(self, vectors: Vectors, subject: str) -> None:
        """Check that each vector is as long as production's, and contains the logged action."""
        if self.logging is not None:
            differ = self.logging.lengths != vectors.lengths
            self.refuse(subject, faults.VECTOR_LENGTH, self.usable & differ, vectors.lengths)
        elif self.action_counts is not None:
            differ = self.action_counts != vectors.lengths
            self.refuse(subject, faults.VECTOR_DECLARED, self.usable & differ, vectors.lengths)
        if self.action is not None:
            self.check_positions(self.action, f"action {self.declaration.action!r}", limit=vectors.lengths)

    def positions(self, name: str, subject: str) -> IntArray:
        """A column of actions, as positions counted from 0."""
        labels = self.declaration.actions
        positions, null, column = find_positions(self.table[name], labels, as_text=name in self.as_text)
        self.refuse(subject, faults.NULL, null, None)
        large = inexact(column)
        self.refuse(subject, faults.INEXACT, large, column)
        nowhere = (positions == NOWHERE) & ~null & ~large
        self.refuse(subject, faults.ACTION_POSITION if labels is None else faults.ACTION_LABEL, nowhere, column)
        # Beyond 2^53 the bits themselves, as floats too small to be those of a position.
        self.hashes.mix(np.where(positions < 2**53, positions.astype(np.float64), positions.view(np.float64)))
        limit = self.action_counts if self.logging is None else self.logging.lengths
        if limit is not None:
            self.check_positions(positions, subject, limit=limit)
        return positions

    def check_positions(self, positions: IntArray, subject: str, *, limit: FloatArray | IntArray) -> None:
        outside = (positions < 0) | (positions >= limit)
        self.refuse(subject, faults.ACTION_POSITION, self.usable & outside, positions)

    def plain_numbers(self, name: str) -> Numbers:
        """A column as numbers, which was validated and hashed before."""
        return to_numbers(self.table[name], words=True)

    def context_numbers(self, name: str) -> Numbers:
        """A column as numbers, neither validated nor hashed: for reward models, which a bound does not have to trust.

        Text stays text in a format that has types: a postal code is no number.
        """
        return to_numbers(self.table[name], text=name in self.as_text)

    def times(self) -> npt.NDArray[Any]:
        """The decision times, in a sortable form."""
        assert self.declaration.time is not None
        column = decode(self.table[self.declaration.time])
        if not (is_text(column) or any(is_kind(column.type) for is_kind in _TIMES)):
            raise UsageError(
                f"time {self.declaration.time!r} holds {column.type}; it must hold timestamps, dates or numbers."
            )
        if is_text(column):
            numbers = self.context_numbers(self.declaration.time)
            return numbers.values if not numbers.not_numeric.any() else np.asarray(column.to_pylist(), dtype=np.str_)
        if pa.types.is_timestamp(column.type) and not column.null_count:
            return as_array(column.cast(pa.int64())).view(f"datetime64[{column.type.unit}]")
        return np.asarray(column.to_numpy(zero_copy_only=False))

    def ordered_times(self) -> npt.NDArray[Any]:
        """The decision times, whose order must be that of time: texts begin with the year."""
        times = self.times()
        bad = np.zeros(0) if times.dtype.kind != "U" else np.flatnonzero(~np.char.isdigit(times.astype("<U4")))
        if len(bad):
            raise UsageError(
                f"time {self.declaration.time!r} holds text such as {str(times[bad[0]])!r}, first in row "
                f"{self.start + bad[0]:,}, whose order is not that of time; write it as 2024-03-09 17:00:00, or as a number."
            )
        return times

    def handed_on(self, columns: Sequence[str], texts: Collection[str] = ()) -> pa.Table:
        """Columns for the user's own code; text becomes numbers if every entry is one, but not that of ``texts``."""
        table = self.table.select(list(columns))
        for index, name in enumerate(columns):
            if name in self.as_text and name not in texts and (values := numbers_in(table[name])) is not None:
                table = table.set_column(index, name, values)
        return table

    def list_words(self, name: str) -> tuple[Words, Words]:
        """The vectors of a list column as words, hashed once however often they are asked for."""
        if name not in self._list_words:
            self._list_words[name] = words_of_lists(self.table[name])
        return self._list_words[name]

    def read_outcome(self, name: str, scale: Scale) -> FloatArray:
        """A column of rewards, or costs, on [0, 1]."""
        subject = f"{'cost' if scale.is_cost else 'reward'} {name!r}"
        values, _ = self.numbers(name, subject)
        if count_outside(values, scale.low, scale.high):
            outside = ((values < scale.low) | (values > scale.high)) & np.isfinite(values)
            own = (name, scale) == (self.declaration.outcome, self.declaration.scale)
            reason = faults.REWARD if own else faults.OUTCOME
            self.refuse(f"{subject}, declared in [{scale.low:g}, {scale.high:g}]", reason, outside, values)
        return scale.unit(values)

    def density_at(self, density: Density, subject: str) -> FloatArray:
        assert self.continuous is not None
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            values = density.at(self.continuous, lambda name: self.numbers(name, f"{subject}, column {name!r}")[0])
        self.check_finite(values, subject)
        return values

    def chance_below(self, density: Density, edge: FloatArray) -> FloatArray:
        """The probability of an action below ``edge``; its columns were validated when the density was read."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return density.below(edge, lambda name: self.plain_numbers(name).values)

    def _read_clusters(self, batch: Batch) -> Clusters:
        declared = self.declaration
        assert declared.cluster is not None
        subject = f"cluster {declared.cluster!r}"
        column = decode(self.table[declared.cluster])
        self.refuse(subject, faults.NULL, is_missing(column), None)
        self.refuse(subject, faults.INEXACT, inexact(column), column)
        if batch.again is not None:
            self.refuse(subject, faults.CLUSTER_AGAIN, batch.again, column)
        assert batch.cluster_starts is not None
        starts = batch.cluster_starts
        sizes = np.diff(starts)
        if declared.cluster_max is not None:
            subject = f"{subject}, declared at most {declared.cluster_max}"
            each = np.repeat(sizes, sizes)
            self.refuse(subject, faults.CLUSTER_MAX, each > declared.cluster_max, each)
            return Clusters(starts, np.full(len(sizes), float(declared.cluster_max)))
        if isinstance(declared.cluster_size, str):
            expected, _ = self.numbers(declared.cluster_size, f"cluster_size {declared.cluster_size!r}")
        else:
            expected = np.full(self.size, float(declared.cluster_size or 0))
        self.refuse(f"{subject}, its size", faults.CLUSTER_SIZE, expected != np.repeat(sizes, sizes), expected)
        return Clusters(starts, sizes.astype(np.float64))

    def _read_keep_probability(self) -> FloatArray | None:
        name = self.declaration.keep_probability
        if name is None:
            return None
        subject = f"keep_probability {name!r}"
        kept, tolerance = self.numbers(name, subject)
        self.refuse_outside(subject, faults.KEEP_PROBABILITY, kept, SMALLEST, 1.0 + tolerance)
        if self.clusters is not None:
            first = np.repeat(kept[self.clusters.starts[:-1]], self.clusters.sizes)
            self.refuse(subject, faults.CLUSTER_VARIES, self.usable & (kept != first), kept)
        return np.minimum(kept, 1.0)

    def _read_action_counts(self) -> FloatArray | None:
        declared = self.declaration.action_count
        if declared is None:
            labels = self.declaration.actions
            return None if labels is None else np.full(self.size, float(len(labels)))
        if not isinstance(declared, str):
            return np.full(self.size, float(declared))
        subject = f"action_count {declared!r}"
        counts, _ = self.numbers(declared, subject)
        self.refuse(subject, faults.ACTION_COUNT, (counts < 1) | (counts != np.floor(counts)), counts)
        return counts
