"""Probabilities of actions become those of their embeddings: what a log with an embedding is judged by."""

import copy
from collections.abc import Mapping

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.embeddings import ActionKinds, Known
from surelift.logs.functions import ask
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies import Policy
from surelift.policies.policy import Probabilities
from surelift.policies.wrappers import Blend, Direct, Production


def embedded(
    rounds: Rounds, probabilities: Mapping[str, Probabilities], policies: Mapping[str, Policy]
) -> tuple[Rounds, dict[str, Probabilities]]:
    """The same rounds with an embedding in the place of each action."""
    embedding, logging, shares = rounds.declaration.embedding, rounds.logging, rounds.logging_shares
    assert embedding is not None
    if rounds.faults.tallies or logging is None or shares is None:
        return rounds, dict(probabilities)
    chances = _chances(rounds)
    came = _came(rounds, chances)
    marginal = embedding.of(logging, chances)
    rounds.refuse(
        "the embedding that came", faults.DENSITY, rounds.usable & ~(marginal.at(came) > 0.0), marginal.at(came)
    )
    part = copy.copy(rounds)
    part.action, part.logging, part.logging_shares = came, marginal, embedding.of(shares, chances)
    # A vector that sums to less than 1 may understate its entries by as much.
    part.propensity = marginal.at(came) / np.clip(logging.sums(), 0.5, 1.0)
    found = {name: _of_one(one, part, rounds, policies[name], name, chances) for name, one in probabilities.items()}
    return part, found


def _chances(rounds: Rounds) -> FloatArray | None:
    """p(e|x, a), where an action has not one embedding alone."""
    embedding, logs = rounds.declaration.embedding, rounds.logs
    if not isinstance(embedding, Known):
        return None
    if not embedding.by_context:
        return embedding.chances(None)
    chances: FloatArray = ask(embedding.chances, rounds, logs.handed_on(), "the embedding function")
    return chances


def _came(rounds: Rounds, chances: FloatArray | None) -> IntArray:
    """The embedding of each logged action."""
    embedding = rounds.declaration.embedding
    assert embedding is not None
    assert rounds.action is not None
    if isinstance(embedding, ActionKinds):
        return embedding.logged(rounds.action)
    assert chances is not None
    values, _ = rounds.numbers(embedding.column, f"embedding {embedding.column!r}")
    actions, count = chances.shape[-2:]
    whole = (values == np.floor(values)) & (values >= 0) & (values < count)
    rounds.refuse(f"embedding {embedding.column!r}", faults.ACTION_POSITION, rounds.usable & ~whole, values)
    came = np.where(whole, values, 0.0).astype(np.int64)
    taken = np.clip(rounds.action, 0, actions - 1)
    # A function of the batch that gives another number of matrices is told so where they are added up.
    places = np.arange(rounds.size) % len(chances)
    possible = (chances[taken, came] if chances.ndim == 2 else chances[places, taken, came]) > 0.0
    rounds.refuse(f"embedding {embedding.column!r}", faults.EMBEDDING, rounds.usable & ~possible, values)
    return came


def _of_one(
    one: Probabilities, rounds: Rounds, apart: Rounds, policy: Policy, name: str, chances: FloatArray | None
) -> Probabilities:
    """``apart`` are the rounds by actions."""
    embedding = rounds.declaration.embedding
    assert embedding is not None
    assert rounds.action is not None
    if isinstance(policy, Direct):
        excess = one.excess(apart.propensity)
        return Probabilities(np.maximum((1.0 + excess) * rounds.propensity, 0.0), None, excess)
    if isinstance(policy, Production):
        return Probabilities(rounds.propensity, rounds.logging_shares, np.zeros(rounds.size))
    if one.vectors is None:
        raise UsageError(
            f"policy {name!r} must be given as a vector over actions: an embedding adds up the probabilities of all of them."
        )
    vectors: Vectors = embedding.of(one.vectors, chances)
    if isinstance(policy, Blend):
        # From the candidate's own excess: a small share would drown in the rounding of a weight near 1.
        own = policy.policy.probabilities(apart, f"policy {name!r}")
        excess = policy.alpha * _of_one(own, rounds, apart, policy.policy, name, chances).excess(rounds.propensity)
        return Probabilities((1.0 + excess) * rounds.propensity, vectors, excess, one.short_of_one)
    return Probabilities(vectors.at(rounds.action), vectors, short_of_one=one.short_of_one)
