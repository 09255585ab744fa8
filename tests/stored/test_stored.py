"""Every format that was ever released is read and verified by this version."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.saving import sealed
from tests.stored.make import answers

FORMATS = sorted(path for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name.startswith("format-"))
CERTIFICATES = [path for folder in FORMATS for path in sorted(folder.glob("*.json")) if "monitor" not in path.name]
MONITORS = [path for folder in FORMATS for path in sorted(folder.glob("monitor-*.json"))]
POLICIES = [path for folder in FORMATS for path in sorted(folder.glob("*.safetensors"))]


def name_of(path: Path) -> str:
    return f"{path.parent.name}, {path.name}"


def test_a_file_of_every_kind_is_there() -> None:
    for folder in FORMATS:
        logs = sl.Logs(folder / "log.parquet", **sl.datasets.shop(rounds=1).columns())
        assert {path.stem for path in CERTIFICATES if path.parent == folder} == set(answers(logs))
    assert MONITORS
    assert POLICIES


@pytest.mark.parametrize("path", CERTIFICATES, ids=name_of)
def test_certificates_verify(path: Path) -> None:
    assert sl.verify(path, path.with_name("log.parquet")).differences == ()


@pytest.mark.parametrize("path", POLICIES, ids=name_of)
def test_policies_are_read_and_their_certificates_verify(path: Path) -> None:
    policy = sl.LearnedPolicy.load(path)
    assert policy.certificate is not None
    assert sl.verify(policy.certificate, path.with_name("log.parquet"), policy).differences == ()


@pytest.mark.parametrize("path", MONITORS, ids=name_of)
def test_monitors_go_on(path: Path) -> None:
    watch = sl.Monitor.load(path)
    assert watch.rounds == 400
    watch.update(pq.read_table(path.with_name("log.parquet")).slice(400), sequence=2)
    logs = sl.Logs(path.with_name("log.parquet"), **sl.datasets.shop(rounds=1).columns())
    answer = watch.answer()
    if isinstance(answer, sl.results.Evaluation):
        whole, found = sl.evaluate(logs, {"better": "p_better"})["better"], answer["better"]
        assert (found.lower, found.upper) == pytest.approx((whole.lower, whole.upper), rel=1e-9)
    else:
        improvement = sl.compare(logs, {"better": "p_better"})
        assert isinstance(answer, sl.results.Improvement)
        assert (answer.lower, answer.upper) == pytest.approx((improvement.lower, improvement.upper), rel=1e-9)
        assert answer.provenance.fingerprint == improvement.provenance.fingerprint


def test_words_may_change_between_versions_and_numbers_may_not() -> None:
    content = json.loads(CERTIFICATES[0].read_text())
    log = CERTIFICATES[0].with_name("log.parquet")
    content["answer"]["assumptions"] = ["rewards lie within their range"]
    assert not sl.verify(sealed({**content, "surelift": sl.__version__}), log).same
    older = sl.verify(sealed({**content, "surelift": "0.0.9"}), log)
    assert older.same
    assert older.not_compared == (
        "bounds in per cent and the tipping factor: the certificate does not state all of them",
        "the wording: the certificate was made by surelift 0.0.9",
    )
    content["answer"]["lower"] += 1e-6
    assert not sl.verify(sealed({**content, "surelift": "0.0.9"}), log).same


def test_an_older_format_says_who_wrote_it(tmp_path: Path) -> None:
    for path in (CERTIFICATES[0], MONITORS[0]):
        content = json.loads(path.read_text())
        older = tmp_path / path.name
        older.write_text(json.dumps({**content, "version": 1, "surelift": "0.0.9"}))
        with pytest.raises(sl.LogsError, match=r"format 1, written by surelift 0\.0\.9"):
            sl.Certificate.load(older) if path is CERTIFICATES[0] else sl.Monitor.load(older)
