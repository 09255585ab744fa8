"""Continuous actions: exact weights, a declared discretisation, and kernels that are never certified."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import surelift as sl
from surelift import densities
from surelift.errors import LogsError, UsageError
from surelift.policies.resolve import from_description


def doses(rounds: int, seed: int = 0) -> dict[str, Any]:
    """A clinic: doses are sampled around a usual one, and help more the closer they are to the patient's need."""
    rng = np.random.default_rng(seed)
    need = rng.uniform(3, 7, rounds)
    usual = np.full(rounds, 5.0)
    dose = rng.normal(usual, 1.5)
    well = (rng.random(rounds) < np.exp(-0.5 * ((dose - need) / 1.5) ** 2)).astype(float)
    return {"need": need, "usual": usual, "dose": dose, "well": well, "spread": np.full(rounds, 1.5)}


def logs_of(table: dict[str, Any]) -> sl.Logs:
    return sl.Logs(table, reward="well", action="dose", propensity=densities.gaussian("usual", "spread"), density=True)


def value(mean: str, deviation: float, low: float = -math.inf, high: float = math.inf) -> float:
    """The true value of a Gaussian policy around the need, or around the usual dose, by integration over both."""
    need, dose = np.linspace(3, 7, 401)[:, None], np.linspace(-5, 15, 4_001)[None, :]
    centre = need if mean == "need" else np.full_like(need, 5.0)
    shares = stats.norm.pdf(dose, centre, deviation) * ((dose >= low) & (dose <= high))
    helped = (shares * np.exp(-0.5 * ((dose - need) / 1.5) ** 2)).sum(axis=1) / shares.sum(axis=1)
    return float(helped.mean())


def test_densities_agree_with_scipy() -> None:
    table = doses(50)

    def read(name: str) -> Any:
        return table[name]

    at = table["dose"]
    for low, high in ((-math.inf, math.inf), (3.0, 6.0), (4.0, math.inf)):
        ours = densities.gaussian("need", 0.8, low=low, high=high)
        law = stats.truncnorm((low - table["need"]) / 0.8, (high - table["need"]) / 0.8, table["need"], 0.8)
        np.testing.assert_allclose(ours.at(at, read), law.pdf(at), rtol=1e-10, atol=1e-300)
        np.testing.assert_allclose(ours.below(at, read), law.cdf(at), rtol=1e-9, atol=1e-14)
    blend = densities.blend([(0.9, densities.gaussian("need", 0.8)), (0.1, densities.uniform(0, 10))])
    law = stats.norm(table["need"], 0.8)
    inside = (at >= 0) & (at <= 10)
    np.testing.assert_allclose(blend.at(at, read), 0.9 * law.pdf(at) + 0.01 * inside, rtol=1e-12)
    np.testing.assert_allclose(blend.below(at, read), 0.9 * law.cdf(at) + 0.1 * np.clip(at / 10, 0, 1), rtol=1e-12)


def test_a_density_gives_the_same_bounds_as_a_column_of_its_values() -> None:
    table = doses(3_000)
    p = stats.norm(5.0, 1.5).pdf(table["dose"])
    q = stats.norm(table["need"], 1.0).pdf(table["dose"])
    plain = sl.compare(sl.Logs(reward=table["well"], propensity=p, density=True), {"new": q})
    ours = sl.compare(logs_of(table), {"new": densities.gaussian("need", 1.0)})
    assert (ours.lower, ours.upper, ours.estimate) == pytest.approx((plain.lower, plain.upper, plain.estimate), abs=1e-10)
    called = sl.compare(
        logs_of(table), {"new": lambda batch: stats.norm(batch["need"].to_numpy(), 1.0).pdf(batch["dose"].to_numpy())}
    )
    assert called.lower == pytest.approx(plain.lower, abs=1e-10)
    assert ours.certified


@pytest.mark.parametrize("kind", ["gaussian", "truncated", "blend"])
def test_bounds_cover_the_truth(kind: str) -> None:
    """150 logs: valid bounds at delta 0.1 miss more than 33 times with probability below one in a million."""
    forms = {
        "gaussian": densities.gaussian("need", 1.0),
        "truncated": densities.gaussian("need", 1.0, low=3.5, high=6.5),
        "blend": densities.blend([(0.5, densities.gaussian("need", 1.0)), (0.5, densities.gaussian(5.0, 1.5))]),
    }
    around_need = value("need", 1.0)
    truth = {
        "gaussian": around_need,
        "truncated": value("need", 1.0, 3.5, 6.5),
        "blend": 0.5 * around_need + 0.5 * value("usual", 1.5),
    }[kind]
    misses = 0
    for seed in range(150):
        evaluation = sl.evaluate(logs_of(doses(200, seed)), {"new": forms[kind]}, delta=0.1)["new"]
        assert evaluation.lower is not None
        assert evaluation.upper is not None
        misses += not evaluation.lower <= truth <= evaluation.upper
    assert misses <= 33


