"""Clusters and sampled logs: batched and counted correctly, and valid where the naive bound fails."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surelift as sl
from surelift import grids
from surelift.bounds import mixture
from surelift.cli.explain import explain_certificate
from surelift.engines import collect
from surelift.logs.batch import TableBatch
from surelift.logs.ids import whole_clusters
from surelift.policies.resolve import name_policies
from surelift.quantities import Value
from surelift.statistics import Term, by_weights, plan_of
from tests import reference
from tests.prose import flat


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=12), cuts=st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_no_cluster_is_split(sizes: list[int], cuts: list[int]) -> None:
    users = np.repeat(np.arange(len(sizes)), sizes)
    table = pa.table({"user": users, "row": np.arange(len(users))})
    batches: list[TableBatch] = []
    start = 0
    while start < len(users):
        batches.append(TableBatch(table.slice(start, cuts[len(batches) % len(cuts)]), start))
        start += batches[-1].table.num_rows
    rebatched = list(whole_clusters(iter(batches), "user"))
    assert [row for batch in rebatched for row in batch.table["row"].to_pylist()] == list(range(len(users)))
    assert [batch.start for batch in rebatched] == [batch.table["row"][0].as_py() for batch in rebatched]
    seen: set[int] = set()
    for batch in rebatched:
        inside = set(batch.table["user"].to_pylist())
        assert not inside & seen
        assert batch.again is None
        seen |= inside


def users_log(sizes: list[int], rng: np.random.Generator) -> dict[str, Any]:
    rounds = sum(sizes)
    return {
        "user": np.repeat([f"u{i}" for i in range(len(sizes))], sizes), "size": np.repeat(sizes, sizes),
        "r": rng.integers(0, 5, rounds) / 4, "p": rng.uniform(0.2, 1.0, rounds), "new": rng.uniform(0.0, 1.0, rounds),
    }  # fmt: skip


DECLARED: dict[str, Any] = {"reward": "r", "propensity": "p", "cluster": "user"}


@pytest.mark.parametrize("most", [None, 6])
@pytest.mark.parametrize("seed", range(5))
def test_against_plain_loops(most: int | None, seed: int) -> None:
    """phi_c is the mean over a cluster's rounds, or their sum over the declared maximum, padded with 0 or 1."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 15).tolist()
    table = users_log(sizes, rng)
    w = table["new"] / table["p"]
    starts = np.concatenate([[0], np.cumsum(sizes)])

    def terms(values: Any, pad: float) -> Any:
        return np.array(
            [
                (values[a:b].sum() + (pad * (most - (b - a)) if most else 0.0)) / (most or (b - a))
                for a, b in pairwise(starts)
            ]
        )

    size: dict[str, Any] = {"cluster_max": most} if most else {"cluster_size": "size"}
    logs = sl.Logs(table, **DECLARED, **size)
    lower = sl.evaluate(logs, "new", sides="lower", delta=0.3)["new"]
    upper = sl.evaluate(logs, "new", sides="upper", delta=0.3)["new"]
    gain = sl.compare(logs, "new", delta=0.3)
    r = table["r"]
    assert lower.rounds == len(sizes)
    assert lower.counted == "clusters"
    assert lower.estimate == pytest.approx(terms(w * r, 0.0).mean())
    assert lower.lower == pytest.approx(reference.lower(terms(w * r, 0.0), 0.3), abs=1e-10)
    assert upper.upper == pytest.approx(min(1.0, 1 - reference.lower(terms(w * (1 - r), 1.0), 0.3)), abs=1e-10)
    assert gain.lower == pytest.approx(reference.lower(terms((w - 1) * r, 0.0), 0.3, offset=1.0), abs=1e-10)
    assert any("counts once" in assumption for assumption in gain.assumptions)
    assert sl.verify(sl.Certificate.of(gain), logs).same
    assert f"{len(sizes)} clusters" in str(gain)
    units = "Amounts are per round, in clusters filled up to" if most else "Amounts are means over clusters of their"
    assert units in flat(str(gain))
    assert units in flat(str(sl.evaluate(logs, "new")))


