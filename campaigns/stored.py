"""One small file of everything that people store, made once in each process, and what reads it back."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import surelift as sl

STORED = Path(__file__).parent.parent / "tests" / "stored"


@cache
def shop() -> Any:
    return sl.datasets.shop(rounds=120)


@cache
def logs() -> sl.Logs:
    return sl.Logs(shop().table, **shop().columns())


@cache
def certificates() -> dict[str, str]:
    """The JSON text of one certificate of each kind."""
    better, rails = {"better": "p_better"}, [sl.Outcome("click", at_most_worse=0.2)]
    answers: dict[str, Any] = {
        "compare": sl.compare(logs(), better),
        "difference": sl.compare(logs(), better, over={"slight": "p_slight"}, margin=0.01),
        "blend": sl.compare(logs(), {"some": sl.blend("p_better", 0.1)}, grid="planned"),
        "evaluate": sl.evaluate(logs(), {**better, "production": "production"}),
        "moments": sl.evaluate(logs(), better, method="moments", order=2, smoothing=0.1),
        "select": sl.select(logs(), {**better, "worse": "p_worse"}),
        "gate": sl.gate(logs(), better, guardrails=rails),
        "outcomes": sl.compare(logs(), better, outcomes={"clicks": sl.Outcome("click", at_least=0.01)}),
        "segments": sl.compare(logs(), better, by="visitor", segments=["new", "returning", "loyal"]),
    }
    return {name: json.dumps(sl.Certificate.of(answer).content, indent=2) for name, answer in answers.items()}


def states(folder: Path) -> dict[str, bytes]:
    """The files of two monitors."""
    made = {}
    for question in ("compare", "evaluate"):
        watch = sl.Monitor({"better": "p_better"}, question=question, **shop().columns())
        watch.update(shop().table.slice(0, 60), sequence=1)
        watch.save(folder / "state.json")
        made[question] = (folder / "state.json").read_bytes()
    return made


@cache
def policies() -> dict[str, bytes]:
    """The policy files of the newest format: to learn one would take longer than to try a thousand changes of it."""
    newest = max(STORED.glob("format-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    return {path.stem: path.read_bytes() for path in sorted(newest.glob("*.safetensors"))}


def close(was: Any, now: Any, place: str = "") -> bool:
    """Whether two JSON values say the same, numbers of an answer to the rounding that a verification allows."""
    if isinstance(was, dict) and isinstance(now, dict):
        return was.keys() == now.keys() and all(close(was[name], now[name], f"{place}.{name}") for name in was)
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(close(one, other, place) for one, other in zip(was, now, strict=True))
    if isinstance(was, float) and isinstance(now, float | int) and not isinstance(now, bool) and "answer" in place:
        room = 2e-6 if place.endswith(("e_value", "p_value")) else 2e-9
        return abs(now) < 1e300 and abs(was - now) <= room * max(1.0, abs(was))
    return type(was) is type(now) and bool(was == now)