def test_a_discretisation_is_exact_for_the_policy_it_declares() -> None:
    """Sample a bin like the candidate, act within it like production: the importance weights by hand."""
    table, edges = doses(4_000), [3.0, 4.0, 5.0, 6.0, 7.0]
    answer = sl.compare(logs_of(table), {"new": densities.binned(densities.gaussian("need", 1.0), edges)})
    ends = np.array([-np.inf, *edges, np.inf])
    bin_index = np.searchsorted(edges, table["dose"], side="right")
    law, production = stats.norm(table["need"], 1.0), stats.norm(5.0, 1.5)
    mass = law.cdf(ends[bin_index + 1]) - law.cdf(ends[bin_index])
    weight = mass / (production.cdf(ends[bin_index + 1]) - production.cdf(ends[bin_index]))
    p = production.pdf(table["dose"])
    plain = sl.compare(sl.Logs(reward=table["well"], propensity=p, density=True), {"new": weight * p})
    assert (answer.lower, answer.upper) == pytest.approx((plain.lower, plain.upper), abs=1e-9)
    assert any("6 bins fixed in advance" in assumption for assumption in answer.assumptions)
    assert any("no single value had a chance of its own" in assumption for assumption in answer.assumptions)
    assert weight.mean() == pytest.approx(1, abs=0.05)
    deterministic = sl.compare(logs_of(table), {"new": densities.binned("need", edges)})
    candidate_bin = np.searchsorted(edges, table["need"], side="right")
    by_hand = np.where(candidate_bin == bin_index, weight / np.where(mass > 0, mass, 1), 0.0)
    assert deterministic.estimate == pytest.approx(np.mean((by_hand - 1) * table["well"]), abs=1e-9)
    assert deterministic.certified


def test_a_kernel_is_only_an_estimate_and_states_its_bandwidth() -> None:
    table = doses(4_000)
    kernel = densities.kernel("need", 0.5)
    estimate = sl.estimate(logs_of(table), {"new": kernel})["new"]
    weight = stats.norm(table["need"], 0.5).pdf(table["dose"]) / stats.norm(5.0, 1.5).pdf(table["dose"])
    assert estimate.estimate == pytest.approx(np.mean(weight * table["well"]), abs=1e-9)
    assert "bandwidth 0.5" in estimate.doubts[0]
    for form in (kernel, sl.blend(kernel, 0.5)):
        answer = sl.compare(logs_of(table), {"new": form})
        assert answer.lower > 0
        assert not answer.certified
        assert "bandwidth 0.5" in str(answer)
        assert sl.select(logs_of(table), {"new": form}).chosen is None
        assert sl.select(logs_of(table), {"new": form}, many="e-bh").discoveries == ()
    both = sl.select(logs_of(table), {"a": densities.gaussian("need", 1.0), "new": kernel})
    assert both.chosen == "a"
    assert "bandwidth" in both.doubts[0]


