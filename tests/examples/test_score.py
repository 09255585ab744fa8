"""A candidate's column by replay: the same as the column that was there, and every fault gets a sentence."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import surelift as sl
from surelift.cli.app import main
from tests.examples.shop import BIN, CONTEXTS, EXAMPLES, distributions, load, logged, run, scored, write_policy

score = load("score")
FLAGS = ["--action", "item", *(part for name in CONTEXTS for part in ("--context", name))]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_column_is_that_of_the_candidate(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(score, "ROWS", 6_000)  # several batches
    monkeypatch.setattr(score, "FIRST_BLOCK", 1 << 18)
    write_policy(tmp_path, "better")
    log = logged()
    log.to_parquet("log.parquet") if kind == "parquet" else log.to_csv("log.csv", index=False)
    assert score.main([f"log.{kind}", "scored.parquet", "--policy", "new.py:probabilities", *FLAGS]) == 0
    found = pq.read_table("scored.parquet").to_pandas()
    assert list(found.columns) == [*log.columns, "p_new"]
    assert (found["p_new"] == scored("better")["p_new"]).all()
    plain = sl.compare(sl.Logs(scored("better"), reward="click", propensity="propensity"), {"new": "p_new"})
    replayed = sl.compare(sl.Logs("scored.parquet", reward="click", propensity="propensity"), {"new": "p_new"})
    assert (replayed.lower, replayed.upper) == (plain.lower, plain.upper)
    assert not list(tmp_path.glob(".*"))


def test_from_the_command_line(tmp_path: Path) -> None:
    write_policy(tmp_path, "worse")
    logged(300).to_parquet(tmp_path / "log.parquet")
    command = [BIN / "python", EXAMPLES / "score.py", "log.parquet", "scored.parquet", *FLAGS]
    done = run(*command, "--policy", "new.py:probabilities", folder=tmp_path)
    assert done.stdout == "scored.parquet: 300 rounds with 'p_new', the probability of the logged 'item'\n"
    asked = ["--reward", "click", "--propensity", "propensity", "--policy", "new=p_new"]
    assert main(["compare", str(tmp_path / "scored.parquet"), *asked]) == 3


def shares(**changed: Any) -> dict[str, Any]:
    return {**next(iter(distributions("better").values())), **changed}


@pytest.mark.parametrize(
    "policy, says",
    [
        (lambda context: shares(hat=0.5), "row 0: the probabilities add up to"),
        (
            lambda context: {"hat": 1.0},
            "is not among those of the policy ('hat'). If the policy never takes it, return it",
        ),
        (
            lambda context: shares(hat=float("nan")),
            "row 0: the policy takes 'hat' with probability nan, which is none.",
        ),
        (lambda context: shares(hat=-0.1), "takes 'hat' with probability -0.1"),
        (lambda context: shares(hat="0.1"), "takes 'hat' with probability '0.1'"),
        (lambda context: [0.1] * 10, "row 0: the policy must return a dict of actions and probabilities, not [0.1"),
        (lambda context: context["click"], "row 0: the policy failed on {'visitor': "),
    ],
)
def test_what_is_not_a_policy(tmp_path: Path, policy: Any, says: str) -> None:
    logged(50).to_parquet(tmp_path / "log.parquet")
    columns = {"action": "item", "contexts": list(CONTEXTS), "column": "p_new"}
    with pytest.raises(sl.LogsError) as error:
        score.score(str(tmp_path / "log.parquet"), str(tmp_path / "scored.parquet"), policy, **columns)
    assert says in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def spoilt(folder: Path, how: str) -> None:
    log = logged(50)
    if how == "empty":
        log[:0].to_parquet(folder / "log.parquet")
    elif how == "no action":
        log.loc[7, "item"] = None
        log.to_parquet(folder / "log.parquet")
    elif how == "broken":
        (folder / "log.parquet").write_bytes(b"PAR1")
    elif how == "list":
        log.assign(item=[["hat"]] * 50).to_parquet(folder / "log.parquet")
    elif how == "quote":
        text = log.to_csv(index=False).splitlines()
        text[5], text[9] = '"' + text[5], text[9].replace(",", '",', 1)  # one cell from here to there
        (folder / "log.csv").write_text("\n".join(text))
    else:
        log.to_parquet(folder / "log.parquet")


@pytest.mark.parametrize(
    "how, changed, code, says",
    [
        ("empty", {}, 4, "log.parquet holds no round."),
        ("no action", {}, 4, "row 7: column 'item' is empty; every round has its action."),
        ("broken", {}, 4, "log.parquet cannot be read:"),
        (
            "quote",
            {"log.parquet": "log.csv"},
            4,
            "log.csv has 50 lines below its header, but 46 rows",
        ),
        ("list", {}, 2, "column 'item' holds several values in a round"),
        ("", {"log.parquet": "nowhere.parquet"}, 2, "there is no file 'nowhere.parquet'."),
        ("", {"log.parquet": "new.py"}, 2, "new.py is neither .parquet nor .csv."),
        ("", {"scored.parquet": "log.parquet"}, 2, "log.parquet would replace the log; name another file."),
        ("", {"scored.parquet": "nowhere/s.parquet"}, 2, "there is no folder 'nowhere'; create it first."),
        ("", {"item": "product"}, 2, "log.parquet has 0 columns 'product'; it has time, visitor,"),
        ("", {"item": "visitor"}, 2, "--context visitor is the action, which the policy must not see."),
        ("", {"p_new": "click"}, 2, "log.parquet has a column 'click' already"),
        ("", {"new.py:probabilities": "other.py:f"}, 2, "there is no file 'other.py'"),
        ("", {"new.py:probabilities": "new.py:f"}, 2, "new.py has no function 'f'."),
        ("", {"new.py:probabilities": "table.json:f"}, 2, "table.json is not a file of Python (.py)."),
        ("", {"new.py:probabilities": "wrong.py:f"}, 2, "wrong.py cannot be loaded: SyntaxError:"),
    ],
)
def test_faults_get_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    how: str, changed: dict[str, str], code: int, says: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path, "better")
    Path("wrong.py").write_text("def f(:")
    spoilt(tmp_path, how)
    before = {path.name for path in tmp_path.iterdir()}
    tokens = ["log.parquet", "scored.parquet", *FLAGS, "--policy", "new.py:probabilities", "--column", "p_new"]
    assert score.main([changed.get(token, token) for token in tokens]) == code
    told = capsys.readouterr().err
    assert told.startswith("score.py: ")
    assert says in told
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == before
