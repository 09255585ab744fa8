"""The order of the rounds in their cluster: positions of a ranking, or steps of a session."""

from typing import TYPE_CHECKING

import numpy as np

from surelift.logs import faults
from surelift.logs.clusters import Clusters

if TYPE_CHECKING:
    from surelift.logs.rounds import Rounds


def check_order(rounds: "Rounds", clusters: Clusters) -> None:
    """Refuse positions that do not count up by 1 from the first round of their cluster, 0 or 1."""
    name = rounds.declaration.position
    assert name is not None
    positions, _ = rounds.numbers(name, f"position {name!r}")
    starts, sizes = clusters.starts[:-1], clusters.sizes
    first = 0.0 if (positions[starts] == 0.0).any() else 1.0
    expected = first + np.arange(rounds.size) - np.repeat(starts, sizes)
    rounds.refuse(f"position {name!r}", faults.POSITION, rounds.usable & (positions != expected), positions)
