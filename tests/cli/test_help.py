"""Help: commands in sections, flags in sections, and two examples for each command that work as they stand."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from surelift.cli.app import app, main
from surelift.cli.commands import EXAMPLES, SECTIONS
from surelift.cli.questions import SimulateFlags
from surelift.decisions.simulate import SEED

COMMANDS = [name for section in SECTIONS.values() for name in section]
# Minutes of work on data that is not here: parsed only.
LONG = {"reproduce"}


def lines_of(command: str) -> list[list[str]]:
    """The two examples as tokens, without the redirection to a file."""
    texts = EXAMPLES[command].split("\n\n")
    return [shlex.split(re.split(r" [>&]", text.replace("\\\n", ""))[0])[1:] for text in texts]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with every column that the examples name, and a candidate that is much better."""
    path, rng, rounds = tmp_path_factory.mktemp("examples"), np.random.default_rng(0), 3_000
    item = rng.integers(0, 2, rounds)
    click = (rng.random(rounds) < np.where(item == 1, 0.8, 0.2)).astype(float)
    table = pa.table(
        {
            "click": click, "p": np.full(rounds, 0.5), "item": np.array(["a", "b"])[item],
            "p_new": np.where(item == 1, 0.8, 0.2), "p_bold": np.where(item == 1, 0.6, 0.4),
            "country": np.array(["FR", "DE"])[rng.integers(0, 2, rounds)], "age": rng.integers(10, 80, rounds),
            "day": np.arange("2026-01-01", "2026-01-06", dtype="datetime64[D]")[np.arange(rounds) * 5 // rounds],
            "complaint": (rng.random(rounds) < 0.1).astype(float), "seconds": 60.0 * rng.random(rounds),
        }
    )  # fmt: skip
    pq.write_table(table, path / "log.parquet")
    pa.csv.write_csv(table, path / "log.csv")
    (path / "logs").mkdir()
    for number in range(2):
        pq.write_table(table.slice(number * rounds // 2, rounds // 2), path / "logs" / f"day-{number}.parquet")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_both_examples_work(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if command in ("verify", "explain"):
        assert main(lines_of("compare")[1]) == 0  # writes the certificate
    first, second = lines_of(command)
    assert first[0] == second[0] == command
    for tokens in (first, second):
        if command in LONG:
            app.parse_args(tokens, exit_on_error=False, print_error=False)
        else:
            assert main(tokens) == 0


def test_examples_fit_a_terminal_of_eighty_columns_and_are_of_commands() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    assert max(len(line) for text in EXAMPLES.values() for line in text.splitlines()) <= 76


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_the_examples_before_the_flags(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    before, _, after = shown.partition("╭")
    assert all(f"    {line}" in before for line in EXAMPLES[command].splitlines() if line)
    assert "─ Parameters ─" not in after  # every flag has a section that says what it is about
    assert "STR" not in after
    assert "[default: False]" not in after


def test_commands_are_shown_in_sections_in_their_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    shown = re.findall(r"^╭─ (.+?) ─|^│ ([a-z]+)  ", capsys.readouterr().out, flags=re.MULTILINE)
    assert [title or name for title, name in shown] == [
        entry for title, names in SECTIONS.items() for entry in (title, *names)
    ]


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (["comprae", "log.csv"], "there is no command 'comprae'. Did you mean 'compare'?\nSee 'surelift --help'."),
        (["--verison"], "Did you mean '--version'?"),
        (
            ["compare", "a.csv", "--policy", "p", "b.csv"],
            "what is 'b.csv'? Sources come before the flags, and every other",
        ),
        (["a.csv", "compare"], "there is no command 'a.csv'; the command comes first: surelift compare a.csv ..."),
        (["xyz"], "there is no command 'xyz'.\nSee 'surelift --help'."),
        (["compare"], "'surelift compare' needs SOURCE: Parquet, CSV"),
        (["verify"], "'surelift verify' needs CERTIFICATE: The certificate written by"),
        (["verify", "c.json"], "'surelift verify' needs SOURCE: "),
        (["compare", "a.csv", "--policy"], "--policy needs a value: --policy [NAME=]COL. Column of the candidate's"),
        (["compare", "a.csv", "--delta", "--json"], "--delta needs a value: --delta P. The probability of error."),
        (["gate", "a.csv", "--propensit", "p"], "Unknown option: --propensit. Did you mean --propensity?"),
        (["monitor", "a.csv", "--stdin", "xml"], "--stdin"),
    ],
)
def test_a_wrong_command_line_is_told_in_a_sentence(
    tokens: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tokens) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert says in told.err
    assert "arameter" not in told.err


def test_the_seed_of_simulations_is_that_of_the_library() -> None:
    """It is written twice, so that help need not load what simulates."""
    assert SimulateFlags().seed == SEED