def test_control_works_on_clusters() -> None:
    """Two rounds of one user: the cluster's term is the mean of the two controlled terms."""
    logging = [[0.5, 0.5], [0.25, 0.75]]
    table: dict[str, Any] = {
        "r": [1.0, 0.0],
        "p": [0.5, 0.75],
        "a": [0, 1],
        "l": logging,
        "new": [[1.0, 0.0], [0.5, 0.5]],
        "u": [1, 1],
    }
    declared: dict[str, Any] = {"reward": "r", "propensity": "p", "action": "a", "logging": "l"}
    mixture_plan = mixture.plan(
        quantity=Value(), offset=0.0, count=lambda: 1, grid=grids.single(1.0), narrowing=by_weights(Value())
    )
    term = Term("new", Value(), mixture_plan)
    plan = plan_of(name_policies({"new": "new"}), (term,))
    clustered = collect(sl.Logs(table, **declared, cluster="u", cluster_size=2), plan).of(term)
    separate = [
        collect(sl.Logs({name: column[i : i + 1] for name, column in table.items()}, **declared), plan).of(term)
        for i in range(2)
    ]
    for j, component in enumerate(mixture_plan.components):
        phis = [math.expm1(part.log_sums[j]) / component.smoothing - component.offset for part in separate]
        mean = sum(phis) / 2
        assert clustered.log_sums[j] == pytest.approx(math.log1p(component.smoothing * (mean + component.offset)))


def test_other_methods_count_clusters_too() -> None:
    """Each round that a cluster lacks is smoothed as any other: a shortfall of 1 is clipped, and divided."""
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 4, 200)
    table, starts = users_log(sizes.tolist(), rng), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    logs = sl.Logs(table, **DECLARED, cluster_max=3)
    p, q, r = (np.asarray(table[name], dtype=float) for name in ("new", "p", "r"))
    w, n, log = p / q, len(sizes), math.log(2 / 0.1)

    def found(method: str, **options: Any) -> tuple[float, float]:
        answer = sl.evaluate(logs, "new", delta=0.1, method=method, **options)["new"]
        assert answer.estimate == pytest.approx(units(w * r, 0.0).mean())
        assert answer.lower is not None
        assert answer.upper is not None
        return answer.lower, answer.upper

    def units(values: Any, lacking: float) -> Any:
        return (np.add.reduceat(values, starts) + lacking * (3 - sizes)) / 3

    def second_moment(z: Any) -> float:
        return math.expm1(0.5 * z.mean() - 0.125 * (z * z).mean() - log / n) / 0.5

    def bernstein(z: Any) -> float:
        return float(z.mean() - math.sqrt(2 * z.var(ddof=1) * math.log(2 / 0.05) / n)) - (
            7 * 0.75 * math.log(2 / 0.05) / (3 * (n - 1))
        )

    z = units(w * r, 0.0)
    margin = stats.norm.isf(0.05) * z.std(ddof=1) / math.sqrt(n)
    assert found("normal") == pytest.approx((z.mean() - margin, z.mean() + margin), abs=1e-12)
    assert found("bootstrap") == pytest.approx((z.mean() - margin, z.mean() + margin), abs=0.2 * margin)
    expected = (
        second_moment(units(np.minimum(w * r, 2.0), 0.0)),
        1 - second_moment(units(np.minimum(w * (1 - r), 2.0), 1.0)),
    )
    assert found("second-moment", smoothing=0.5) == pytest.approx(expected, abs=1e-9)
    clip = np.minimum(w, 0.75)
    expected = bernstein(units(clip * r, 0.0)), 1 - bernstein(units(clip * (1 - r), 0.75))
    assert found("empirical-bernstein", clip=0.75) == pytest.approx((max(0.0, expected[0]), min(1.0, expected[1])), abs=1e-9)
    explored = p / (q + 0.25)
    expected = (
        units(explored * r, 0.0).mean() - log / (0.5 * n),
        1 - units(explored * (1 - r), 1 / 1.25).mean() + log / (0.5 * n),
    )
    assert found("implicit-exploration", smoothing=0.5) == pytest.approx(
        (max(0.0, expected[0]), min(1.0, expected[1])), abs=1e-9
    )


