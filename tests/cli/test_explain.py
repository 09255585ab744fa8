"""surelift explain tells what a policy file holds, without torch and without safetensors."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import surelift as sl
from surelift.cli.app import main

STORED = Path(__file__).parent.parent / "stored" / "format-3"


@pytest.mark.parametrize(
    "kind, says",
    [("linear", "a softmax of linear scores"), ("network", "hidden layer"), ("gaussian", "random weights")],
)
def test_a_policy_is_told_with_its_certificate(kind: str, says: str) -> None:
    path = str(STORED / f"{kind}.safetensors")
    code = (
        "import sys; sys.modules.update(torch=None, safetensors=None); from surelift.cli.app import main; "
        f"sys.exit(main(['explain', {path!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert says in done.stdout
    assert "over 10 actions" in done.stdout
    assert "visitor (text), device (text), daypart (text)" in done.stdout
    assert "'learned': at least -0.0" in done.stdout
    assert "not certified" in done.stdout
    assert "the propensities were recorded when the decisions were made" in done.stdout
    assert f"surelift verify {path} SOURCE" in done.stdout


def test_a_policy_without_a_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = replace(sl.LearnedPolicy.load(STORED / "linear.safetensors"), certificate=None)
    bare.save(tmp_path / "policy")
    assert main(["explain", str(tmp_path / "policy")]) == 0
    told = capsys.readouterr().out
    assert "a softmax of linear scores, over 10 actions" in told
    assert "It has no certificate: nothing is promised about it." in told


def test_a_damaged_policy_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, damaged = (STORED / "linear.safetensors").read_bytes(), tmp_path / "policy.safetensors"
    for content in (whole[:-1], whole[:50], b"", b"no policy", whole[:-1] + bytes([whole[-1] ^ 1])):
        damaged.write_bytes(content)
        assert main(["explain", str(damaged)]) == 4
        error = capsys.readouterr().err
        assert "cannot be read as safetensors" in error or "is damaged: its checksum does not fit" in error