def test_a_certificate_of_densities_is_verified_from_the_file(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = doses(2_000)
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    logs = sl.Logs(
        tmp_path / "log.parquet",
        reward="well",
        action="dose",
        propensity=densities.gaussian("usual", "spread"),
        density=True,
    )
    policies = {
        "new": densities.gaussian("need", 1.0, low=0.0, high=10.0),
        "bins": densities.binned(densities.blend([(1.0, densities.gaussian("need", 1.0))]), [4.0, 6.0]),
    }
    answer = sl.select(logs, policies)
    sl.Certificate.of(answer).save(tmp_path / "c.json")
    assert sl.verify(tmp_path / "c.json", logs).same
    assert sl.verify(tmp_path / "c.json", tmp_path / "log.parquet").same
    for form in answer.provenance.question["policies"].values():
        assert from_description(form).describe() == form
    assert sl.check(logs, policies).ok


def test_a_growing_log_and_numpy_numbers() -> None:
    table = doses(2_000)
    declared: dict[str, Any] = {
        "reward": "well",
        "action": "dose",
        "density": True,
        "propensity": densities.gaussian("usual", "spread"),
    }
    forms = {"new": densities.gaussian("need", np.float64(1.0)), "smeared": densities.kernel("need", 0.5)}
    watch = sl.Monitor(forms, **declared)
    for part in range(2):
        watch.update({name: values[1_000 * part : 1_000 * (part + 1)] for name, values in table.items()})
    answer: Any = watch.answer()
    whole = sl.select(logs_of(table), forms, many="simultaneous")
    assert answer["new"].lower == pytest.approx(whole["new"].lower, abs=1e-12)
    assert not answer["smeared"].certified
    sl.Certificate.of(whole)
    question = sl.Question.of("compare", declared, {"new": forms["new"]})
    assert question.answer(sl.partial_sums([table], question)).rounds == 2_000


def test_a_monitor_of_densities_can_be_saved(tmp_path: Path) -> None:
    table = doses(500)
    watch = sl.Monitor(
        {"new": densities.gaussian("need", 1.0)}, reward="well", action="dose", density=True,
        propensity=densities.gaussian("usual", "spread"),
    )  # fmt: skip
    watch.update(table)
    watch.save(tmp_path / "state.json")
    assert sl.Monitor.load(tmp_path / "state.json").answer() == watch.answer()


def test_a_profile_of_a_kernel_states_its_bandwidth() -> None:
    profile = sl.profile(logs_of(doses(300)), {"new": densities.kernel("need", 0.5)})
    assert "bandwidth 0.5" in str(profile)
    assert "bandwidth 0.5" in (profile.to_html() or "")


def test_invalid_densities_are_rejected() -> None:
    table = doses(50)
    with pytest.raises(UsageError, match="set density=True"):
        sl.Logs(table, reward="well", action="dose", propensity=densities.gaussian("usual", 1.0))
    with pytest.raises(UsageError, match="no column 'usul'"):
        sl.Logs(table, reward="well", action="dose", propensity=densities.gaussian("usul", 1.0), density=True)
    with pytest.raises(UsageError, match="continuous actions"):
        sl.compare(sl.Logs(table, reward="well", propensity="spread", density=True), densities.gaussian("need", 1.0))
    logs = sl.Logs(table, reward="well", propensity="spread", action="dose", density=True)
    with pytest.raises(UsageError, match="the probability of production's bins"):
        sl.compare(logs, densities.binned("need", [5.0]))
    with pytest.raises(LogsError, match="density of production"):
        sl.compare(
            sl.Logs({**table, "spread": np.zeros(50)}, reward="well", action="dose", density=True,
                    propensity=densities.gaussian("usual", "spread")),
            densities.gaussian("need", 1.0),
        )  # fmt: skip
    truncated = sl.Logs(
        table,
        reward="well",
        action="dose",
        propensity=densities.gaussian("usual", 1.5, low=4.9, high=5.1),
        density=True,
    )
    with pytest.raises(LogsError, match="density of production"):
        sl.compare(truncated, densities.gaussian("need", 1.0))
    for wrong in (
        lambda: densities.gaussian("a", 0.0), lambda: densities.gaussian(None, 1.0),  # type: ignore[arg-type]
        lambda: densities.gaussian(1.0, 1.0, low=2.0, high=1.0), lambda: densities.uniform(1.0, 1.0),
        lambda: densities.blend([(0.5, densities.uniform(0, 1))]), lambda: densities.binned("a", [2.0, 1.0]),
        lambda: densities.binned("a", [math.nan]), lambda: densities.binned("a", [-math.inf, 0.0]),
        lambda: densities.binned("a", ["x"]), lambda: densities.binned("a", None), lambda: densities.blend(3),  # type: ignore[arg-type]
        lambda: densities.blend([(1.0, densities.kernel("a", 1.0))]),  # type: ignore[list-item]
        lambda: sl.Logs(table, reward="well", propensity={}, action="dose", density=True),
        lambda: sl.Logs(table, reward="well", propensity={"kind": "x"}, action="dose", density=True),
        lambda: densities.binned(3, [1.0]), lambda: densities.kernel("a", -1.0), lambda: densities.kernel(3, 1.0),  # type: ignore[arg-type]
    ):  # fmt: skip
        with pytest.raises(UsageError):
            wrong()