def test_invalid_cluster_declarations_are_rejected() -> None:
    table = users_log([2, 3], np.random.default_rng(0))
    with pytest.raises(sl.UsageError, match="exactly one of cluster_size="):
        sl.Logs(table, **DECLARED)
    with pytest.raises(sl.UsageError, match="need cluster=, the column of cluster ids"):
        sl.Logs(table, reward="r", propensity="p", cluster_max=3)
    with pytest.raises(sl.UsageError, match="cluster_max must be a whole number"):
        sl.Logs(table, **DECLARED, cluster_max=0)
    with pytest.raises(
        sl.LogsError, match="3 of 5 values belong to a cluster with more than cluster_max rounds; the first is 3"
    ):
        sl.evaluate(sl.Logs(table, **DECLARED, cluster_max=2), "new")
    with pytest.raises(sl.LogsError, match="are not the number of rounds that their cluster has"):
        sl.evaluate(sl.Logs({**table, "size": [2, 2, 4, 4, 4]}, **DECLARED, cluster_size="size"), "new")
    split = {**table, "user": ["a", "b", "a", "b", "b"], "size": [1, 1, 1, 2, 2]}
    with pytest.raises(
        sl.LogsError, match="3 of 5 values belong to a cluster that had already ended; the first is 'a' in row 2"
    ):
        sl.evaluate(sl.Logs(split, **DECLARED, cluster_size="size"), "new")
    with pytest.raises(sl.UsageError, match=r"method 'efron-stein' and clusters \(cluster=\) do not go together"):
        sl.evaluate(sl.Logs(table, **DECLARED, cluster_size="size"), "new", method="efron-stein")
    with pytest.raises(sl.LogsError, match="differ within their cluster; the first is null in row 1"):
        sl.evaluate(sl.Logs({**table, "s": list("abbbb")}, **DECLARED, cluster_size="size"), "new", by="s")


def repeat_visitors(rng: np.random.Generator, users: int, visits: int) -> dict[str, Any]:
    """Users who always like the candidate's action, or never do: their rounds are perfectly correlated."""
    likes = np.repeat(rng.random(users) < 0.5, visits)
    action = rng.random(users * visits) < 0.5
    return {
        "user": np.repeat(np.arange(users), visits), "r": (likes & action).astype(float),
        "p": np.full(users * visits, 0.5), "new": np.where(action, 0.95, 0.05),
    }  # fmt: skip


def test_unclustered_bounds_fail_where_clustered_bounds_hold() -> None:
    """30 users with 60 rounds each: bounds over rounds miss the true value 0.475 far too often, clustered ones rarely."""
    rng, runs, delta = np.random.default_rng(0), 120, 0.05
    naive = ours = 0
    for _ in range(runs):
        table = repeat_visitors(rng, 30, 60)
        plain = sl.evaluate(sl.Logs(table, reward="r", propensity="p"), "new", sides="lower", delta=delta)["new"]
        clustered = sl.Logs(table, **DECLARED, cluster_size=60)
        by_user = sl.evaluate(clustered, "new", sides="lower", delta=delta)["new"]
        assert plain.lower is not None
        assert by_user.lower is not None
        naive += plain.lower > 0.475
        ours += by_user.lower > 0.475
    assert naive > stats.binom.isf(1e-6, runs, delta)
    assert ours <= stats.binom.isf(1e-6, runs, delta)


def retrying_users(rng: np.random.Generator, users: int, most: int) -> dict[str, Any]:
    """Users retry until they succeed, at most ``most`` times, so the cluster size depends on the outcomes."""
    rows: list[tuple[int, float, float]] = []
    for user in range(users):
        for _ in range(most):
            action = rng.random() < 0.5
            reward = float(rng.random() < (0.6 if action else 0.2))
            rows.append((user, reward, 0.9 if action else 0.1))
            if reward:
                break
    who, r, new = (np.array(column) for column in zip(*rows, strict=True))
    sizes = np.bincount(who)[who]
    return {"user": who, "r": r, "p": np.full(len(r), 0.5), "new": new, "size": sizes}


