"""Additive slates: exact on small pages, with and without support, where simpler versions are false."""

import json
import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surelift as sl
from surelift import importers
from surelift.arrays import FloatArray
from surelift.bounds import mixture
from surelift.engines import collect
from surelift.policies.resolve import name_policies
from surelift.questions.method import choose_method
from surelift.statistics import Plan, Request, plan_of
from surelift.statistics.bets import Bets
from tests.controls.exact import cases, factors_of
from tests.term_sums import collected_from


@dataclass
class Pages:
    """Pages of L positions: (L, items) chances by policy, and what each item adds to the chance of a reward."""

    logging: FloatArray
    new: FloatArray
    rival: FloatArray
    adds: FloatArray

    @classmethod
    def random(cls, seed: int, *, positions: int = 2, items: int = 3, supported: bool = True) -> "Pages":
        rng = np.random.default_rng(seed)
        logging, new, rival = (rng.dirichlet(np.ones(items), positions) for _ in range(3))
        if not supported:
            logging[:, 0] = 0.0
            logging /= logging.sum(axis=1, keepdims=True)
        return cls(logging, new, rival, rng.uniform(0.0, 1.0 / positions, (positions, items)))

    def value(self, policy: FloatArray) -> float:
        return float((policy * self.adds).sum())

    def outcomes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Every page that production can show, with and without a reward: chances, items, rewards."""
        places = np.arange(len(self.logging))
        rows = []
        for shown in product(range(self.logging.shape[1]), repeat=len(places)):
            chance, rate = self.logging[places, shown].prod(), self.adds[places, shown].sum()
            rows += [(chance * (1 - rate), shown, 0.0), (chance * rate, shown, 1.0)]
        chances, items, rewards = (np.array(column) for column in zip(*(row for row in rows if row[0] > 0), strict=True))
        return chances, items, rewards

    def draw(self, pages: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        chances, items, rewards = self.outcomes()
        drawn = rng.choice(len(chances), pages, p=chances / chances.sum())
        return items[drawn], rewards[drawn]

    def table(self, items: FloatArray, rewards: FloatArray) -> dict[str, Any]:
        """A row for each position; the reward of a page is repeated."""
        pages, positions = items.shape
        places = np.tile(np.arange(positions), pages)
        shown = items.ravel().astype(int)
        columns = {"p": self.logging, "new": self.new, "rival": self.rival}
        return {
            "page": np.repeat(np.arange(pages), positions), "reward": np.repeat(rewards, positions),
            **{name: chances[places, shown] for name, chances in columns.items()},
        }  # fmt: skip


COLUMNS: dict[str, Any] = {"slate": "page", "reward": "reward", "propensity": "p", "probabilities": "independent"}


def imported_from(table: Any, policies: Any = None, **options: Any) -> Any:
    names = {"new": "new", "rival": "rival"} if policies is None else policies
    return importers.slates(table, names, **{**COLUMNS, "weight": "additive", **options})


@pytest.mark.parametrize("alpha", [1.0, 0.2, 0.7])
@pytest.mark.parametrize("positions, supported", [(2, True), (2, False), (3, True), (3, False)])
def test_every_factor_has_mean_at_most_one(positions: int, supported: bool, alpha: float) -> None:
    law = Pages.random(positions, positions=positions, supported=supported)
    chances, items, rewards = law.outcomes()
    blended = {"new": sl.blend("new", alpha) if alpha < 1 else "new", "rival": "rival"}
    imported = imported_from(law.table(items, rewards), blended, size=positions)
    policies = name_policies(imported.policies)
    now, rival = law.value(law.logging), law.value(law.rival)
    new = now + alpha * (law.value(law.new) - now)
    limits = {name: imported.logs.declaration.unit.limits(policy.limits) for name, policy in policies.items()}
    for candidate, quantity, target in cases(new, now, rival):
        term = choose_method().plan(candidate, quantity, limits=limits, count=lambda: 1, known=frozenset())
        if candidate == "new" and not hasattr(quantity, "over"):
            kap = positions * alpha if quantity.paired else max(0.0, positions * alpha - 1)
            assert term.needed.offset == pytest.approx(kap)
        found = factors_of(imported.logs, plan_of(policies, (term,)), term)
        for component, factor in found.items():
            assert (factor >= 1.0 - 1e-9).all()
            mean = math.fsum(chances * factor) / (1 + component.smoothing * (target + component.offset))
            assert mean <= 1 + 1e-9
            if supported:
                assert mean == pytest.approx(1.0, abs=1e-9)


def test_bets_on_the_mean_weight_are_fair() -> None:
    law = Pages.random(3, positions=3)
    chances, items, rewards = law.outcomes()
    imported = imported_from(law.table(items, rewards), "new", size=3)
    bets = Bets(("new",))
    plan = Plan(imported.policies, (Request(bets),))
    rows = [collect(imported.logs.part(row, row + 1), plan).get(bets) for row in range(len(chances))]
    factors = np.exp([state.bets["weights of 'new'"].logs for state in rows])
    assert chances @ factors == pytest.approx(1.0)


def test_by_hand() -> None:
    """Weights 2 and 3/2: 2.5; weights 1/2 and 0: -0.5. Offsets 1 for the value, 2 for the improvement."""
    table = {
        "page": [1, 1, 2, 2], "reward": [1.0, 1.0, 1.0, 1.0], "p": [0.25, 0.5, 0.5, 0.5],
        "new": [0.5, 0.75, 0.25, 0.0],
    }  # fmt: skip
    imported = imported_from(table, "new", size=2)
    single: dict[str, Any] = {"grid": sl.grids.single(1.0), "delta": 0.9}
    value = sl.evaluate(imported.logs, imported.policies, sides="lower", **single)["new"]
    assert value.terms_mean == pytest.approx(1.0)
    expected = math.expm1((math.log1p(3.5) + math.log1p(0.5) + math.log(0.9)) / 2) - 1
    assert value.lower == pytest.approx(expected, abs=1e-10)
    gain = sl.compare(imported.logs, imported.policies, **single)
    expected = math.expm1((math.log1p(3.5) + math.log1p(0.5) + math.log(0.9)) / 2) - 2
    assert gain.lower == pytest.approx(expected, abs=1e-10)
    assert gain.improvement_range == (-1.0, 1.0)
    # Nothing is missed, so every term of the decline is 0.
    assert gain.upper == pytest.approx(2 - math.expm1((2 * math.log1p(2.0) + math.log(0.9)) / 2), abs=1e-10)
    vague = sl.evaluate(imported.logs, imported.policies, delta=1e-6)["new"]
    assert (vague.lower, vague.upper) == (0.0, 1.0)


def test_a_floor_of_zero_would_be_false() -> None:
    """Without an offset a factor can be negative, and cut off at 0 its mean exceeds 1."""
    law = Pages(
        np.array([[0.5, 0.5]] * 3), np.array([[0.9, 0.1]] * 3), np.array([[0.5, 0.5]] * 3), np.array([[0.1, 0.3]] * 3)
    )
    chances, items, rewards = law.outcomes()
    weights = (law.new / law.logging)[np.arange(3), items.astype(int)].sum(axis=1) - 2
    assert math.fsum(chances * weights * rewards) == pytest.approx(law.value(law.new))
    assert weights.min() < -1
    assert math.fsum(chances * np.maximum(weights, 0.0) * rewards) > law.value(law.new) + 0.1


def test_the_bounds_cover_and_are_narrower_than_the_product() -> None:
    """100 logs at delta 0.1; a valid bound misses more often than this with probability below one in a million."""
    law, rng, runs, delta = Pages.random(4, positions=4), np.random.default_rng(1), 100, 0.1
    new, now = law.value(law.new), law.value(law.logging)
    misses, widths, clipped = np.zeros(4), {"additive": 0.0, "product": 0.0}, 0
    for run in range(runs):
        items, rewards = law.draw(1_000, rng)
        table = law.table(items, rewards)
        imported = imported_from(table, "new", size=4)
        value: Any = sl.evaluate(imported.logs, imported.policies, delta=delta)["new"]
        gain = sl.compare(imported.logs, imported.policies, delta=delta)
        misses += [value.lower > new, value.upper < new, gain.lower > new - now, gain.upper < new - now]
        # Weights cut off at zero, as if they could not be negative.
        weights = np.maximum((table["new"] / table["p"]).reshape(-1, 4).sum(axis=1) - 3, 0.0)
        largest = weights.max()
        cut = sl.Logs(reward=rewards, propensity=np.full(len(weights), 1 / largest))
        clipped += mixture.lower_bound(collected_from(cut, weights / largest, "mixture"), delta=delta) > new
        if run < 3:
            plain = importers.slates(table, "new", **COLUMNS, weight="product")
            product_value: Any = sl.evaluate(plain.logs, plain.policies, delta=delta)["new"]
            for name, found in (("additive", value), ("product", product_value)):
                widths[name] += found.upper - found.lower
    allowed = stats.binom.isf(1e-6, runs, delta)
    assert misses.max() <= allowed, misses
    assert clipped > allowed
    assert widths["additive"] < 0.85 * widths["product"]


def test_a_reward_that_is_no_sum_breaks_it() -> None:
    """A reward for two items that differ, of a candidate that likes one of them in both places."""
    rng = np.random.default_rng(0)
    shown = rng.integers(0, 2, (20_000, 2))
    table = {
        "page": np.repeat(np.arange(len(shown)), 2), "reward": np.repeat((shown.sum(axis=1) == 1) * 1.0, 2),
        "p": np.full(2 * len(shown), 0.5), "new": np.where(shown.ravel() == 1, 0.1, 0.9),
    }  # fmt: skip
    found: Any = sl.evaluate(*_both(imported_from(table, "new", size=2)))["new"]
    assert found.lower > 0.4  # where the candidate earns 2 * 0.9 * 0.1


def _both(imported: Any) -> tuple[Any, Any]:
    return imported.logs, imported.policies


def test_what_is_said_and_stored(tmp_path: Path) -> None:
    law = Pages.random(1)
    logs, policies = _both(imported_from(law.table(*law.draw(500, np.random.default_rng(0))), most=5))
    answer = sl.compare(logs, {"new": policies["new"]})
    assert any("a sum with one part for each position" in line for line in answer.assumptions)
    assert any("independently of each other" in line for line in answer.assumptions)
    assert answer.rounds == 500
    content = json.loads(json.dumps(answer.provenance.question))
    assert sl.Question.from_dict(content).to_dict() == content
    sl.Certificate.of(answer).save(tmp_path / "page.json")
    assert sl.verify(tmp_path / "page.json", logs).same
    health = sl.check(logs, policies)
    assert health.ok
    wrong = importers.slates(
        {**law.table(*law.draw(5_000, np.random.default_rng(0))), "p": np.full(10_000, 0.05)}, "new", **COLUMNS,
        weight="additive", size=2,
    )  # fmt: skip
    assert any("average" in finding.statement for finding in sl.check(wrong.logs, wrong.policies).findings)
    blended = sl.compare(logs, {"some": sl.blend(policies["new"], 0.1)})
    assert blended.lower == pytest.approx(0.1 * answer.lower, rel=1e-6)
    blocks: Any = sl.evaluate(logs, policies, method="blocks")["new"]
    assert blocks.lower <= law.value(law.new) <= blocks.upper


def test_what_is_refused() -> None:
    law = Pages.random(2)
    table = law.table(*law.draw(50, np.random.default_rng(0)))
    for kind in ("conditional", "marginal"):
        with pytest.raises(sl.UsageError, match="is not a product over positions"):
            imported_from(table, size=2, probabilities=kind)
    with pytest.raises(sl.UsageError, match="exactly one of cluster_size="):
        imported_from(table)
    with pytest.raises(sl.UsageError, match="takes size= as a number"):
        imported_from(table, size="page")
    with pytest.raises(sl.LogsError, match="more than cluster_max rounds"):
        imported_from(table, most=1)
    logs, policies = _both(imported_from(table, size=2))
    with pytest.raises(
        sl.UsageError, match="method 'second-moment' do not go together: weights of additive slates may be negative"
    ):
        sl.evaluate(logs, policies, method="second-moment")
    with pytest.raises(sl.UsageError, match="largest weight and additive slate do not go together"):
        sl.compare(logs, {"new": sl.bounded(policies["new"], 5.0)})
    with pytest.raises(sl.UsageError, match="control='weights' needs production's whole distribution"):
        sl.compare(logs, {"new": policies["new"]}, control="weights")
    with pytest.raises(
        sl.UsageError, match="regularized estimate do not go together: weights may be negative, so only plain means"
    ):
        sl.estimate(logs, policies, estimator="clipped")
    assert sl.estimate(logs, policies, estimator="snips")["new"].estimate is not None


@pytest.mark.parametrize("weight", ["additive", "product"])
@pytest.mark.parametrize("whose", ["production", "the candidate"])
def test_draws_of_single_positions_are_not_those_of_a_page(weight: Any, whose: str) -> None:
    table = {"page": [0, 0], "click": [1, 1], "p": [0.5, 0.5], "k": [2, 2]}
    drawn = sl.wins("k", 4)
    propensity, policy = (drawn, "p") if whose == "production" else ("p", drawn)
    with pytest.raises(sl.UsageError, match="wins are draws of single ones"):
        importers.slates(
            table,
            policy,
            slate="page",
            reward="click",
            propensity=propensity,
            weight=weight,
            probabilities="independent",
        )
