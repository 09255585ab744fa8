"""Slates and rankings: several positions decided at once, with one row of the log per position.

There are three ways to weight a slate, each with its assumption. The product of the positions' importance weights, each
given the positions before, is always right, but explodes with their number. The marginal weight of each position alone is
right if a position's reward depends only on its own action; a slate is then a cluster of rounds. Where positions are drawn
independently, their probabilities are both. Then, for one reward of the page to which its positions add independently of
each other, there is the sum of their weights, less one for each position but one: it grows with the number of positions,
where the product explodes.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.batch import Batch
from surelift.errors import LogsError, UsageError
from surelift.importers.events import Imported
from surelift.logs.batch import Needs
from surelift.logs.decisions import Probabilities
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.wins import Wins
from surelift.policies.additive import AdditiveSlate
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, name_policies
from surelift.traits.logs import Logs

PRODUCT = (
    "the positions of a slate were sampled one after another, each with its logged probability given those before, so "
    "that the probability of the slate is their product"
)
INDEPENDENT = "the reward of a position depends on the context and its own action, not on the other positions of the slate"
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
NOT_INDEPENDENT = (
    "weight='additive' needs positions that production drew independently of each other, given the context. Drawn without "
    "replacement, or one after another, the probability of a page is not a product over positions, and the weights would "
    "be wrong: use weight='product' with probabilities='conditional'."
)
COUNTED_BY_POSITION = (
    "weight={weight!r} combines the probabilities of a page's positions, but wins are draws of single ones; use "
    "weight='independent', or give probabilities."
)
DRAWN_INDEPENDENTLY = "production drew the positions of a page independently of each other, given the context"
_MANY = 1 << 20
# What a page's columns are called after those of its rows.
MULTIPLIED, LOGARITHM, EXCESS, SMALLEST_OF_PAGE = (
    " (product)", " (logarithm of the product)", " (excess weight)", " (smallest of the page)",
)  # fmt: skip
SMALLEST = math.log(1e-290)


def slates(
    source: Any,
    policies: Any,
    *,
    slate: str,
    reward: str,
    propensity: str | Wins,
    weight: Literal["product", "independent", "additive"],
    probabilities: Literal["conditional", "marginal", "independent"],
    size: int | str | None = None,
    most: int | None = None,
    reward_range: tuple[float, float] = (0, 1),
) -> Imported:
    """A log with one row per position of a slate; the rows of a slate must be contiguous.

    The value of a slate is the mean reward of its positions; a reward of the whole slate is repeated in each of its
    rows, and needs the product, or where it is the sum of what its positions add to it, the additive weight.

    Args:
        source: Anything that ``Logs`` reads.
        policies: Columns with the probability of the action at its position, like ``propensity``.
        slate: The column that tells slates apart.
        reward: The column of rewards.
        propensity: The column of production's probability of the action at its position.
        weight: "product" of the weights down to a position, "independent", the weight of each position alone, or
            "additive", for which production must draw positions independently, while a candidate's columns hold
            marginal probabilities.
        probabilities: Of what kind all of them are: "conditional" on the positions before (a ranking without
            replacement, a session), "marginal", whatever the other positions show, or of positions drawn "independent"
            of each other, which is both. The product needs the first, the weight of each position alone the second.
        size: The number of positions of a slate, known before it is drawn: a number or a column ("additive": a number).
        most: An upper limit on it, instead.
        reward_range: What a reward can be.
    """
    if weight not in ("product", "independent", "additive"):
        raise UsageError(f"weight must be 'product', 'independent' or 'additive', but is {weight!r}.")
    if probabilities not in ("conditional", "marginal", "independent"):
        raise UsageError(f"probabilities must be 'conditional', 'marginal' or 'independent', but is {probabilities!r}.")
    if weight != "additive" and probabilities == ("marginal" if weight == "product" else "conditional"):
        raise UsageError(MARGINAL_PRODUCT if weight == "product" else CONDITIONAL_BY_POSITION)
    if weight == "additive" and probabilities != "independent":
        raise UsageError(NOT_INDEPENDENT)
    named = name_policies(policies)
    if weight != "independent" and (
        isinstance(propensity, Wins) or any("drawn candidate" in policy.features for policy in named.values())
    ):
        raise UsageError(COUNTED_BY_POSITION.format(weight=weight))
    declared: dict[str, Any] = {
        "reward": reward,
        "propensity": propensity,
        "reward_range": reward_range,
        "cluster": slate,
    }
    if weight == "independent":
        logs = Logs(source, **declared, cluster_size=size, cluster_max=most, assumes=[INDEPENDENT, MARGINAL])
        return Imported(logs, named)
    if weight == "additive":
        if isinstance(size, str):
            raise UsageError("weight='additive' takes size= as a number, or most=, the most positions a page can have.")
        rows = Logs(source, **declared, cluster_size=size, cluster_max=most)
        return _additive(rows, named, int(most or size or 0))
    if size is not None or most is not None:
        raise UsageError("the product of weights takes neither size= nor most=: a slate is one round.")
    return _one_round_per_slate(Logs(source, **declared, cluster_max=_MANY), named)


Reduced = Callable[[Batch, IntArray], FloatArray]
"""From the positions of a batch, with where each slate starts, to a number for each slate."""


@dataclass(frozen=True, slots=True)
class _Pages:
    """A number for each slate."""

    rewards: FloatArray
    chances: FloatArray
    candidates: Mapping[str, FloatArray]


def _one_round_per_slate(rows: Logs, policies: Mapping[str, Policy]) -> Imported:
    """Multiply the probabilities of each slate's positions."""

    def log_chance(batch: Batch, starts: IntArray) -> FloatArray:
        return np.asarray(np.add.reduceat(np.log(batch.propensity), starts))

    def chance(found: Probabilities, batch: Batch, starts: IntArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(np.add.reduceat(np.log(found.logged), starts)))

    pages = _pages(rows, policies, log_chance, chance)
    if tiny := int((pages.chances < SMALLEST).sum()):
        raise LogsError(
            f"{tiny:,} of {len(pages.chances):,} slates have a probability below 1e-290, the product over their positions, "
            "which is too small to compute with; use weight='independent' if its assumption holds."
        )
    columns = {name: _column_of(name, policy) + MULTIPLIED for name, policy in policies.items()}
    logs = _page_log(rows, pages, columns, log_propensity=_chances_of(rows) + LOGARITHM, assumes=[PRODUCT])
    return Imported(logs, {name: as_policy(column) for name, column in columns.items()})