def test_outcome_dependent_sizes_fail_where_a_declared_maximum_holds() -> None:
    rng, runs, delta, most = np.random.default_rng(1), 120, 0.05, 8
    # A user's expected reward over padded rounds with one round's policy changed, estimated from 200,000 users.
    many = retrying_users(np.random.default_rng(99), 200_000, most)
    truth = float((many["new"] / 0.5 * many["r"]).sum() / 200_000 / most)
    naive_truth = 0.9 * 0.6 + 0.1 * 0.2
    naive = ours = 0
    for _ in range(runs):
        table = retrying_users(rng, 300, most)
        sized = sl.Logs(table, **DECLARED, cluster_size="size")
        padded = sl.Logs(table, **DECLARED, cluster_max=most)
        padded_low = sl.evaluate(padded, "new", sides="lower", delta=delta)["new"].lower
        assert padded_low is not None
        ours += padded_low > truth
        try:
            low = sl.evaluate(sized, "new", sides="lower", delta=delta)["new"].lower
        except sl.LogsError:
            low = 1.0  # so wrong that the other side contradicts it
        assert low is not None
        naive += low > naive_truth
    assert naive > stats.binom.isf(1e-6, runs, delta)
    assert ours <= stats.binom.isf(1e-6, runs, delta)


def sampled(rng: np.random.Generator, rounds: int, kept_without_click: float) -> tuple[dict[str, Any], int]:
    """Keep all clicks and a share of the other rounds."""
    action = rng.random(rounds) < 0.5
    reward = (rng.random(rounds) < np.where(action, 0.10, 0.05)).astype(float)
    kappa = np.where(reward == 1.0, 1.0, kept_without_click)
    kept = rng.random(rounds) < kappa
    table = {"r": reward, "p": np.full(rounds, 0.5), "new": np.where(action, 0.9, 0.1), "kappa": kappa}
    return {name: column[kept] for name, column in table.items()}, rounds


def test_ignoring_sampling_fails_where_keep_probabilities_hold() -> None:
    rng, runs, delta = np.random.default_rng(2), 60, 0.1
    truth, now = 0.9 * 0.10 + 0.1 * 0.05, 0.075
    naive = np.zeros(1, dtype=int)
    ours = np.zeros(4, dtype=int)
    for _ in range(runs):
        table, before = sampled(rng, 4_000, 0.1)
        plain = sl.evaluate(sl.Logs(table, reward="r", propensity="p"), "new", sides="lower", delta=delta)["new"].lower
        logs = sl.Logs(table, reward="r", propensity="p", keep_probability="kappa", rounds_before_sampling=before)
        low = sl.evaluate(logs, "new", sides="lower", delta=delta)["new"]
        high = sl.evaluate(logs, "new", sides="upper", delta=delta)["new"].upper
        gain = sl.compare(logs, "new", delta=delta)
        assert plain is not None and low.lower is not None and high is not None  # noqa: PT018
        assert low.rounds == before
        naive += plain > truth
        ours += np.array([low.lower > truth, high < truth, gain.lower > truth - now, gain.upper < truth - now])
    assert naive[0] > stats.binom.isf(1e-6, runs, delta)
    assert ours.max() <= stats.binom.isf(1e-6, runs, delta), ours


def test_sampled_sums_by_hand() -> None:
    logs = sl.Logs(
        {"r": [1.0, 0.0], "p": [0.5, 0.5], "n": [0.8, 0.4], "k": [1.0, 0.25]}, reward="r", propensity="p",
        keep_probability="k", rounds_before_sampling=6,
    )  # fmt: skip
    gain = sl.compare(logs, "n", delta=0.5, grid=sl.grids.single(1.0))
    # z = (w - 1) r + 1 is 1.6 and 1; divided by the keep probabilities, 1.6 and 4; the mean of d/k over 6 rounds is 0.6/6.
    expected = math.expm1((math.log1p(1.6) + math.log1p(4.0) - math.log(2.0)) / 6) - 1.0
    assert gain.lower == pytest.approx(expected, abs=1e-10)
    assert gain.estimate == pytest.approx(0.1)
    assert gain.mean_weight == pytest.approx((1.6 + 0.8 / 0.25) / 6)


