"""What Spark says when its workers are not as this process is, and what it is not asked for."""

from typing import Any

import pytest

import surelift as sl
from surelift.engines.spark import Partition, _reason, _run, collect
from surelift.questions.question import Question

FLAGS: dict[str, Any] = {"reward": "r", "propensity": "q"}


@pytest.mark.parametrize(
    "message, says",
    [
        ("An error\n[PYTHON_VERSION_MISMATCH] Python in worker has different version (3, 9)", "PYSPARK_PYTHON"),
        ("worker has different minor version than that in driver", "another Python than this process"),
        ("Traceback\nModuleNotFoundError: No module named 'surelift'", "its workers lack surelift"),
        ("  File x\n  File y\nNameError: name 'z' is not defined\nmore", "NameError: name 'z' is not defined"),
        ("the first line\nthe second", "the first line"),
        ("", "no message"),
    ],
)
def test_the_reason_why_spark_failed(message: str, says: str) -> None:
    assert says in _reason(message)

    def job() -> None:
        raise RuntimeError(message)

    with pytest.raises(sl.LogsError, match="Spark could not add up these logs: ") as failed:
        _run(job)
    assert says in str(failed.value)
    assert isinstance(failed.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    "question, label",
    [
        (Question.of("report", FLAGS, "a"), "the order of the rounds"),
        (Question.of("evaluate", FLAGS, "a", method="efron-stein"), "what efron-stein redraws"),
        (
            Question.of("evaluate", {**FLAGS, "time": "t", "action": "x", "logging": "v"}, "a", control="model"),
            "a reward model that is refitted in the order of time",
        ),
    ],
)
def test_what_needs_the_order_of_rows_is_refused_with_a_way_out(question: Question, label: str) -> None:
    with pytest.raises(sl.UsageError) as refused:
        collect(sl.Logs({"r": [1.0], "q": [0.5], "a": [0.5]}, **FLAGS), question.plan())
    assert f"Spark and {label}" in str(refused.value)
    assert "do not go together" in str(refused.value)
    assert "logs.here()" in str(refused.value)
    assert refused.value.exit_code == 2


def test_an_empty_partition_has_no_columns() -> None:
    pytest.importorskip("pyspark")
    partition = Partition(iter(()))
    assert partition.empty
    assert partition.column_names() == []
