"""Vowpal Wabbit itself, on a log of decisions with contexts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import vowpalwabbit

COUNTRIES = ["FR", "DE", "US"]
TIME = "2021-02-04T16:31:29.2460000Z"


def predict(options: str, log: Path, output: Path) -> Path:
    """Run VW over a log and have it write its predictions."""
    vowpalwabbit.Workspace(f"{options} -d {log} -p {output} --quiet").finish()
    return output


def visits(rounds: int, seed: int = 0) -> dict[str, Any]:
    """Three articles, of which each country likes another."""
    rng = np.random.default_rng(seed)
    country = rng.integers(3, size=rounds)
    logging = rng.dirichlet(np.full(3, 4.0), rounds)
    action = np.array([rng.choice(3, p=row) for row in logging])
    return {
        "country": np.array(COUNTRIES)[country], "age": rng.integers(18, 80, rounds), "logging": logging, "action": action,
        "propensity": logging[np.arange(rounds), action],
        "click": (rng.random(rounds) < 0.1 + 0.5 * (action == country)).astype(float),
    }  # fmt: skip


def context(data: dict[str, Any], i: int) -> dict[str, Any]:
    return {
        "User": {"country": str(data["country"][i]), "age": int(data["age"][i])},
        "_multi": [{"Article": {"id": str(k)}} for k in range(3)],
    }


def dsjson(data: dict[str, Any], i: int, **besides: Any) -> str:
    shares, taken = data["logging"][i].tolist(), int(data["action"][i])
    order = [taken, *(k for k in range(3) if k != taken)]
    return json.dumps(
        {
            "_label_cost": -data["click"][i], "_label_probability": shares[taken], "_label_Action": taken + 1,
            "_labelIndex": taken, "Timestamp": TIME, "Version": "1", "EventId": f"e{i}", "a": [k + 1 for k in order],
            "c": context(data, i), "p": [shares[k] for k in order], "VWState": {"m": "N/A"}, **besides,
        }
    )  # fmt: skip


def write_dsjson(path: Path, data: dict[str, Any], *more: str) -> Path:
    path.write_text("\n".join([*(dsjson(data, i) for i in range(len(data["action"]))), *more]) + "\n")
    return path


def write_cb(path: Path, data: dict[str, Any]) -> Path:
    path.write_text(
        "".join(
            f"{data['action'][i] + 1}:{-data['click'][i]:g}:{float(data['propensity'][i])!r} "
            f"|User country={data['country'][i]} age:{data['age'][i]}\n"
            for i in range(len(data["action"]))
        )
    )
    return path


def write_adf(path: Path, data: dict[str, Any]) -> Path:
    events = []
    for i, taken in enumerate(data["action"]):
        lines = [f"shared |User country={data['country'][i]} age:{data['age'][i]}"]
        for k in range(3):
            label = f"0:{-data['click'][i]:g}:{float(data['propensity'][i])!r} " if k == taken else ""
            lines.append(f"{label}|Article id={k}")
        events.append("\n".join(lines) + "\n\n")
    path.write_text("".join(events))
    return path
