"""Slates and rankings: several positions decided at once, with one row of the log per position.

There are two ways to weight a slate, each with its assumption. The product of the positions' importance weights, each
given the positions before, is always right, but explodes with their number. The marginal weight of each position alone is
right if a position's reward depends only on its own action; a slate is then a cluster of rounds. Where positions are drawn
independently, their probabilities are both.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError, UsageError
from surelift.importers.events import Imported
from surelift.logs.batch import Needs
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, name_policies

PRODUCT = (
    "the positions of a slate were sampled one after another, each with its logged probability given those before, so "
    "that the probability of the slate is their product"
)
INDEPENDENT = (
    "the reward of a position depends on the context and its own action, not on the other positions of the slate"
)
MARGINAL = (
    "the probabilities, production's and the candidates', are those of an action at its position given the context alone, "
    "whatever the other positions show"
)
CONDITIONAL_BY_POSITION = (
    "weight='independent' needs the probability of an action at its position whatever the other positions show; given the "
    "positions before, as in a ranking without replacement, such weights are wrong and so would be the bound. Log marginal "
    "probabilities (probabilities='marginal'), or use weight='product'."
)
MARGINAL_PRODUCT = (
    "weight='product' needs the probability of each action given the positions before it, whose product is that of the "
    "slate; that of marginal probabilities is not. Log conditional probabilities (probabilities='conditional'), or use "
    "weight='independent' if the reward of a position depends on its own action alone."
)
_MANY = 1 << 20
SMALLEST = math.log(1e-290)


def slates(
    source: Any,
    policies: Any,
    *,
    slate: str,
    reward: str,
    propensity: str,
    weight: Literal["product", "independent"],
    probabilities: Literal["conditional", "marginal", "independent"],
    size: int | str | None = None,
    most: int | None = None,
    reward_range: tuple[float, float] = (0, 1),
) -> Imported:
    """A log with one row per position of a slate; the rows of a slate must be contiguous.

    ``policies`` are columns with the probability of the action at its position, like ``propensity``. ``probabilities``
    says of what kind all of them are: "conditional" on the positions before (a ranking without replacement, a session),
    "marginal", whatever the other positions show, or of positions drawn "independent" of each other, which is both. The
    product needs the first, the weight of each position alone the second. The value of a slate is the mean reward of its
    positions; a reward of the whole slate is repeated in each of its rows, and needs the product. With
    ``weight="independent"``, ``size`` (a number or a column) is the number of positions of a slate, known before it is
    drawn, or ``most`` an upper limit on it.
    """
    if weight not in ("product", "independent"):
        raise UsageError(f"weight must be 'product' or 'independent', but is {weight!r}.")
    if probabilities not in ("conditional", "marginal", "independent"):
        raise UsageError(f"probabilities must be 'conditional', 'marginal' or 'independent', but is {probabilities!r}.")
    if probabilities == ("marginal" if weight == "product" else "conditional"):
        raise UsageError(MARGINAL_PRODUCT if weight == "product" else CONDITIONAL_BY_POSITION)
    named = name_policies(policies)
    declared: dict[str, Any] = {
        "reward": reward,
        "propensity": propensity,
        "reward_range": reward_range,
        "cluster": slate,
    }
    if weight == "independent":
        logs = Logs(source, **declared, cluster_size=size, cluster_max=most, assumes=[INDEPENDENT, MARGINAL])
        return Imported(logs, named)
    if size is not None or most is not None:
        raise UsageError("the product of weights takes neither size= nor most=: a slate is one round.")
    return _one_round_per_slate(Logs(source, **declared, cluster_max=_MANY), named)


def _one_round_per_slate(rows: Logs, policies: Mapping[str, Policy]) -> Imported:
    """Multiply the probabilities of each slate's positions."""
    needs = sum((policy.needs(rows) for policy in policies.values()), start=Needs())
    rewards, chances, candidates = (
        list[FloatArray](),
        list[FloatArray](),
        {name: list[FloatArray]() for name in policies},
    )
    invalid, count = dict[Fault, Tally](), 0
    for batch in rows.batches(needs):
        rounds = Rounds(rows, batch)
        logged = {name: policy.probabilities(rounds, f"policy {name!r}").logged for name, policy in policies.items()}
        invalid, count = merge_tallies(invalid, rounds.faults.tallies), count + rounds.size
        if invalid:
            continue
        assert rounds.clusters is not None
        starts, sizes = rounds.clusters.starts[:-1], rounds.clusters.sizes
        units = np.add.reduceat(rounds.reward, starts) / sizes
        rewards.append(np.array([rows.scale.value(unit) for unit in units.tolist()]))
        chances.append(np.add.reduceat(np.log(rounds.propensity), starts))
        for name, values in logged.items():
            with np.errstate(divide="ignore"):
                candidates[name].append(np.exp(np.add.reduceat(np.log(values), starts)))
    refuse_faults(invalid, rows=count)
    if not rewards:
        raise LogsError("these logs are empty: they contain no slate.")
    log_propensity = np.concatenate(chances)
    if tiny := int((log_propensity < SMALLEST).sum()):
        raise LogsError(
            f"{tiny:,} of {len(log_propensity):,} slates have a probability below 1e-290, the product over their positions, "
            "which is too small to compute with; use weight='independent' if its assumption holds."
        )
    span, reward = (rows.scale.low, rows.scale.high), np.concatenate(rewards)
    logs = Logs(reward=reward, log_propensity=log_propensity, reward_range=span, assumes=[PRODUCT])
    return Imported(logs, {name: as_policy(np.concatenate(parts)) for name, parts in candidates.items()})
