"""The embedded demo: a small web shop with known true values, against which every bound can be checked."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowTable, FloatArray
from surelift.datasets.draws import arrivals, draw, softmax
from surelift.errors import whole
from surelift.traits.logs import Logs

VISITORS = {"new": 0.5, "returning": 0.35, "loyal": 0.15}
DEVICES = {"phone": 0.65, "desktop": 0.35}
DAYPARTS = {"day": 0.6, "evening": 0.4}
CONTEXTS = ("visitor", "device", "daypart")
ITEMS = ("boots", "coat", "dress", "gloves", "hat", "jeans", "scarf", "shirt", "socks", "sweater")
CANDIDATES = ("better", "slight", "worse")
SEED = 20240523


@dataclass(frozen=True, slots=True)
class Shop:
    """Four weeks of visits, one item shown per visit, and the true value of each policy.

    ``table`` is a pyarrow table of the visits, ``true_values`` the expected clicks per visit of production and each
    candidate, over all contexts and items.
    """

    table: ArrowTable
    true_values: dict[str, float]

    def __repr__(self) -> str:
        return f"Shop({self.table.num_rows:,} visits; columns {', '.join(self.table.column_names)})"

    def logs(self) -> Logs:
        return Logs(self.table, **self.columns())

    @staticmethod
    def columns() -> dict[str, Any]:
        return {
            "reward": "click", "propensity": "propensity", "action": "item", "actions": list(ITEMS),
            "contexts": list(CONTEXTS), "time": "time",
        }  # fmt: skip

    @staticmethod
    def policies() -> dict[str, str]:
        return {name: f"p_{name}" for name in CANDIDATES}


def shop(rounds: int = 20_000, *, seed: int = SEED) -> Shop:
    """Simulate visits to the shop, whose click rates and policies are fixed.

    >>> shop(rounds=2).table.column_names
    ['time', 'visitor', 'device', 'daypart', 'item', 'click', 'propensity', 'p_better', 'p_slight', 'p_worse']

    Args:
        rounds: How many visits.
        seed: Another seed gives other visits to the same shop.
    """
    rounds = whole("rounds", rounds)
    contexts = list(product(VISITORS, DEVICES, DAYPARTS))
    shares = np.array([VISITORS[v] * DEVICES[d] * DAYPARTS[t] for v, d, t in contexts])
    # Click rates between about 2% and 25%: item popularity plus visitor taste.
    taste = 1.6 * (np.random.default_rng(1).random((len(contexts), len(ITEMS))) - 0.5)
    clicks = np.asarray(1.0 / (1.0 + np.exp(-(np.linspace(-3.4, -1.9, len(ITEMS)) + taste))))
    policies = _policies(clicks)
    truth = {name: float((shares[:, None] * matrix * clicks).sum()) for name, matrix in policies.items()}

    rng = np.random.default_rng(seed)
    context = draw(np.broadcast_to(shares, (rounds, len(shares))), rng.random(rounds))
    item = draw(policies["production"][context], rng.random(rounds))
    click = (rng.random(rounds) < clicks[context, item]).astype(np.int8)
    table = pa.table(
        {
            "time": arrivals(rng, "2024-03-04", 28, rounds),
            **{name: np.array(part)[context] for name, part in zip(CONTEXTS, zip(*contexts, strict=True), strict=True)},
            "item": np.array(ITEMS)[item],
            "click": click,
            "propensity": policies["production"][context, item],
            **{f"p_{name}": policies[name][context, item] for name in CANDIDATES},
        }
    )
    return Shop(table, truth)


def _policies(clicks: FloatArray) -> dict[str, FloatArray]:
    """Production knows item popularity roughly; the candidates know more, slightly more, and less."""
    popularity = np.broadcast_to(clicks.mean(axis=0), clicks.shape)
    hunch = np.random.default_rng(2).random(clicks.shape)
    scores = {
        "production": (10.0 * popularity, 0.2),
        "better": (30.0 * clicks, 0.05),
        "slight": (10.0 * popularity + 4.0 * (clicks - popularity) + 1.2 * hunch, 0.1),
        "worse": (-12.0 * clicks, 0.05),
    }
    return {name: (1.0 - epsilon) * softmax(score) + epsilon / len(ITEMS) for name, (score, epsilon) in scores.items()}
