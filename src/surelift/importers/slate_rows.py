"""Slates and rankings: several positions decided at once, with one row of the log per position.

The product of the positions' importance weights, each given the positions before, is always right, but explodes with their
number. The marginal weight of each position alone is right if a position's reward depends only on its own action; a slate is
then a cluster of rounds. Where positions are drawn independently, and add to one reward of the page independently of each
other, there is the sum of their weights, less one for each position but one, which only grows with their number.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from surelift.arrays import FloatArray
from surelift.batch import Batch
from surelift.errors import LogsError, UsageError
from surelift.importers.events import Imported, Range
from surelift.logs.batch import Needs
from surelift.logs.faults import Fault, Tally, merge_tallies, refuse_faults
from surelift.logs.wins import Wins
from surelift.policies.policy import Policy
from surelift.policies.resolve import as_policy, name_policies
from surelift.policies.unbiased import AdditiveSlate
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
DRAWN_INDEPENDENTLY = "production drew the positions of a page independently of each other, given the context"
_TAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "product": (
        ("conditional", "independent"),
        "probabilities='conditional', whose product is that of the slate; that of marginal probabilities is not. Or use "
        "weight='independent' if the reward of a position depends on its own action alone.",
    ),
    "independent": (
        ("marginal", "independent"),
        "probabilities='marginal', of an action whatever the other positions show: given those before, as in a ranking "
        "without replacement, weights and bound would be wrong. Or use weight='product'.",
    ),
    "additive": (
        ("independent",),
        "probabilities='independent': otherwise, as without replacement, the probability of a page is not a product over "
        "positions. Use weight='product' with probabilities='conditional'.",
    ),
}
"""The kinds of probabilities that each weight takes, and what it needs."""
_MANY = 1 << 20
LOGARITHM, SMALLEST_OF_PAGE = " (logarithm of the product)", " (smallest of the page)"
_NAMES = ("log_propensity", LOGARITHM, " (product)"), ("propensity", SMALLEST_OF_PAGE, " (excess weight)")
"""What declares production's column, its ending and that of candidates, for pages of multiplied and of added weights."""
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
    reward_range: Range = (0, 1),
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
    kinds, needed = _TAKES.get(str(weight), ((), ""))
    named = name_policies(policies)
    drawn = isinstance(propensity, Wins) or any("drawn candidate" in policy.features for policy in named.values())
    wrong = ""
    if not kinds:
        wrong = f"weight must be 'product', 'independent' or 'additive', but is {weight!r}."
    elif probabilities not in ("conditional", "marginal", "independent"):
        wrong = f"probabilities must be 'conditional', 'marginal' or 'independent', but is {probabilities!r}."
    elif probabilities not in kinds:
        wrong = f"weight={weight!r} needs {needed}"
    elif weight != "independent" and drawn:
        wrong = f"weight={weight!r} combines positions, but wins are draws of single ones; use weight='independent'."
    elif weight == "additive" and isinstance(size, str):
        wrong = "weight='additive' takes size= as a number, or most=, the most positions a page can have."
    elif weight == "product" and (size is not None or most is not None):
        wrong = "weight='product' takes neither size= nor most=: a slate is one round."
    if wrong:
        raise UsageError(wrong)
    declared: dict[str, Any] = {
        "reward": reward, "propensity": propensity, "reward_range": reward_range, "cluster": slate, "cluster_size": size,
        "cluster_max": _MANY if weight == "product" else most,
    }  # fmt: skip
    if weight == "independent":
        return Imported(Logs(source, **declared, assumes=[INDEPENDENT, MARGINAL]), named)
    return _pages(Logs(source, **declared), named, positions=int(most or size or 0) if weight == "additive" else None)


