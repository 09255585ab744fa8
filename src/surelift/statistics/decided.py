"""A fingerprint of what was decided and earned, whatever was declared of it: it tells a policy's own training rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surelift.logs.fingerprint import Fingerprint, RoundHashes
from surelift.logs.rounds import Rounds
from surelift.statistics.groups import Groups
from surelift.statistics.reading import Reading
from surelift.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Decided(Statistic):
    """Of rewards, propensities and actions as they are in the log."""

    label: ClassVar[str] = "the fingerprint of the decisions"
    state: ClassVar[type] = Fingerprint

    def of(self, reading: Reading, groups: Groups) -> Sequence[Fingerprint]:
        return decided_hashes(reading.rounds).fingerprints(groups.sorted(reading.rounds.size))


def decided_hashes(rounds: Rounds) -> RoundHashes:
    assert rounds.action is not None
    hashes, declared = RoundHashes(rounds.size), rounds.declaration
    propensity = declared.propensity if declared.propensity is not None else declared.log_propensity
    for name in (declared.outcome, str(propensity)):
        hashes.mix(np.ascontiguousarray(rounds.plain_numbers(name).values))
    hashes.mix(rounds.action.astype(np.float64))
    return hashes
