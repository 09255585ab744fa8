"""Slates: product weights and per-position weights, each where its assumption holds."""

from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import importers
from surelift.errors import LogsError, UsageError

POSITIONS, ITEMS = 3, 4
LOGGING = np.array([0.4, 0.3, 0.2, 0.1])
NEW = np.array([0.1, 0.2, 0.3, 0.4])
RATES = np.array([0.1, 0.2, 0.4, 0.6])


def draw(slates: int, seed: int, *, whole: bool = False) -> dict[str, Any]:
    """One row per position; with ``whole``, all rows of a slate have reward 1 if it shows the last item twice."""
    rng = np.random.default_rng(seed)
    shown = rng.choice(ITEMS, size=(slates, POSITIONS), p=LOGGING)
    click = (rng.random(shown.shape) < RATES[shown]) * 1.0
    if whole:
        click = np.repeat(((shown == ITEMS - 1).sum(axis=1) >= 2)[:, None], POSITIONS, axis=1) * 1.0
    return {
        "slate": np.repeat(np.arange(slates), POSITIONS), "click": click.ravel(), "p": LOGGING[shown].ravel(),
        "new": NEW[shown].ravel(), "shown": shown.ravel(),
    }  # fmt: skip


def slates_of(table: dict[str, Any], weight: Any, probabilities: Any = "independent", **options: Any) -> Any:
    columns = {"slate": "slate", "reward": "click", "propensity": "p", "probabilities": probabilities}
    return importers.slates(table, "new", **columns, weight=weight, **options)


def test_the_product_gives_one_round_per_slate() -> None:
    table = draw(500, 1)
    imported = slates_of(table, "product")
    by_slate = {name: np.reshape(table[name], (-1, POSITIONS)) for name in ("click", "p", "new")}
    plain = sl.Logs(reward=by_slate["click"].mean(axis=1), propensity=by_slate["p"].prod(axis=1))
    ours = sl.compare(imported.logs, imported.policies["new"])
    theirs = sl.compare(plain, {"new": by_slate["new"].prod(axis=1)})
    assert (ours.lower, ours.upper, ours.rounds) == pytest.approx((theirs.lower, theirs.upper, 500))
    assert any("probability of the slate is their product" in assumption for assumption in ours.assumptions)


def test_position_weights_give_one_cluster_per_slate() -> None:
    table = draw(500, 1)
    imported = slates_of(table, "independent", size=POSITIONS)
    plain = sl.Logs(table, reward="click", propensity="p", cluster="slate", cluster_size=POSITIONS)
    ours, theirs = sl.compare(imported.logs, imported.policies), sl.compare(plain, "new")
    assert (ours.lower, ours.upper, ours.rounds) == (theirs.lower, theirs.upper, 500)
    assert any("not on the other positions" in assumption for assumption in ours.assumptions)
    assert sl.verify(sl.Certificate.of(ours), imported.logs).same


def test_both_cover_and_position_weights_are_much_narrower() -> None:
    """100 logs, delta 0.1: valid bounds miss more than 24 times with probability below one in ten thousand."""
    truth, misses, widths = float(NEW @ RATES), {"product": 0, "independent": 0}, {"product": 0.0, "independent": 0.0}
    for seed in range(100):
        table = draw(300, seed)
        for weight in misses:
            imported = slates_of(table, weight, **({} if weight == "product" else {"size": POSITIONS}))
            evaluation = sl.evaluate(imported.logs, imported.policies, delta=0.1)["new"]
            assert evaluation.lower is not None
            assert evaluation.upper is not None
            misses[weight] += not evaluation.lower <= truth <= evaluation.upper
            widths[weight] += (evaluation.upper - evaluation.lower) / 100
    assert misses["product"] <= 24
    assert misses["independent"] <= 24
    assert widths["independent"] < 0.5 * widths["product"]


def test_a_reward_of_the_whole_slate_needs_the_product() -> None:
    truth = sum(
        np.prod(NEW[list(shown)])
        for shown in np.ndindex(ITEMS, ITEMS, ITEMS)
        if sum(item == ITEMS - 1 for item in shown) >= 2
    )
    table = draw(4_000, 2, whole=True)
    product = sl.evaluate(*_both(slates_of(table, "product")))["new"]
    per_position = sl.evaluate(*_both(slates_of(table, "independent", size=POSITIONS)))["new"]
    assert product.lower is not None
    assert product.upper is not None
    assert per_position.upper is not None
    assert product.lower <= truth <= product.upper
    assert per_position.upper < truth  # the assumption is false, and so is the bound