def _pages(rows: Logs, policies: Mapping[str, Policy], *, positions: int | None) -> Imported:
    """One row for each page: weights multiplied over its positions or, given how many it can have, added up."""
    additive = positions is not None
    role, ending, own = _NAMES[additive]
    columns = {name: _column_of(name, policy) + own for name, policy in policies.items()}
    rewards, chances = list[FloatArray](), list[FloatArray]()
    candidates = {name: list[FloatArray]() for name in policies}
    invalid, count = dict[Fault, Tally](), 0
    for read in rows.batches(Needs.all_of(policy.needs(rows) for policy in policies.values())):
        batch = Batch(rows, read, policies).read()
        invalid, count = merge_tallies(invalid, batch.rows.tallies), count + batch.size
        if invalid:
            continue
        assert batch.units.starts is not None
        starts, lengths = batch.units.starts[:-1], np.diff(batch.units.starts)
        differ = batch.reward != np.repeat(batch.reward[starts], lengths)
        if additive and differ.any():
            raise LogsError(
                f"weight='additive' is for one reward a page, repeated in its rows, but {int(differ.sum()):,} rows have "
                f"another than the first row of their page, the first in row {int(batch.rows.numbered[differ][0]):,}."
            )
        means = np.add.reduceat(batch.reward, starts) / lengths
        rewards.append(np.array([rows.scale.value(mean) for mean in means.tolist()]))
        chances.append(
            np.minimum.reduceat(batch.propensity, starts) if additive else np.add.reduceat(np.log(batch.propensity), starts)
        )
        for name, found in batch.policies.items():
            with np.errstate(divide="ignore"):
                terms = found.excess(batch.propensity) if additive else np.log(found.logged)
            summed = np.add.reduceat(terms, starts)
            candidates[name].append(summed if additive else np.exp(summed))
    if invalid:
        refuse_faults(invalid, rows=count)
    of_page, wrong = np.concatenate([np.zeros(0), *chances]), ""
    if not len(of_page):
        wrong = "these logs are empty: they contain no slate."
    elif not additive and (tiny := int((of_page < SMALLEST).sum())):
        few = f"{tiny:,} of {len(of_page):,} slates have a probability below 1e-290, too small to compute with"
        wrong = f"{few}; use weight='independent' if its assumption holds."
    if wrong:
        raise LogsError(wrong)
    reward, chance = rows.declaration.reward.name, f"{rows.declaration.flat['propensity']}{ending}"
    table = {columns[name]: np.concatenate(parts) for name, parts in candidates.items()}
    declared: dict[str, Any] = {"reward": reward, role: chance, "reward_range": (rows.scale.low, rows.scale.high)}
    assumed = DRAWN_INDEPENDENTLY if additive else PRODUCT
    logs = Logs({**table, reward: np.concatenate(rewards), chance: of_page}, **declared, assumes=[assumed])
    made: dict[str, Policy] = {name: as_policy(column) for name, column in columns.items()}
    if positions is not None:
        made = {name: AdditiveSlate(columns[name], positions, policy.limits.drop) for name, policy in policies.items()}
    return Imported(logs, made)


def _column_of(name: str, policy: Policy) -> str:
    """The column that a policy reads, by which a certificate can be verified; else its name."""
    described = policy.describe()
    return str(described["column"]) if described.get("kind") == "column" else f"{name} (policy)"


def of_pages(declared: Mapping[str, Any]) -> bool:
    """Recognise the declaration of pages that were made from the rows of their positions."""
    return str(declared.get("log_propensity", declared.get("propensity"))).endswith((LOGARITHM, SMALLEST_OF_PAGE))


def slates_again(source: Any, slate: str, question: Mapping[str, Any]) -> Logs:
    """The pages that a certificate is about, from the rows of their positions; its question says how they were made."""
    declared = question["declaration"]
    weight: Any = "product" if "log_propensity" in declared else "additive"
    role, ending, own = _NAMES[weight == "additive"]
    described = list(_values_in({key: question.get(key) for key in ("policies", "over")}))
    read = [value for value in described if isinstance(value, str) and value.endswith(own)]
    if not str(declared.get(role)).endswith(ending) or not read:
        raise UsageError("--slate: this certificate is not about slates; leave it out.")
    positions = [value for value in described if isinstance(value, int)]
    return slates(
        source, [column.removesuffix(own) for column in dict.fromkeys(read)], slate=slate, reward=declared["reward"],
        propensity=declared[role].removesuffix(ending), weight=weight,
        probabilities="conditional" if weight == "product" else "independent",
        most=max(positions) if weight == "additive" else None, reward_range=tuple(declared["reward_range"]),
    ).logs  # fmt: skip


def _values_in(content: Any) -> Iterator[Any]:
    if isinstance(content, Mapping):
        for value in content.values():
            yield from _values_in(value)
    else:
        yield content
