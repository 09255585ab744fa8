"""Counts of draws, and a propensity that a vector determines, on the command line."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.cli.app import main


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(2)
    logging, candidate = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
    action = rng.choice(3, 2_000, p=logging)
    table = pa.table(
        {
            "r": (rng.random(2_000) < np.array([0.1, 0.5, 0.9])[action]) * 1.0, "a": action, "p": candidate[action],
            "k": rng.binomial(30, logging[action]), "among": 1 + rng.binomial(29, logging[action]), "m": [30] * 2_000,
            "j": rng.binomial(40, candidate[action]), "v": [logging.tolist()] * 2_000,
        }
    )  # fmt: skip
    place = tmp_path_factory.mktemp("wins") / "log.parquet"
    pq.write_table(table, place)
    return str(place)


def answer(path: str, *flags: str, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    assert main(["compare", path, "--reward", "r", "--json", *flags]) == 0
    found: dict[str, float] = json.loads(capsys.readouterr().out)
    return found


def test_the_flags_say_what_the_functions_say(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for flag, propensity in (
        ("k,m", sl.wins("k", "m")),
        ("k,30", sl.wins("k", 30)),
        ("among,30,played", sl.wins("among", 30, includes_played=True)),
    ):
        logs = sl.Logs(path, reward="r", propensity=propensity)
        told = answer(path, "--propensity-wins", flag, "--policy", "p", capsys=capsys)
        assert told["lower"] == sl.compare(logs, "p").lower
        told = answer(path, "--propensity-wins", flag, "--policy-wins", "new=j,40", capsys=capsys)
        assert told["lower"] == sl.compare(logs, sl.wins("j", 40)).lower


def test_the_propensity_of_the_vector(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(path, "--logging", "v", "--action", "a", "--policy", "p", capsys=capsys)
    assert told["lower"] == sl.compare(sl.Logs(path, reward="r", logging="v", action="a"), "p").lower


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (["--propensity-wins", "k"], 2, "--propensity-wins takes K,M, or K,M,played"),
        (["--propensity-wins", "k,m,yes"], 2, "not 'k,m,yes'"),
        (["--propensity-wins", "k,m", "--propensity", "p"], 2, "give --propensity or --propensity-wins, not both"),
        (["--propensity-wins", "k,0"], 2, "must be a whole number of at least 1"),
        (["--propensity-wins", "m,k"], 4, "above their m"),
        (
            ["--propensity-wins", "k,m", "--control", "weights"],
            2,
            "control by weights and wins (--propensity-wins) do not go together",
        ),
        (["--propensity-wins", "k,m", "--policy-wins", "n=j"], 2, "--policy-wins takes K,M"),
        (["--action", "a"], 2, "--propensity-wins K,M"),
    ],
)
def test_wrong_flags(flags: list[str], code: int, says: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", path, "--reward", "r", "--policy", "p", *flags]) == code
    assert says in " ".join(capsys.readouterr().err.split())


def test_spaces_after_commas(path: str) -> None:
    assert main(["compare", path, "--reward", "r", "--policy", "p", "--propensity-wins", "k, m"]) in (0, 3)


def test_the_words_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("wins", "monte-carlo-propensity", "Monte Carlo propensity"):
        assert main(["explain", word]) == 0
        assert "draws" in capsys.readouterr().out
