"""The models of the SQL export, rendered as dbt does and run in DuckDB: the bounds of the plain table."""

import json
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pandas as pd
import pytest
import yaml

import surelift as sl
from surelift.cli.app import main
from tests.examples.shop import CONTEXTS, EXAMPLES, distributions, logged, scored

MODELS = EXAMPLES / "export" / "models"
FLAGS = ["--reward", "reward", "--propensity", "propensity", "--policy", "new=p_new", "--time", "decided_at"]
SETTLED = "2024-03-25"


def warehouse(log: Any, scores: Any) -> Any:
    """The three tables of the source, as a shop has them."""
    connection = duckdb.connect()
    log = log.assign(decision_id=[f"d{row:05}" for row in range(len(log))])
    decisions = log[["decision_id", "time", "item", "propensity"]]
    decisions.columns = ["decision_id", "decided_at", "action", "propensity"]
    clicks = log[log["click"] == 1][["decision_id"]]
    clicks = pd.concat([clicks, clicks[:100]])  # some click twice
    connection.execute("create schema shop")
    for name, table in {"decisions": decisions, "clicks": clicks, "candidate_scores": scores(log)}.items():
        connection.register("given", table)
        connection.execute(f"create table shop.{name} as select * from given")
    return connection


def every_score(log: Any) -> Any:
    """One row for each decision and action."""
    policy = distributions("better").items()
    rows = [(*key.split("/"), action, share) for key, shares in policy for action, share in shares.items()]
    table = pd.DataFrame(rows, columns=[*CONTEXTS, "action", "probability"])
    return log[["decision_id", *CONTEXTS]].merge(table, on=list(CONTEXTS))[["decision_id", "action", "probability"]]


def build(connection: Any, target: Path) -> None:
    """What ``dbt build`` does with these models: references before those that refer to them."""
    built: list[str] = []

    def model(name: str) -> str:
        if name not in built:
            text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string((MODELS / f"{name}.sql").read_text())
            sql = text.render(ref=model, source=lambda *parts: ".".join(parts), var={"settled_before": SETTLED}.__getitem__)
            connection.execute(f"create table {name} as {sql}")
            built.append(name)
        return name

    for path in sorted(MODELS.glob("*.sql")):
        model(path.stem)
    connection.execute(f"copy rounds to '{target}' (format parquet)")


def test_the_export_has_the_bounds_of_the_plain_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(warehouse(logged(), every_score), tmp_path / "rounds.parquet")
    assert main(["compare", str(tmp_path / "rounds.parquet"), *FLAGS, "--id", "decision_id", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    plain = scored("better")
    plain = plain[plain["time"] < SETTLED]  # later decisions still wait for their clicks
    assert 10_000 < len(plain) < 20_000
    expected = sl.compare(sl.Logs(plain, reward="click", propensity="propensity", time="time"), {"new": "p_new"})
    assert answer["rounds"] == len(plain)
    assert (answer["lower"], answer["upper"]) == (expected.lower, expected.upper)


def without_one(log: Any) -> Any:
    return every_score(log)[lambda scores: scores["decision_id"] != "d00007"]


def one_twice(log: Any) -> Any:
    scores = every_score(log)
    return pd.concat([scores, scores[scores["decision_id"] == "d00007"][:1]])


@pytest.mark.parametrize("scores", [without_one, one_twice])
def test_a_decision_without_whole_scores_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], scores: Any) -> None:
    build(warehouse(logged(), scores), tmp_path / "rounds.parquet")
    assert main(["compare", str(tmp_path / "rounds.parquet"), *FLAGS]) == 4
    assert "row 7" in capsys.readouterr().err


def test_the_schema_names_what_the_models_have(tmp_path: Path) -> None:
    schema = yaml.safe_load((MODELS / "schema.yml").read_text())
    project = yaml.safe_load((MODELS.parent / "dbt_project.yml").read_text())
    assert project["vars"].keys() == {"settled_before"}
    assert {model["name"] for model in schema["models"]} == {path.stem for path in MODELS.glob("*.sql")}
    connection = warehouse(logged(300), every_score)
    build(connection, tmp_path / "rounds.parquet")
    described = {model["name"]: [column["name"] for column in model.get("columns", ())] for model in schema["models"]}
    for name, columns in described.items():
        there = [row[0] for row in connection.execute(f"describe {name}").fetchall()]
        assert set(columns) <= set(there), name
    (source,) = schema["sources"]
    for table in source["tables"]:
        there = [row[0] for row in connection.execute(f"describe {source['name']}.{table['name']}").fetchall()]
        assert {column["name"] for column in table.get("columns", ())} <= set(there)
