"""What a bound counts: rounds, clusters of rounds, or what is left of them after sampling."""

from dataclasses import dataclass

from surelift.arrays import FloatArray
from surelift.logs.clusters import Clusters
from surelift.logs.rounds import Rounds


@dataclass(frozen=True, slots=True)
class Units:
    """One factor each. A cluster is one unit, whose number is the mean over its rounds; a unit that was kept with
    probability kappa stands for 1/kappa of its kind.
    """

    count: int
    clusters: Clusters | None
    keep_probability: FloatArray | None
    """Of each unit."""

    @classmethod
    def of(cls, rounds: Rounds) -> "Units":
        clusters = rounds.clusters
        # With the number of rounds before sampling lost, those kept are a log as they stand.
        kept = None if rounds.declaration.rounds_before_sampling is None else rounds.keep_probability
        if clusters is None:
            return cls(rounds.size, None, kept)
        return cls(len(clusters), clusters, None if kept is None else kept[clusters.starts[:-1]])

    @property
    def plain(self) -> bool:
        """Whether every round is a unit that stands for itself."""
        return self.clusters is None and self.keep_probability is None

    def mean(self, values: FloatArray, *, padded_with: float | FloatArray = 0.0) -> FloatArray:
        """From a number a round to a number a unit."""
        return values if self.clusters is None else self.clusters.mean(values, padded_with=padded_with)

    def scaled_up(self, values: FloatArray) -> FloatArray:
        """Divides by the keep probability to correct for sampling."""
        return values if self.keep_probability is None else values / self.keep_probability
