"""Embeddings of actions: weights by hand, certificates that cover, and an assumption that the log can contradict."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift import embeddings
from surelift.errors import LogsError, UsageError
from tests.prose import flat

CODES = np.array([0, 0, 0, 1, 1, 1, 2, 2])


def draw(rounds: int, seed: int, *, direct: float = 0.0) -> tuple[dict[str, Any], Any, float]:
    """Rewards by cluster, and with ``direct`` also by the action inside it; the candidate likes the last of each cluster."""
    rng = np.random.default_rng(seed)
    logging = np.tile(np.array([0.3, 0.1, 0.02, 0.3, 0.1, 0.03, 0.1, 0.05]), (rounds, 1))
    candidate = np.tile(np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.2, 0.1, 0.6]), (rounds, 1))
    rates = np.array([0.2, 0.4, 0.7])[CODES] + direct * np.array([1, 0, -1, 1, 0, -1, 0.5, -0.5])
    action = rng.choice(8, size=rounds, p=logging[0])
    reward = (rng.random(rounds) < rates[action]) * 1.0
    columns = {"reward": reward, "propensity": logging[np.arange(rounds), action], "action": action, "logging": logging}
    return columns, candidate, float(candidate[0] @ rates)


def test_weights_are_those_of_clusters_by_hand() -> None:
    columns, candidate, _ = draw(2_000, 1)
    logs = sl.Logs(**columns, embedding=embeddings.kinds(CODES))
    one_hot = np.eye(3)[CODES]
    came = CODES[columns["action"]]
    marginal, own = columns["logging"] @ one_hot, candidate @ one_hot
    by_hand = sl.Logs(reward=columns["reward"], propensity=marginal[np.arange(2_000), came], action=came, logging=marginal)
    for control in ("none", "weights"):
        ours = sl.compare(logs, {"new": candidate}, control=control)
        theirs = sl.compare(by_hand, {"new": own}, control=control)
        assert (ours.lower, ours.upper, ours.estimate) == pytest.approx((theirs.lower, theirs.upper, theirs.estimate))
    assert any("no direct effect" in one for one in ours.assumptions)
    again = sl.Logs(
        {**{name: list(values) for name, values in columns.items()}, "e": came}, reward="reward", propensity="propensity",
        action="action", logging="logging", embedding=embeddings.known(one_hot, column="e"),
    )  # fmt: skip
    assert sl.compare(again, {"new": candidate}, control="weights").lower == pytest.approx(ours.lower)
    for form in (sl.blend(candidate, 0.2), sl.uniform(), "production"):
        assert np.isfinite(sl.evaluate(logs, {"a": form})["a"].estimate)
    mixed = sl.compare(logs, sl.blend(candidate, 0.1), control="none")
    assert mixed.lower == pytest.approx(0.1 * sl.compare(logs, {"new": candidate}, control="none").lower, abs=1e-9)


def test_embeddings_that_depend_on_the_context() -> None:
    """p(e|x, a) as a function of the batch: the weights by hand, and the truth between the bounds."""
    rng = np.random.default_rng(9)
    rounds = 4_000
    known = rng.dirichlet(np.ones(3), (2, 8))  # (contexts, actions, embeddings)
    x = rng.integers(0, 2, rounds)
    columns, candidate, _ = draw(rounds, 9)
    came = np.array([rng.choice(3, p=known[c, a]) for c, a in zip(x, columns["action"], strict=True)])
    rate = np.array([0.2, 0.5, 0.8])
    table = {name: list(values) for name, values in {**columns, "x": x, "e": came}.items()}
    table["reward"] = list((rng.random(rounds) < rate[came]) * 1.0)
    declared: dict[str, Any] = {
        "reward": "reward",
        "propensity": "propensity",
        "action": "action",
        "logging": "logging",
    }
    embedding = embeddings.known(lambda batch: known[batch["x"].to_numpy()], column="e")
    logs = sl.Logs(table, **declared, contexts=["x"], embedding=embedding)
    found = sl.evaluate(logs, {"new": candidate}, control="none")["new"]
    weight = np.einsum("nk,nk->n", candidate, known[x, :, came]) / np.einsum(
        "nk,nk->n", columns["logging"], known[x, :, came]
    )
    assert found.estimate == pytest.approx(np.mean(weight * table["reward"]))
    truth = float(np.einsum("nk,nke,e->n", candidate, known[x], rate).mean())
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= truth <= found.upper
    assert sl.verify(sl.Certificate.of(sl.compare(logs, {"new": candidate})), logs, {"new": candidate}).same
    for wrong, says in ((known[0], "3-dimensional"), (known, "2 matrices for 4,000 rounds")):
        given = embeddings.known(lambda batch, wrong=wrong: wrong, column="e")
        with pytest.raises(UsageError, match=says):
            sl.evaluate(sl.Logs(table, **declared, embedding=given), {"new": candidate})


def test_the_factor_has_mean_one_at_most_on_every_small_law() -> None:
    """Enumerated: two rounds, four actions in two clusters, a smoothing; E of the product against the true value."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        pi0, pi, rate = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4)), rng.random(2)
        codes, smoothing = np.array([0, 0, 1, 1]), float(rng.uniform(0.1, 5))
        q, p = (np.bincount(codes, one) for one in (pi0, pi))
        truth = float(p @ rate)
        total = 0.0
        for actions in product(range(4), repeat=2):
            for rewards in product((0.0, 1.0), repeat=2):
                chance, factor = 1.0, 1.0
                for a, r in zip(actions, rewards, strict=True):
                    e = codes[a]
                    chance *= pi0[a] * (rate[e] if r else 1 - rate[e])
                    factor *= (1 + smoothing * p[e] / q[e] * r) / (1 + smoothing * truth)
                    assert factor >= 0
                total += chance * factor
        assert total == pytest.approx(1.0, abs=1e-12)


