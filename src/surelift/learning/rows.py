"""The rounds of a log as examples, and what one pass beforehand finds out of them."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.controls.model import RewardModel
from surelift.errors import LogsError, UsageError
from surelift.learning.examples import Examples, examples_of, place_among
from surelift.learning.features import Features, Finding
from surelift.logs import faults
from surelift.logs.batch import ROWS_PER_BATCH, Needs
from surelift.logs.columns import decode, is_list, is_text, list_to_vectors
from surelift.logs.faults import refuse_faults
from surelift.logs.fingerprint import Fingerprint, RoundHashes
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import action_counts, require_action, require_action_count
from surelift.statistics import Sums

SUBJECT = "a policy to learn"


class Rows:
    """All rounds in their order, some ten thousand at a time: from memory once they are kept, else read anew."""

    def __init__(self, logs: Logs, features: Features, actions: int, model: RewardModel | None = None) -> None:
        self._logs, self._features, self._actions, self._model = logs, features, actions, model
        self.rounds = logs.count()
        self._kept: Examples | None = None

    def __iter__(self) -> Iterator[Examples]:
        if self._kept is not None:
            return self._kept.pieces(ROWS_PER_BATCH)
        return regrouped(self._read(), ROWS_PER_BATCH)

    def keep(self) -> None:
        """Read all rounds, and keep them from now on."""
        self._kept = Examples.joined(list(self))

    def let_go(self) -> None:
        self._kept = None

    def kept(self, known: list[FloatArray]) -> Examples:
        """All rounds at once; features that are ``known`` already are not kept twice."""
        assert self._kept is not None
        self._kept = replace(self._kept, features=known[place_among(self._kept.features, known)])
        return self._kept

    @property
    def bytes_at_most(self) -> int:
        """What they take as tensors."""
        vectors = (self._logs.declaration.logging is not None) + (self._model is not None)
        return self.rounds * (4 * (self._features.size + vectors * self._actions + 3) + 8)

    def _read(self) -> Iterator[Examples]:
        predictor = None if self._model is None else self._model.start(self._logs)
        for rounds in rounds_of(self._logs, self._features.names, self._model):
            if (action_counts(rounds) != self._actions).any():
                raise LogsError(
                    f"{SUBJECT} needs the same actions in every round, but their number varies from {self._actions}."
                )
            encoded = self._features.encode(rounds.handed_on(self._features.names))
            yield examples_of(rounds, encoded, self._actions, predictor)
        if predictor is not None:
            predictor.finish()


def regrouped(parts: Iterator[Examples], size: int) -> Iterator[Examples]:
    """Stretches of so many rounds, however they arrive: what is learned does not depend on the layout of a file."""
    waiting: list[Examples] = []
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part)
        if count >= size:
            joined = Examples.joined(waiting)
            whole = count // size * size
            yield from joined.at(slice(0, whole)).pieces(size)
            waiting, count = [joined.at(slice(whole, count))], count - whole
    if count:
        yield Examples.joined(waiting)


def rounds_of(logs: Logs, contexts: tuple[str, ...], model: RewardModel | None = None) -> Iterator[Rounds]:
    """The rounds in batches, checked: a log with a fault is refused."""
    needs = Needs(handed_on=contexts) + (Needs() if model is None else model.needs(logs))
    rows = 0
    for batch in logs.batches(needs):
        rounds = Rounds(logs, batch)
        rows += rounds.size
        refuse_faults(rounds.faults.tallies, rows=rows)
        if rounds.size:
            yield rounds


class Survey(NamedTuple):
    """What one pass beforehand finds out."""

    features: Features
    actions: int
    rounds: Fingerprint
    """Of what was decided and earned."""
    everything: Fingerprint
    """Of the contexts too."""


def survey(logs: Logs, *, intercept: bool) -> Survey:
    """How contexts become features, how many actions there are, which rounds these are.

    All that makes a round unfit is counted over the whole log before it is told.
    """
    require_learnable(logs)
    contexts = logs.declaration.contexts or ()
    finding = Finding(contexts, intercept=intercept)
    counts, found, everything, faulty = set[int](), Fingerprint(), Fingerprint(), Sums()
    for batch in logs.batches(Needs(handed_on=contexts)):
        rounds = Rounds(logs, batch)
        table = rounds.handed_on(contexts)
        for name in contexts:
            if not is_list(table[name]) and not is_text(decode(table[name])):
                numbers = rounds.plain_numbers(name)
                rounds.refuse(f"context {name!r}", faults.NULL, numbers.null, None)
                rounds.check_finite(numbers.values, f"context {name!r}", besides=numbers.null)
        faulty = faulty + Sums(rows=rounds.size, invalid=rounds.faults.tallies)
        if rounds.faults.tallies or not rounds.size:
            continue
        finding.look(table)
        counts |= set(np.unique(action_counts(rounds)).astype(int).tolist())
        found = found + fingerprint_of(rounds)
        mix_contexts(rounds, contexts)
        everything = everything + rounds.hashes.fingerprint()
    refuse_faults(faulty.invalid, rows=faulty.rows)
    if not counts:
        raise LogsError("these logs are empty: there is no round to learn from.")
    if len(counts) > 1:
        raise LogsError(
            f"{SUBJECT} needs the same actions in every round, but their number varies: {sorted(counts)[:5]}."
        )
    return Survey(finding.features(), counts.pop(), found, everything)


def require_learnable(logs: Logs) -> None:
    require_action(logs, SUBJECT)
    require_action_count(logs, SUBJECT)
    if not logs.declaration.contexts:
        raise UsageError(f"{SUBJECT} needs to know the contexts it decides by: name their columns in contexts=.")
    for name in ("cluster", "keep_probability", "embedding"):
        if getattr(logs.declaration, name) is not None:
            raise UsageError(f"policies are not learned from logs with {name}=; learn from rounds as they were logged.")


def fingerprint_of(rounds: Rounds) -> Fingerprint:
    """Of rewards, propensities and actions as they are in the log: the same rounds, whatever was declared of them."""
    assert rounds.action is not None
    hashes, logs = RoundHashes(rounds.size), rounds.logs
    for name in (
        logs.declaration.outcome,
        logs.declaration.propensity if logs.declaration.propensity is not None else logs.declaration.log_propensity,
    ):
        hashes.mix(np.ascontiguousarray(rounds.plain_numbers(str(name)).values))
    hashes.mix(rounds.action.astype(np.float64))
    return hashes.fingerprint()


def mix_contexts(rounds: Rounds, contexts: Sequence[str]) -> None:
    """Contexts into the hashes of the rounds: a text by a checksum of its letters."""
    table = rounds.handed_on(contexts)
    for name in contexts:
        column = decode(table[name])
        if is_list(column):
            rounds.hashes.mix_vectors(list_to_vectors(column)[0])
        elif is_text(column):
            encoded = column.dictionary_encode()
            marks = [float(zlib.crc32(text.encode())) for text in encoded.dictionary.to_pylist()]
            rounds.hashes.mix(np.array([*marks, -1.0])[np.asarray(encoded.indices.fill_null(len(marks)))])
        else:
            rounds.hashes.mix(np.ascontiguousarray(rounds.plain_numbers(name).values))


def decided_fingerprint(logs: Logs) -> Fingerprint:
    found = Fingerprint()
    for rounds in rounds_of(logs, ()):
        found = found + fingerprint_of(rounds)
    return found


def tables_of(logs: Logs, contexts: tuple[str, ...]) -> Iterator[Any]:
    return (rounds.handed_on(contexts) for rounds in rounds_of(logs, contexts))
