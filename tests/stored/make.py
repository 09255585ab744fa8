"""Write one file of everything people store, in the format of this version: ``python -m tests.stored.make FOLDER``.

A format that was released is never written again: its folder stays, and every later version must read and verify it.
"""

import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import surelift as sl

ROUNDS = 600
CLAIMS = {
    "clicks": sl.Outcome("click", at_least=0.01),
    "noise": sl.Outcome("click", at_most_worse=0.5, range=(0, 2), cost=True),
}


def answers(logs: sl.Logs) -> dict[str, Any]:
    """One answer of each kind that can be certified."""
    better, rails = {"better": "p_better"}, [sl.Outcome("click", at_most_worse=0.2)]
    return {
        "compare": sl.compare(logs, better),
        "difference": sl.compare(logs, better, over={"slight": "p_slight"}, margin=0.01),
        "blend": sl.compare(logs, {"some": sl.blend("p_better", 0.1)}, grid="planned"),
        "evaluate": sl.evaluate(logs, {**better, "production": "production"}, method="moments", order=2, smoothing=0.1),
        "select": sl.select(logs, {**better, "worse": "p_worse"}, many="simultaneous"),
        "select-e-holm": sl.select(logs, {**better, "worse": "p_worse"}),
        "select-by-value": sl.select(logs, {**better, "worse": "p_worse"}, choose="value"),
        "gate": sl.gate(logs, better, guardrails=rails),
        "outcomes": sl.compare(logs, better, outcomes=CLAIMS),
        "segments": sl.compare(logs, better, by="visitor", segments=["new", "returning", "loyal"]),
        "combinations": sl.compare(logs, better, by=["visitor", "device"]),
    }


LEARNED: dict[str, dict[str, Any]] = {
    "gaussian": {"policy": "gaussian"}, "linear": {"policy": "linear"}, "network": {"policy": "network"},
    "stages": {"progressive": 2},
}  # fmt: skip


def learned(logs: sl.Logs, kind: str) -> sl.PolicyLearner:
    return sl.PolicyLearner(**LEARNED[kind], epochs=1, seed=1).fit(logs)


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = sl.datasets.shop(rounds=ROUNDS)
    pq.write_table(data.table, folder / "log.parquet")
    logs = sl.Logs(folder / "log.parquet", **data.columns())
    for name, answer in answers(logs).items():
        sl.Certificate.of(answer).save(folder / f"{name}.json")
    for kind in LEARNED:
        learned(logs, kind).save(str(folder / f"{kind}.safetensors"))
    for question in ("compare", "evaluate"):
        watch = sl.Monitor({"better": "p_better"}, question=question, **data.columns())
        watch.update(data.table.slice(0, 400), sequence=1)
        watch.save(folder / f"monitor-{question}.json")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