def _both(imported: Any) -> tuple[Any, Any]:
    return imported.logs, imported.policies


# Rankings of two of three items without replacement: the chances of the first, and of the second given the first.
FIRST = {"p": np.array([0.8, 0.1, 0.1]), "new": np.array([0.1, 0.45, 0.45])}
SECOND = {
    "p": np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]),
    "new": np.array([[0.0, 0.9, 0.1], [0.3, 0.0, 0.7], [0.3, 0.7, 0.0]]),
}
SECOND_RATES = np.array([0.0, 1.0, 0.4])


def draw_rankings(slates: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """With probabilities given the first position, and with marginal ones. Only the second position earns anything."""
    rng = np.random.default_rng(seed)
    first = rng.choice(3, size=slates, p=FIRST["p"])
    second = (rng.random((slates, 1)) > SECOND["p"][first].cumsum(axis=1)).sum(axis=1)
    rows = {
        "slate": np.repeat(np.arange(slates), 2),
        "click": np.column_stack([np.zeros(slates), rng.random(slates) < SECOND_RATES[second]]).ravel(),
    }
    conditional, marginal = dict(rows), dict(rows)
    for name in ("p", "new"):
        conditional[name] = np.column_stack([FIRST[name][first], SECOND[name][first, second]]).ravel()
        marginal[name] = np.column_stack([FIRST[name][first], (FIRST[name] @ SECOND[name])[second]]).ravel()
    return conditional, marginal


def test_position_weights_need_marginal_probabilities() -> None:
    values = {name: float(FIRST[name] @ SECOND[name] @ SECOND_RATES) / 2 for name in ("p", "new")}
    truth = values["new"] - values["p"]
    assert truth < -0.04
    conditional, marginal = draw_rankings(20_000, 5)
    false = sl.Logs(conditional, reward="click", propensity="p", cluster="slate", cluster_size=2)
    assert sl.compare(false, "new").lower > 0.05  # certified, and false
    with pytest.raises(UsageError, match="whatever the other positions show"):
        slates_of(conditional, "independent", "conditional", size=2)
    with pytest.raises(UsageError, match="that of marginal probabilities is not"):
        slates_of(marginal, "product", "marginal")
    product = sl.compare(*_both(slates_of(conditional, "product", "conditional")))
    by_position = sl.compare(*_both(slates_of(marginal, "independent", "marginal", size=2)))
    for answer in (product, by_position):
        assert answer.lower <= truth <= answer.upper < 0.0
    assert any("given the context alone" in assumption for assumption in by_position.assumptions)


def test_invalid_slates_are_rejected() -> None:
    table = draw(10, 3)
    with pytest.raises(UsageError, match="'product', 'independent' or 'additive'"):
        slates_of(table, "both")
    with pytest.raises(UsageError, match="'conditional', 'marginal' or 'independent'"):
        slates_of(table, "product", "joint")
    with pytest.raises(UsageError, match="neither size= nor most="):
        slates_of(table, "product", size=3)
    with pytest.raises(UsageError, match="cluster"):
        slates_of(table, "independent")
    with pytest.raises(LogsError, match="propensity 'p'"):
        slates_of({**table, "p": np.where(table["p"] > 0.35, 0.0, table["p"])}, "product")
    with pytest.raises(LogsError, match="empty"):
        slates_of({name: values[:0] for name, values in table.items()}, "product")
    shuffled = {name: np.concatenate([values[3:], values[:1]]) for name, values in table.items()}
    with pytest.raises(LogsError):
        slates_of({name: np.concatenate([values, values[:1]]) for name, values in shuffled.items()}, "product")


def test_vanishing_slate_probabilities_are_rejected() -> None:
    """60 positions, 250,000 items: products lose precision long before they underflow to 0."""
    positions, pages = 60, 50
    table = {
        "slate": np.repeat(np.arange(pages), positions), "click": np.ones(pages * positions),
        "p": np.full(pages * positions, 4e-6),
        "new": np.full(pages * positions, 3.9e-6),
    }  # fmt: skip
    with pytest.raises(LogsError, match="50 of 50 slates have a probability below 1e-290"):
        slates_of(table, "product")


def test_a_policy_may_be_called_reward() -> None:
    table = draw(100, 4)
    imported = importers.slates(
        table, {"reward": "new"}, slate="slate", reward="click", propensity="p", weight="product",
        probabilities="independent",
    )  # fmt: skip
    assert sl.compare(imported.logs, imported.policies).rounds == 100
