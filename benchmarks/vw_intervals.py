"""How wide are the intervals of Vowpal Wabbit's estimators and of surelift, for a policy that VW learned, on the same log?

A log of 20,000 visits in dsjson; VW learns a policy on a first one and writes its probabilities on the second (-p). Both
tools then give an interval of 95% for its value, at any number of looks: the confidence sequence ``cs`` of vw-estimators,
and ``evaluate``. The truth is known. On 20 logs: python benchmarks/vw_intervals.py
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import vowpalwabbit

import surelift as sl

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that it runs as a script
from benchmarks.rivals import environment

ROUNDS, LOGS, KINDS, ACTIONS = 20_000, 20, 5, 4
VW = "--cb_explore_adf --dsjson -q UA --epsilon 0.1 --quiet"
CS = """
import sys, numpy as np
from estimators.bandits.cs import Interval
for path in sys.argv[1:]:
    data, interval = np.load(path), Interval()
    for p_log, reward, p_new in zip(data["q"].tolist(), data["r"].tolist(), data["p"].tolist()):
        interval.add_example(p_log, reward, p_new)
    print(*interval.get(alpha=0.05))
"""


def write_log(path: Path, rates: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Visits of several kinds, each with rates of its own; production shows one action most of the time."""
    kind = rng.integers(KINDS, size=ROUNDS)
    logging = np.array([0.4, 0.3, 0.2, 0.1])
    action = rng.choice(ACTIONS, size=ROUNDS, p=logging)
    reward = (rng.random(ROUNDS) < rates[kind, action]).astype(float)
    with path.open("w") as file:
        for i in range(ROUNDS):
            taken = int(action[i])
            order = [taken, *(k for k in range(ACTIONS) if k != taken)]
            event = {
                "_label_cost": -reward[i], "_label_probability": logging[taken], "_label_Action": taken + 1,
                "_labelIndex": taken, "Timestamp": "2024-03-04T00:00:00Z", "Version": "1", "EventId": str(i),
                "a": [k + 1 for k in order], "p": logging[order].tolist(), "VWState": {"m": "N/A"},
                "c": {"User": {"kind": f"k{kind[i]}"}, "_multi": [{"Action": {"id": str(k)}} for k in range(ACTIONS)]},
            }  # fmt: skip
            file.write(json.dumps(event) + "\n")
    return {"kind": kind, "action": action, "reward": reward, "propensity": logging[action]}


def probabilities(path: Path) -> Any:
    rows = np.zeros((ROUNDS, ACTIONS))
    for row, line in zip(rows, filter(str.strip, path.read_text().splitlines()), strict=True):
        for part in line.split(","):
            action, share = part.split(":")
            row[int(action)] = float(share)
    return rows / rows.sum(axis=1, keepdims=True)


def main() -> None:
    rng = np.random.default_rng(0)
    widths: dict[str, list[float]] = {}
    missed: dict[str, int] = {}

    def note(name: str, low: float, high: float, truth: float) -> None:
        widths.setdefault(name, []).append(high - low)
        missed[name] = missed.get(name, 0) + (not low <= truth <= high)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        python = environment(folder, "vw-estimators")
        if python is None:
            sys.exit("vw-estimators could not be installed here")
        stored, truths = [], []
        for number in range(LOGS):
            rates = rng.uniform(0.02, 0.3, (KINDS, ACTIONS))
            write_log(folder / "first.dsjson", rates, rng)
            vowpalwabbit.Workspace(f"{VW} -d {folder}/first.dsjson -f {folder}/model").finish()
            data = write_log(folder / "log.dsjson", rates, rng)
            # The model is fixed before the second log, and only tested on it (-t).
            vowpalwabbit.Workspace(f"{VW} -t -i {folder}/model -d {folder}/log.dsjson -p {folder}/new.txt").finish()
            new = probabilities(folder / "new.txt")
            truths.append(float((new * rates[data["kind"]]).sum(axis=1).mean()))
            stored.append(folder / f"{number}.npz")
            logged = new[np.arange(ROUNDS), data["action"]]
            np.savez(stored[-1], q=data["propensity"], r=data["reward"], p=logged)
            imported = sl.importers.dsjson(folder / "log.dsjson")
            policy = {"new": sl.importers.predictions(folder / "new.txt")}
            for control in ("none", "weights"):
                value: Any = sl.evaluate(imported.logs, policy, control=control)["new"]
                note(f"surelift, control={control!r}", value.lower, value.upper, truths[-1])
        done = subprocess.run([python, "-c", CS, *stored], capture_output=True, text=True, check=True)
        for line, truth in zip(done.stdout.splitlines(), truths, strict=True):
            low, high = map(float, line.split())
            note("vw-estimators, cs", low, high, truth)
    baseline = float(np.mean(widths["vw-estimators, cs"]))
    print(f"the value of a policy that VW learned, {LOGS} logs of {ROUNDS:,} rounds, 95%, at any number of looks")
    for name in sorted(widths, reverse=True):
        width = float(np.mean(widths[name]))
        print(f"  {name:28} {width:.4f} wide on average, {width / baseline:.2f}x; missed {missed[name]} of {LOGS}")


if __name__ == "__main__":
    main()