def _additive(rows: Logs, policies: Mapping[str, Policy], positions: int) -> Imported:
    """Add up the weights of each slate's positions, each minus 1."""

    def smallest(batch: Batch, starts: IntArray) -> FloatArray:
        _refuse_several_rewards(batch, starts)
        return np.asarray(np.minimum.reduceat(batch.propensity, starts))

    def excess(found: Probabilities, batch: Batch, starts: IntArray) -> FloatArray:
        return np.asarray(np.add.reduceat(found.excess(batch.propensity), starts))

    pages = _pages(rows, policies, smallest, excess)
    columns = {name: _column_of(name, policy) + EXCESS for name, policy in policies.items()}
    smallest_of_page = _chances_of(rows) + SMALLEST_OF_PAGE
    logs = _page_log(rows, pages, columns, propensity=smallest_of_page, assumes=[DRAWN_INDEPENDENTLY])
    limits = {name: policy.limits.drop for name, policy in policies.items()}
    return Imported(logs, {name: AdditiveSlate(columns[name], positions, limits[name]) for name in policies})


def _column_of(name: str, policy: Policy) -> str:
    """The column that a policy reads, by which a certificate can be verified; else its name."""
    described = policy.describe()
    return str(described["column"]) if described.get("kind") == "column" else f"{name} (policy)"


def _chances_of(rows: Logs) -> str:
    return str(rows.declaration.flat()["propensity"])


