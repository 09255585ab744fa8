"""Slates: the product of weights and the weight of a position, each where its assumption holds."""

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
    """A row for each position; with ``whole``, a slate earns 1 in all its rows where it shows the last item twice."""
    rng = np.random.default_rng(seed)
    shown = rng.choice(ITEMS, size=(slates, POSITIONS), p=LOGGING)
    click = (rng.random(shown.shape) < RATES[shown]) * 1.0
    if whole:
        click = np.repeat(((shown == ITEMS - 1).sum(axis=1) >= 2)[:, None], POSITIONS, axis=1) * 1.0
    return {
        "slate": np.repeat(np.arange(slates), POSITIONS), "click": click.ravel(), "p": LOGGING[shown].ravel(),
        "new": NEW[shown].ravel(), "shown": shown.ravel(),
    }  # fmt: skip


def slates_of(table: dict[str, Any], weight: Any, **options: Any) -> Any:
    return importers.slates(table, "new", slate="slate", reward="click", propensity="p", weight=weight, **options)


def test_the_product_is_one_round_a_slate() -> None:
    table = draw(500, 1)
    brought = slates_of(table, "product")
    by_slate = {name: np.reshape(table[name], (-1, POSITIONS)) for name in ("click", "p", "new")}
    plain = sl.Logs(reward=by_slate["click"].mean(axis=1), propensity=by_slate["p"].prod(axis=1))
    ours = sl.compare(brought.logs, brought.policies["new"])
    theirs = sl.compare(plain, {"new": by_slate["new"].prod(axis=1)})
    assert (ours.lower, ours.upper, ours.rounds) == pytest.approx((theirs.lower, theirs.upper, 500))
    assert any("chance of the slate is their product" in one for one in ours.assumptions)


def test_the_weight_of_a_position_is_a_cluster() -> None:
    table = draw(500, 1)
    brought = slates_of(table, "independent", size=POSITIONS)
    plain = sl.Logs(table, reward="click", propensity="p", cluster="slate", cluster_size=POSITIONS)
    ours, theirs = sl.compare(brought.logs, brought.policies), sl.compare(plain, "new")
    assert (ours.lower, ours.upper, ours.rounds) == (theirs.lower, theirs.upper, 500)
    assert any("not on the other positions" in one for one in ours.assumptions)
    assert sl.verify(sl.Certificate.of(ours), brought.logs).same


def test_they_cover_and_the_position_is_far_narrower() -> None:
    """100 logs, delta 0.1: more than 24 misses of a valid pair of bounds have a chance below one in ten thousand."""
    truth, misses, widths = float(NEW @ RATES), {"product": 0, "independent": 0}, {"product": 0.0, "independent": 0.0}
    for seed in range(100):
        table = draw(300, seed)
        for weight in misses:
            brought = slates_of(table, weight, **({} if weight == "product" else {"size": POSITIONS}))
            found = sl.evaluate(brought.logs, brought.policies, delta=0.1)["new"]
            assert found.lower is not None
            assert found.upper is not None
            misses[weight] += not found.lower <= truth <= found.upper
            widths[weight] += (found.upper - found.lower) / 100
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
    alone = sl.evaluate(*_both(slates_of(table, "independent", size=POSITIONS)))["new"]
    assert product.lower is not None
    assert product.upper is not None
    assert alone.upper is not None
    assert product.lower <= truth <= product.upper
    assert alone.upper < truth  # the assumption is false, and so is the bound


def _both(brought: Any) -> tuple[Any, Any]:
    return brought.logs, brought.policies


def test_what_is_wrong_is_told() -> None:
    table = draw(10, 3)
    with pytest.raises(UsageError, match="'product' or 'independent'"):
        slates_of(table, "both")
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


def test_chances_too_small_to_be_told_apart_are_refused() -> None:
    """Sixty positions of a quarter of a million items: products lose their digits long before they are zero."""
    places, pages = 60, 50
    table = {
        "slate": np.repeat(np.arange(pages), places), "click": np.ones(pages * places), "p": np.full(pages * places, 4e-6),
        "new": np.full(pages * places, 3.9e-6),
    }  # fmt: skip
    with pytest.raises(LogsError, match="50 of 50 slates had a chance below 1e-290"):
        slates_of(table, "product")


def test_a_policy_may_be_called_reward() -> None:
    table = draw(100, 4)
    brought = importers.slates(
        table, {"reward": "new"}, slate="slate", reward="click", propensity="p", weight="product"
    )
    assert sl.compare(brought.logs, brought.policies).rounds == 100
