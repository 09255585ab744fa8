"""Prefix weights: the weight of a position is the product of those of its cluster up to and including it.

Where a reward does not depend on later actions (in a session by time, in a ranking if people read from the top), the
product up to its position is enough: its mean given everything before the first position is at most what the candidate
earns there, if it acts from the first position on. After the end of a session nothing is chosen any more, so the weight
stays the last one.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.logs.clusters import Clusters
from surelift.logs.rounds import Rounds
from surelift.quantities.quantity import Quantity, Weights


def prefix_weights(steps: Weights, clusters: Clusters) -> Weights:
    """From the weight of each position to the product up to it, and that minus 1 without its rounding.

    >>> clusters = Clusters(np.array([0, 2, 3]), np.array([2.0, 2.0]))
    >>> prefix_weights(Weights(np.array([2.0, 1.5, 0.5]), np.array([1.0, 0.5, -0.5])), clusters)
    Weights(weight=array([2. , 3. , 0.5]), excess=array([ 1. ,  2. , -0.5]))
    """
    excess = steps.excess.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _later_positions(clusters):
            excess[here] += excess[here - 1] * (1.0 + excess[here])
    return Weights(running_products(steps.weight, clusters), excess)


def running_products(values: FloatArray, clusters: Clusters) -> FloatArray:
    """The product over each cluster up to and including each round."""
    products = values.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _later_positions(clusters):
            products[here] *= products[here - 1]
    return products


def _later_positions(clusters: Clusters) -> Iterator[IntArray]:
    """The rounds that stand second in their cluster, then those that stand third, and so on."""
    order = np.argsort(-clusters.sizes, kind="stable")
    firsts, sizes = clusters.starts[:-1][order], clusters.sizes[order]
    for place in range(1, int(sizes.max(initial=0))):
        yield firsts[: np.searchsorted(-sizes, -place)] + place


def weights_before(weight: FloatArray, clusters: Clusters) -> FloatArray:
    """The prefix weight of the position before each, 1 before the first."""
    before = np.ones(len(weight))
    before[1:] = weight[:-1]
    before[clusters.starts[:-1]] = 1.0
    return before


def in_sequence(rounds: Rounds) -> Clusters | None:
    """The clusters whose rounds follow each other, each decided after those before."""
    return None if rounds.declaration.position is None else rounds.clusters


def padding_of(
    rounds: Rounds, candidate: str, quantity: Quantity, weights: Mapping[str, Weights]
) -> float | FloatArray:
    """What stands for each round that a cluster lacks: a constant, or a number for each cluster."""
    clusters = in_sequence(rounds)
    if clusters is None:
        return quantity.padding
    last = clusters.starts[1:] - 1
    names = quantity.taken_off(candidate, 0.5, None)
    ends = {name: Weights(weights[name].weight[last], weights[name].excess[last]) for name in names}
    return quantity.terms(candidate, ends, np.zeros(len(last)))
