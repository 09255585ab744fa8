import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift as sl
from surelift.saving import sealed

DATA = sl.datasets.shop(3_000)


def answers(logs: sl.Logs) -> dict[str, Any]:
    policies = DATA.policies()
    return {
        "evaluate": sl.evaluate(logs, policies, delta=0.1, sides="lower"),
        "compare": sl.compare(logs, {"cautious": sl.blend("p_better", 0.1)}, margin=0.001),
        "over another": sl.compare(logs, "p_better", over="p_worse"),
        "planned": sl.compare(logs, "p_better", grid="planned"),
        "own grid": sl.evaluate(logs, "p_better", grid=sl.grids.single(0.25)),
        "one smoothing": sl.evaluate(logs, "p_better", method="logarithmic-smoothing", smoothing=0.1),
        "select": sl.select(logs, policies),
    }


@pytest.mark.parametrize("kind", list(answers(DATA.logs())))
def test_a_certificate_is_confirmed_by_its_logs_and_by_no_others(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    sl.Certificate.of(answers(DATA.logs())[kind]).save(path)
    assert sl.verify(path, DATA.logs()).same
    assert sl.verify(json.loads(path.read_text()), DATA.logs()).same

    shuffled = DATA.table.take(np.random.default_rng(0).permutation(3_000))
    assert sl.verify(path, sl.Logs(shuffled, **DATA.columns())).same

    fewer = sl.verify(path, sl.Logs(DATA.table.slice(1), **DATA.columns()))
    assert not fewer.same
    assert "3,000 rounds, the logs have 2,999" in fewer.differences[0]
    clicks = DATA.table["click"].to_numpy().copy()
    clicks[5] = 1 - clicks[5]
    other = DATA.table.set_column(DATA.table.column_names.index("click"), "click", [clicks])
    changed = sl.verify(path, sl.Logs(other, **DATA.columns()))
    assert "the fingerprint differs" in changed.differences[0]


def test_a_certificate_holds_all_it_takes_to_ask_again() -> None:
    content = sl.Certificate.of(answers(DATA.logs())["select"]).content
    assert content["version"] == 3
    assert content["surelift"] == sl.__version__
    question = content["question"]
    assert question["kind"] == "select"
    assert len(question["policies"]) == 3
    assert question["method"] == {"method": "mixture", "options": {"grid": "anytime"}, "control": "auto"}
    assert question["declaration"]["reward_range"] == [0.0, 1.0]
    assert sl.Question.from_dict(question).to_dict() == question
    assert content["rounds"] == 3_000
    assert content["fingerprint"].startswith("3000:")
    assert question["policies"]["better"] == {"kind": "column", "column": "p_better"}


@pytest.mark.parametrize(
    ("method", "stored"),
    [
        ("mixture", {"grid": "anytime"}),
        ("blocks", {"grid": "planned"}),
        ("moments", {"order": 2, "regularizer": "clipping"}),
        ("logarithmic-smoothing", {}),  # 1/sqrt(rounds), which the rounds tell
    ],
)
def test_a_certificate_stores_the_options_that_were_not_given(method: str, stored: dict[str, Any]) -> None:
    """So that it is asked again in the same way by a version with other defaults."""
    logs = DATA.logs()
    content = sl.Certificate.of(sl.evaluate(logs, "p_better", method=method)).content
    assert content["question"]["method"]["options"] == stored
    assert sl.verify(content, logs).same


@pytest.mark.parametrize(
    "tamper, says",
    [
        (lambda c: c["answer"].update(lower=0.5), "answer.lower was 0.5"),
        (lambda c: c["answer"].update(certified=False), "answer.certified was False"),
        (lambda c: c["question"].update(delta=0.5), "answer"),
        (lambda c: c["question"]["declaration"].update(reward_range=[0, 2]), "reward_range was declared as"),
        (lambda c: c.update(fingerprint="3000:00"), "the fingerprint differs"),
        (lambda c: c["question"].update(margin=0.5), "answer.margin"),
        (lambda c: c["answer"].update(p_value=c["answer"]["p_value"] * 1.01), "answer.p_value"),
        (lambda c: c["answer"].update(lower=c["answer"]["lower"] + 2e-9), "answer.lower"),
        (lambda c: c["question"]["declaration"].update(density=True), "density was declared as True"),
        (
            lambda c: c["question"]["declaration"].update(propensity_is_estimated=True),
            "propensity_is_estimated was declared as True",
        ),
        (lambda c: c["question"]["declaration"].update(cost="click"), "costs"),
    ],
)
def test_a_tampered_certificate_differs(tamper: Any, says: str) -> None:
    content = json.loads(json.dumps(sl.Certificate.of(sl.compare(DATA.logs(), "p_better")).content))
    tamper(content)
    result = sl.verify(sealed(content), DATA.logs())
    assert not result.same
    assert any(says in difference for difference in result.differences)


@pytest.mark.parametrize(
    "damage, says",
    [
        (lambda c: c.pop("format"), "is not a certificate"),
        (lambda c: c.update(version=99), "format 99"),
        (lambda c: c.pop("answer"), "'answer' is missing"),
        (lambda c: c["question"].update(kind="divine"), "divine"),
        (lambda c: c["question"].update(policies=[]), "is damaged"),
        (lambda c: c["question"].update(policies={"p_better": "p"}), "is damaged"),
        (lambda c: c["question"]["policies"].update(p_better={"kind": "blend", "of": "x", "alpha": 0.5}), "is damaged"),
        (
            lambda c: c["question"]["policies"].update(p_better={"kind": "blend", "of": {"kind": "uniform"}, "alpha": 5}),
            "alpha",
        ),
        (
            lambda c: c["question"]["policies"].update(
                p_better={"kind": "softmax", "of": {"kind": "uniform"}, "temperature": 1}
            ),
            "scores",
        ),
        (lambda c: c.update(question="abc"), "'question' is missing or of the wrong kind"),
        (lambda c: c.update(rounds="abc"), "'rounds' is missing or of the wrong kind"),
        (lambda c: c["question"].update(detla=1), "unknown options detla"),
        (lambda c: c["question"].update(over="someone"), "is damaged"),
    ],
)
def test_a_damaged_certificate_is_refused(damage: Any, says: str) -> None:
    content = json.loads(json.dumps(sl.Certificate.of(sl.compare(DATA.logs(), "p_better")).content))
    damage(content)
    with pytest.raises(sl.SureliftError, match=says):
        sl.verify(sealed(content), DATA.logs())


def test_bounds_are_held_to_a_part_in_a_billion_of_the_range() -> None:
    logs = sl.Logs(
        reward=1e6 + DATA.table["click"].to_numpy(),
        propensity=DATA.table["propensity"].to_numpy(),
        reward_range=(1e6, 1e6 + 1),
    )
    new = {"new": DATA.table["p_better"].to_numpy()}
    content = json.loads(json.dumps(sl.Certificate.of(sl.evaluate(logs, new)).content))
    assert sl.verify(content, logs, new).same
    content["answer"]["policies"]["new"]["lower"] += 1e-4
    assert not sl.verify(sealed(content), logs, new).same


def test_what_a_certificate_cannot_hold_is_given_again() -> None:
    array = DATA.table["p_better"].to_numpy()
    content = sl.Certificate.of(sl.compare(DATA.logs(), {"new": array}))
    with pytest.raises(sl.UsageError, match="pass it in policies="):
        sl.verify(content, DATA.logs())
    assert sl.verify(content, DATA.logs(), {"new": array}).same
    assert not sl.verify(content, DATA.logs(), {"new": array * 0.999}).same


def test_nothing_is_left_half_written(tmp_path: Path) -> None:
    certificate = sl.Certificate.of(sl.compare(DATA.logs(), "p_better"))
    with pytest.raises(sl.UsageError, match="cannot be written"):
        certificate.save(tmp_path / "nowhere" / "certificate.json")
    folder = tmp_path / "taken"
    folder.mkdir()
    with pytest.raises(sl.UsageError, match="is not a certificate"):
        certificate.save(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]
    old = tmp_path / "certificate.json"
    old.write_text("a log, perhaps")
    with pytest.raises(sl.UsageError, match="is not a certificate, so it was not overwritten"):
        certificate.save(old)
    assert old.read_text() == "a log, perhaps"
    old.unlink()
    link = tmp_path / "link.json"
    link.symlink_to(old)
    certificate.save(link)
    certificate.save(old)
    assert link.is_symlink()
    assert json.loads(old.read_text())["format"] == "surelift certificate"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["certificate.json", "link.json", "taken"]


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    with pytest.raises(sl.UsageError, match="cannot be read"):
        sl.verify(tmp_path / "nothing.json", DATA.logs())
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(sl.LogsError, match="not valid JSON"):
        sl.verify(path, DATA.logs())
    path.write_text("[1, 2]")
    with pytest.raises(sl.LogsError, match="is not a certificate"):
        sl.verify(path, DATA.logs())
