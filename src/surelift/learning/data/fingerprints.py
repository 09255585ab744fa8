"""Fingerprints of the rounds a policy was learned from, to recognise them later."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from surelift.logs.batch import Needs
from surelift.logs.columns import decode, is_list, is_text, list_to_vectors
from surelift.logs.faults import refuse_faults
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.statistics.decided import decided_hashes


def decision_fingerprint(logs: Logs) -> Fingerprint:
    """Of rewards, propensities and actions, in one pass over the logs."""
    return sum((fingerprint_of_decisions(rounds) for rounds in _checked_rounds(logs)), Fingerprint())


def full_fingerprint(logs: Logs, contexts: Sequence[str]) -> Fingerprint:
    """Of the declared columns and the contexts, in one pass over the logs."""
    return sum((fingerprint_of_all(rounds, contexts) for rounds in _checked_rounds(logs, contexts)), Fingerprint())


def _checked_rounds(logs: Logs, contexts: Sequence[str] = ()) -> Iterator[Rounds]:
    rows = 0
    for batch in logs.batches(Needs(handed_on=tuple(contexts))):
        rounds = Rounds(logs, batch)
        rows += rounds.size
        refuse_faults(rounds.faults.tallies, rows=rows)
        if rounds.size:
            yield rounds


def fingerprint_of_decisions(rounds: Rounds) -> Fingerprint:
    """Of rewards, propensities and actions as logged, so that a different declaration does not hide the same rounds."""
    return decided_hashes(rounds).fingerprint()


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