def test_sampling_that_cannot_be_corrected() -> None:
    table: dict[str, Any] = {"r": [1.0, 0.0], "p": [0.5, 0.5], "n": [0.8, 0.4], "k": [1.0, 0.25]}
    declared: dict[str, Any] = {"reward": "r", "propensity": "p", "keep_probability": "k"}
    with pytest.raises(sl.LogsError, match=r"varies from 0\.25 to 1, and rounds_before_sampling is not known"):
        sl.compare(sl.Logs(table, **declared), "n")
    constant = sl.compare(sl.Logs({**table, "k": [0.5, 0.5]}, **declared), "n")
    plain = sl.compare(sl.Logs(table, reward="r", propensity="p"), "n")
    assert (constant.lower, constant.upper) == (plain.lower, plain.upper)
    assert any("rounds that were kept" in assumption for assumption in constant.assumptions)
    with pytest.raises(sl.LogsError, match="rounds_before_sampling is 1, but 2 rounds were kept"):
        sl.compare(sl.Logs(table, **declared, rounds_before_sampling=1), "n")
    with pytest.raises(sl.UsageError, match="keep_probability= must name"):
        sl.Logs(table, reward="r", propensity="p", rounds_before_sampling=10)
    with pytest.raises(sl.LogsError, match=r"keep_probability 'k': 1 of 2 values lie outside \(0, 1\]"):
        sl.compare(sl.Logs({**table, "k": [0.0, 0.5]}, **declared, rounds_before_sampling=9), "n")
    with pytest.raises(sl.UsageError, match="before sampling"):
        sl.compare(sl.Logs({**table, "s": ["a", "b"]}, **declared, rounds_before_sampling=9), "n", by="s")
    for method in ("efron-stein", "bootstrap", "empirical-bernstein", "implicit-exploration"):
        with pytest.raises(sl.UsageError, match=f"method '{method}' and .*sampl.* do not go together"):
            sl.evaluate(sl.Logs(table, **declared, rounds_before_sampling=9), "n", method=method)


def test_second_moments_of_sampled_rounds_by_hand() -> None:
    rng = np.random.default_rng(5)
    table, before = sampled(rng, 2_000, 0.3)
    logs = sl.Logs(table, reward="r", propensity="p", keep_probability="kappa", rounds_before_sampling=before)
    answer = sl.evaluate(logs, "new", method="second-moment", smoothing=0.5, sides="lower")["new"]
    z = np.minimum(table["new"] / table["p"], 2.0) * table["r"] / table["kappa"]
    assert answer.estimate == pytest.approx((table["new"] / table["p"] * table["r"] / table["kappa"]).sum() / before)
    exponent = (0.5 * z.sum() - 0.125 * (z * z).sum() - math.log(1 / 0.05)) / before
    assert answer.lower == pytest.approx(math.expm1(exponent) / 0.5, abs=1e-9)


def test_unusual_cluster_ids(tmp_path: Path) -> None:
    table = users_log([2, 2, 2], np.random.default_rng(0))
    negative = {**table, "user": [-1, -1, -2, -2, 3, 3]}  # Python's hash(-1) equals hash(-2).
    assert sl.evaluate(sl.Logs(negative, **DECLARED, cluster_size=2), "new")["new"].rounds == 3
    with pytest.raises(sl.LogsError, match=r"cluster 'user': 2 of 6 values are missing"):
        sl.evaluate(sl.Logs({**table, "user": [1.0, 1.0, np.nan, np.nan, 3.0, 3.0]}, **DECLARED, cluster_size=2), "new")
    with pytest.raises(sl.UsageError, match="an id must be text or a number"):
        sl.evaluate(sl.Logs({**table, "user": [[1]] * 6}, **DECLARED, cluster_size=2), "new")
    # The same log in two files with different column types, and a cluster that spans both.
    plain = pa.table({**table, "user": ["a", "a", "b", "b", "c", "c"], "r": [0, 1, 0, 1, 1, 0]})
    coded = plain.set_column(0, "user", plain["user"].dictionary_encode())
    floats = coded.set_column(coded.column_names.index("r"), "r", coded["r"].cast(pa.float64()))
    pq.write_table(plain.slice(0, 3), tmp_path / "a.parquet")
    pq.write_table(floats.slice(3), tmp_path / "b.parquet")
    evaluation = sl.evaluate(sl.Logs(str(tmp_path / "*.parquet"), **DECLARED, cluster_size=2), "new")["new"]
    assert evaluation.rounds == 3


def test_a_certificate_counts_clusters() -> None:
    logs = sl.Logs(users_log([2, 3], np.random.default_rng(0)), **DECLARED, cluster_max=3)
    certificate = sl.Certificate.of(sl.evaluate(logs, "new"))
    assert "Verified: the same 2 clusters give the same answer." in str(sl.verify(certificate, logs))
    assert "from 2 clusters:" in "\n".join(explain_certificate(certificate))