def test_certificates_cover_where_the_assumption_holds_and_fail_where_it_does_not() -> None:
    """150 logs, delta 0.1: more than 33 misses of a valid bound have a chance below one in a million."""
    misses = {0.0: 0, 0.15: 0}
    for direct in misses:
        for seed in range(150):
            columns, candidate, truth = draw(400, seed, direct=direct)
            logs = sl.Logs(**columns, embedding=embeddings.kinds(CODES))
            found = sl.evaluate(logs, {"new": candidate}, delta=0.1)["new"]
            assert found.lower is not None
            assert found.upper is not None
            misses[direct] += not found.lower <= truth <= found.upper
    assert misses[0.0] <= 33
    assert misses[0.15] > 33


def test_the_diagnostic_says_what_it_buys_and_finds_a_violation() -> None:
    columns, candidate, _ = draw(4_000, 3)
    fine = sl.check_embedding(sl.Logs(**columns, embedding=embeddings.kinds(CODES)), {"new": candidate})
    assert fine.ok
    assert fine["new"].width < 0.7
    assert fine["new"].effective_sample_sizes[1] > 2 * fine["new"].effective_sample_sizes[0]
    assert "nothing in the log speaks against" in flat(str(fine))
    columns, candidate, _ = draw(20_000, 3, direct=0.2)
    broken = sl.check_embedding(sl.Logs(**columns, embedding=embeddings.kinds(CODES)), {"new": candidate})
    assert not broken.ok
    assert broken["new"].difference.upper < 0
    assert "Contradicted" in str(broken)


def test_false_contradictions_are_rare() -> None:
    found = 0
    for seed in range(60):
        columns, candidate, _ = draw(300, seed)
        logs = sl.Logs(**columns, embedding=embeddings.kinds(CODES))
        found += not sl.check_embedding(logs, {"new": candidate}, delta=0.1).ok
    assert found <= 20  # a valid test at 0.1 exceeds this with a chance below one in a million


def test_a_small_share_is_judged_exactly_within_the_tolerance_of_vectors() -> None:
    columns, candidate, _ = draw(500, 6)
    logs = sl.Logs(**{**columns, "logging": columns["logging"] * (1 + 9e-7)}, embedding=embeddings.kinds(CODES))
    whole = sl.compare(logs, {"new": candidate}, control="none").lower
    for share in (1e-3, 1e-7, 1e-9):
        assert sl.compare(logs, sl.blend(candidate, share), control="none").lower == pytest.approx(share * whole, rel=1e-2)


def test_a_log_that_grows() -> None:
    columns, candidate, _ = draw(400, 7)
    table = {name: list(values) for name, values in {**columns, "new": candidate, "e": CODES[columns["action"]]}.items()}
    declared: dict[str, Any] = {
        "reward": "reward",
        "propensity": "propensity",
        "action": "action",
        "logging": "logging",
    }
    for embedding in (embeddings.kinds(CODES), embeddings.known(np.eye(3)[CODES], column="e")):
        watch = sl.Monitor("new", **declared, embedding=embedding)
        watch.update(table)
        answer: Any = watch.answer()
        whole = sl.compare(sl.Logs(table, **declared, embedding=embedding), "new")
        assert answer.lower == pytest.approx(whole.lower, abs=1e-12)
        assert any("no direct effect" in one for one in answer.assumptions)


