"""The examples in CONTRIBUTING are complete: their files are added to a copy of the package, and they print what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surelift
from tests.conftest import missing
from tests.engines.databases import java

CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
BLOCK = re.compile(r"```(python)?\n(.*?)```", flags=re.DOTALL)
FILE = re.compile(r"# src/(\S+)\n")


def blocks(heading: str) -> tuple[dict[str, str], str, str]:
    """The files of one example by path, the code that uses them, and what it prints."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", CONTRIBUTING.read_text(), flags=re.DOTALL | re.MULTILINE)
    files, use, printed = {}, "", ""
    for language, code in BLOCK.findall(section):
        named = FILE.match(code)
        if named:
            files[named[1]] = code[named.end() :]
        elif language:
            use = code
        else:
            printed = code
    return files, use, printed


def copied(files: dict[str, str], folder: Path) -> Path:
    """A copy of the package with further files."""
    package = folder / "surelift"
    shutil.copytree(Path(surelift.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, code in files.items():
        assert not (folder / path).exists()
        (folder / path).write_text(code)
    return package


def listed_in_its_table(heading: str, package: Path) -> None:
    if heading == "Adding a bound":
        table = package / "bounds" / "__init__.py"
        listed = table.read_text().replace("normal, bootstrap,", "normal, bootstrap, HOEFFDING,")
        table.write_text(listed.replace("\n\n__all__", "\nfrom surelift.bounds.hoeffding import HOEFFDING\n\n__all__", 1))
    if heading == "Adding a trait":
        table, logs = package / "traits" / "declaration.py", package / "traits" / "logs.py"
        listed, at = (
            table.read_text().replace("(Labels, Reward)", "(Labels, Reached, Reward)"),
            "from surelift.traits.kept import",
        )
        table.write_text(listed.replace(at, f"from surelift.traits.goal import Reached\n{at}", 1))
        logs.write_text(
            logs.read_text().replace(
                "        score: Any = None,\n", "        score: Any = None,\n        goal: Any = None,\n"
            )
        )


def run(code: str, folder: Path, warnings: str = "error") -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-W", warnings, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "heading, added",
    [
        ("Adding a trait", ["surelift/traits/goal.py"]),
        ("Adding a bound", ["surelift/bounds/hoeffding.py"]),
        ("Adding a statistic", ["surelift/statistics/largest_reward.py"]),
        (
            "Adding a question and its result",
            ["surelift/results/target.py", "surelift/questions/target.py", "surelift/decisions/target.py"],
        ),
    ],
)
def test_the_example_prints_what_it_says(heading: str, added: list[str], tmp_path: Path) -> None:
    files, use, printed = blocks(heading)
    assert list(files) == added
    listed_in_its_table(heading, copied(files, tmp_path))
    assert printed.strip()
    assert run(use, tmp_path).rstrip() == printed.rstrip()


EVERYWHERE = """
import os, sys
import pandas as pd
import surelift as sl
from surelift.cli.app import main

rows = 2000
table = pd.DataFrame({"minutes": [5.0, 31.0, 42.0, 8.0] * 500, "p": 0.5, "p_new": [0.4, 0.6, 0.6, 0.4] * 500})
table["id"] = range(rows)
declared = {"reward": "minutes", "goal": 30, "propensity": "p", "id": "id"}
expected = sl.compare(sl.Logs(table, **declared), "p_new").lower
watch = sl.Monitor("p_new", **declared)
for start in range(0, rows, 500):
    watch.update(table[start : start + 500])
print(abs(watch.answer().lower - expected) < 1e-12)
import pyarrow as pa
import ibis
try:
    sl.compare(sl.Logs(ibis.memtable(pa.Table.from_pandas(table)), **declared), "p_new")
except sl.UsageError as error:
    print("logs.here()" in str(error))
table.to_csv("log.csv", index=False)
sys.stdout.flush()
flags = ["--reward", "minutes", "--propensity", "p", "--goal", "30"]
print(main(["compare", "log.csv", "--policy", "p_new", *flags, "--certificate", "answer.json"]))
print(abs(sl.Certificate.load("answer.json").content["answer"]["lower"] - expected) < 1e-12)
"""
ON_SPARK = """
import os, sys
import pandas as pd
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import surelift as sl
table = pd.DataFrame({"minutes": [5.0, 31.0, 42.0, 8.0] * 500, "p": 0.5, "p_new": [0.4, 0.6, 0.6, 0.4] * 500})
declared = {"reward": "minutes", "goal": 30, "propensity": "p"}
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
found = sl.compare(sl.Logs(session.createDataFrame(table), **declared), "p_new").lower
print(abs(found - sl.compare(sl.Logs(table, **declared), "p_new").lower) < 1e-12)
"""


def with_a_new_trait(folder: Path) -> None:
    files, *_ = blocks("Adding a trait")
    listed_in_its_table("Adding a trait", copied(files, folder))


def test_a_new_trait_has_a_flag_and_works_in_a_monitor(tmp_path: Path) -> None:
    with_a_new_trait(tmp_path)
    printed = run(EVERYWHERE, tmp_path).split()
    assert printed[:2] + printed[-2:] == ["True", "True", "0", "True"]


def test_a_new_trait_works_in_spark(tmp_path: Path) -> None:
    if java() is None:
        missing("java", "there is none to run Spark")
    with_a_new_trait(tmp_path)
    assert run(ON_SPARK, tmp_path, warnings="default").split() == ["True"]


def test_the_folders_are_listed_in_their_order() -> None:
    from tests.test_house import ORDER

    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", CONTRIBUTING.read_text(), flags=re.MULTILINE)
    assert rows == ORDER
