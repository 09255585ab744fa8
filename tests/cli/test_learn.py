"""surelift learn, as a stranger would type it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

import surelift as sl
from surelift.cli.app import main
from surelift.datasets.shop import ITEMS

FLAGS = [
    "--reward", "click", "--propensity", "propensity", "--action", "item", "--actions", ",".join(ITEMS), "--contexts",
    "visitor,device,daypart",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo log, fresh rounds, and the policy learned from the first."""
    place = tmp_path_factory.mktemp("learn")
    pq.write_table(sl.datasets.shop().table, place / "shop.parquet")
    pq.write_table(sl.datasets.shop(seed=7).table, place / "fresh.parquet")
    code = main(["learn", str(place / "shop.parquet"), *FLAGS, "-o", str(place / "policy.safetensors")])
    assert code == 0
    return place


def test_the_demo_log_gives_a_policy_certified_better(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(folder / "policy.safetensors")
    assert main(["verify", policy, str(folder / "shop.parquet")]) == 0
    assert "Certified: 'learned' is better than production." in capsys.readouterr().out
    fresh = [str(folder / "fresh.parquet"), *FLAGS, "--learned", f"new={policy}"]
    assert main(["compare", *fresh, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    stated = sl.LearnedPolicy.load(policy).certificate
    assert stated is not None
    assert 0.0 < stated.content["answer"]["lower"] < answer["upper"]
    assert main(["verify", policy, str(folder / "fresh.parquet")]) == 3


def test_its_own_rounds_cannot_judge_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(folder / "policy.safetensors")
    assert main(["compare", str(folder / "shop.parquet"), *FLAGS, "--learned", policy]) == 2
    assert "learned from these very rounds" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags, says",
    [
        (
            ["--policy", "gaussian", "--epochs", "5"],
            "Certified: sampling its actions, the learned policy is better than production.",
        ),
        (["--policy", "network", "--epochs", "5"], "Certified"),
        (["--progressive", "3", "--epochs", "5"], "Certified"),
        (["--search", "--epochs", "3"], "12 learners tried"),
        (["--policy", "tests.cli.test_learn:Scores", "--epochs", "5"], "Certified"),
    ],
)
def test_other_ways_to_learn(
    flags: list[str], says: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(tmp_path / "policy")
    assert main(["learn", str(folder / "shop.parquet"), *FLAGS, *flags, "-o", policy]) == 0
    assert says in capsys.readouterr().out
    if "test_learn" not in flags[1]:
        assert main(["verify", policy, str(folder / "shop.parquet")]) == 0


class Scores(torch.nn.Linear):
    def __init__(self) -> None:
        super().__init__(11, 10)


def test_with_too_few_rounds_production_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, policy = tmp_path / "few.parquet", tmp_path / "policy"
    pq.write_table(sl.datasets.shop(300).table, log)
    assert main(["learn", str(log), *FLAGS, "-o", str(policy)]) == 3
    said = capsys.readouterr()
    assert "Keep production" in said.out
    assert "do not deploy" in said.err
    assert policy.exists()
    assert main(["learn", str(log), *FLAGS, "--search", "--epochs", "2", "-o", str(policy)]) == 3
    assert "Keep production" in capsys.readouterr().out


def test_a_file_of_another_kind_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("no policy")
    assert main(["learn", str(folder / "shop.parquet"), *FLAGS, "-o", str(log)]) == 2
    assert log.read_text() == "no policy"


@pytest.mark.parametrize(
    "flags, code, says",
    [
        (["--objective", "best"], 2, "unknown objective 'best'"),
        (["-o", "nowhere/p.safetensors"], 2, "there is no folder 'nowhere'"),
        (["--contexts", "visitor,mood"], 2, "no column 'mood'"),
        (["--reward-range", "0", "0.5"], 4, "outside the declared reward range"),
        (["--delta", "2"], 2, "delta"),
        (["--policy", "forest"], 2, "policy must be 'linear', 'network', 'gaussian'"),
        (["--policy", "no.such:module"], 2, "cannot be imported"),
        (["--search", "--policy", "network"], 2, "--search tries policies"),
        (["--prior", "zero"], 2, "--prior is for the gaussian policy"),
        (["--policy", "gaussian", "--holdout", "0.5"], 2, "--holdout is for policies judged on held-out rounds"),
        (["--progressive", "3", "--method", "blocks"], 2, "does not support --method blocks"),
    ],
)
def test_what_it_refuses(
    folder: Path, flags: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown = [flag for flag in FLAGS if "--contexts" not in flags or flag not in ("--contexts", "visitor,device,daypart")]
    target = ["-o", str(tmp_path / "p.safetensors")] if "-o" not in flags else []
    assert main(["learn", str(folder / "shop.parquet"), *shown, *flags, *target]) == code
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_policies(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"nothing of the kind")
    assert main(["verify", str(tmp_path / "x.safetensors"), str(folder / "shop.parquet")]) == 4
    assert main(["verify", str(tmp_path / "gone.safetensors"), str(folder / "shop.parquet")]) == 2
    assert "No such file" in capsys.readouterr().err