def _page_log(rows: Logs, pages: "_Pages", columns: Mapping[str, str], **declared: Any) -> Logs:
    """One row for each page."""
    [chances] = (declared[role] for role in ("propensity", "log_propensity") if role in declared)
    table = {columns[name]: values for name, values in pages.candidates.items()}
    reward = rows.declaration.reward.name
    table |= {reward: pages.rewards, chances: pages.chances}
    return Logs(table, reward=reward, reward_range=(rows.scale.low, rows.scale.high), **declared)


def of_pages(declared: Mapping[str, Any]) -> bool:
    """Whether a declaration is that of pages, made from the rows of their positions."""
    chances = declared.get("log_propensity", declared.get("propensity"))
    return isinstance(chances, str) and chances.endswith((LOGARITHM, SMALLEST_OF_PAGE))


def slates_again(source: Any, slate: str, question: Mapping[str, Any]) -> Logs:
    """The pages that a certificate is about, from the rows of their positions; its question says how they were made."""
    declared = question["declaration"]
    chances, ending, own, weight = (
        (declared.get("log_propensity"), LOGARITHM, MULTIPLIED, "product")
        if "log_propensity" in declared
        else (declared.get("propensity"), SMALLEST_OF_PAGE, EXCESS, "additive")
    )
    described = list(_values_in({role: question.get(role) for role in ("policies", "over")}))
    read = [value for value in described if isinstance(value, str) and value.endswith(own)]
    if not (isinstance(chances, str) and chances.endswith(ending)) or not read:
        raise UsageError("--slate: this certificate is not about slates; leave it out.")
    positions = [value for value in described if isinstance(value, int)]
    return slates(
        source, [column.removesuffix(own) for column in dict.fromkeys(read)], slate=slate, reward=declared["reward"],
        propensity=chances.removesuffix(ending), weight=weight,  # type: ignore[arg-type]
        probabilities="conditional" if weight == "product" else "independent",
        most=max(positions) if weight == "additive" else None, reward_range=tuple(declared["reward_range"]),
    ).logs  # fmt: skip


def _values_in(content: Any) -> Iterator[Any]:
    if isinstance(content, Mapping):
        for value in content.values():
            yield from _values_in(value)
    else:
        yield content


def _refuse_several_rewards(batch: Batch, starts: IntArray) -> None:
    differ = batch.reward != batch.spread(batch.reward[starts])
    if differ.any():
        raise LogsError(
            f"weight='additive' is for one reward a page, but {int(differ.sum()):,} rows have another reward than "
            f"the first row of their page, the first in row {int(batch.rows.numbered[differ][0]):,}; repeat the page's "
            f"reward "
            "in each of its rows."
        )


def _pages(
    rows: Logs, policies: Mapping[str, Policy], of_production: Reduced,
    of_candidate: Callable[[Probabilities, Batch, IntArray], FloatArray],
) -> _Pages:  # fmt: skip
    """From a row for each position to a number for each slate; its reward is the mean over its positions."""
    needs = sum((policy.needs(rows) for policy in policies.values()), start=Needs())
    rewards, chances = list[FloatArray](), list[FloatArray]()
    candidates = {name: list[FloatArray]() for name in policies}
    invalid, count = dict[Fault, Tally](), 0
    for table in rows.batches(needs):
        batch = Batch(rows, table, policies).read()
        invalid, count = merge_tallies(invalid, batch.rows.faults.tallies), count + batch.size
        if invalid:
            continue
        assert batch.units.starts is not None
        starts = batch.units.starts[:-1]
        units = np.add.reduceat(batch.reward, starts) / np.diff(batch.units.starts)
        rewards.append(np.array([rows.scale.value(unit) for unit in units.tolist()]))
        chances.append(of_production(batch, starts))
        for name, found in batch.policies.items():
            candidates[name].append(of_candidate(found, batch, starts))
    refuse_faults(invalid, rows=count)
    if not rewards:
        raise LogsError("these logs are empty: they contain no slate.")
    joined = {name: np.concatenate(parts) for name, parts in candidates.items()}
    return _Pages(np.concatenate(rewards), np.concatenate(chances), joined)