def test_learning_refuses_an_embedding_and_names_your_assumptions() -> None:
    columns, _, _ = draw(300, 8)
    contexts: dict[str, Any] = {"contexts": np.random.default_rng(0).normal(size=(300, 2))}
    with pytest.raises(UsageError, match="embedding"):
        sl.PolicyLearner(epochs=1).fit(sl.Logs(**columns, **contexts, embedding=embeddings.kinds(CODES)))
    learner: Any = sl.PolicyLearner(epochs=1).fit(sl.Logs(**columns, **contexts, assumes=["mine"]))
    assert "mine" in learner.answer_.assumptions


def test_a_certificate_remembers_the_embedding() -> None:
    columns, candidate, _ = draw(500, 4)
    logs = sl.Logs(**columns, embedding=embeddings.kinds(CODES))
    certificate = sl.Certificate.of(sl.compare(logs, {"new": candidate}))
    assert sl.verify(certificate, logs, {"new": candidate}).same
    other = sl.Logs(**columns, embedding=embeddings.kinds([0, 0, 1, 1, 1, 1, 2, 2]))
    assert not sl.verify(certificate, other, {"new": candidate}).same
    assert not sl.verify(certificate, logs.without_embedding(), {"new": candidate}).same
    declared = logs.declaration.describe()["embedding"]
    assert sl.Logs(**columns, embedding=declared).declaration.describe()["embedding"] == declared


def test_what_is_wrong_is_told() -> None:
    columns, candidate, _ = draw(50, 5)
    with pytest.raises(UsageError, match="needs production's full distribution"):
        sl.Logs(reward=columns["reward"], propensity=columns["propensity"], embedding=embeddings.kinds(CODES))
    logs = sl.Logs(**columns, embedding=embeddings.kinds(CODES))
    with pytest.raises(UsageError, match="as a vector over actions"):
        sl.compare(logs, {"new": candidate[:, 0]})
    with pytest.raises(LogsError, match="covers 3 actions"):
        sl.compare(sl.Logs(**columns, embedding=embeddings.kinds([0, 1, 1])), {"new": candidate})
    with pytest.raises(UsageError, match="no embedding"):
        sl.check_embedding(logs.without_embedding(), {"new": candidate})
    with pytest.raises(UsageError, match="reward model"):
        sl.compare(logs, {"new": candidate}, control=sl.models.given("logging"))
    for wrong in (
        lambda: embeddings.kinds([0, 2]), lambda: embeddings.kinds([[0]]),  # type: ignore[list-item]
        lambda: embeddings.kinds([0.5]), lambda: embeddings.known([[0.5, 0.4]], column="e"),  # type: ignore[list-item]
        lambda: embeddings.known("x", column="e"), lambda: embeddings.known([[1.0]], column=None),  # type: ignore[arg-type]
        lambda: embeddings.known(np.zeros((0, 3)), column="e"), lambda: embeddings.kinds([[0], [1, 2]]),  # type: ignore[list-item]
    ):  # fmt: skip
        with pytest.raises(UsageError):
            wrong()
    table = {**{name: list(values) for name, values in columns.items()}, "e": [7] * 50}
    known = sl.Logs(
        table, reward="reward", propensity="propensity", action="action", logging="logging",
        embedding=embeddings.known(np.eye(3)[CODES], column="e"),
    )  # fmt: skip
    with pytest.raises(LogsError, match="embedding 'e'"):
        sl.compare(known, {"new": candidate})
    table["e"] = ((CODES[columns["action"]] + 1) % 3).tolist()
    impossible = sl.Logs(
        table, reward="reward", propensity="propensity", action="action", logging="logging",
        embedding=embeddings.known(np.eye(3)[CODES], column="e"),
    )  # fmt: skip
    with pytest.raises(LogsError, match="50 of 50 values are impossible given the logged action"):
        sl.compare(impossible, {"new": candidate})
    for junk in ("junk", [0, 1], {}, {"kind": "x"}):
        with pytest.raises(UsageError, match="embedding"):
            sl.Logs(**columns, embedding=junk)
    with pytest.raises(UsageError, match="assumes"):
        sl.Logs(**columns, assumes="hello")
