"""Adding a bound takes one file and one line: the example in CONTRIBUTING runs."""

import re
import types
from pathlib import Path

import numpy as np
import pytest

import surelift as sl
from surelift.bounds import COLUMNS
from surelift.bounds.bound import Bound
from surelift.cli.app import main

CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"


def test_the_example_is_a_bound(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file, line = re.findall(r"```python\n(.*?)```", CONTRIBUTING.read_text(), flags=re.DOTALL)
    hoeffding = types.ModuleType("hoeffding")
    exec(compile(file, "CONTRIBUTING.md", "exec"), hoeffding.__dict__)
    table = eval("{" + line + "}", {"hoeffding": hoeffding, "Bound": Bound, "COLUMNS": COLUMNS})
    monkeypatch.setitem(sl.bounds.BOUNDS, "hoeffding", table["hoeffding"])

    logs = sl.Logs(reward=np.tile([0.0, 1.0], 500), propensity=np.full(1_000, 0.5))
    answer = sl.evaluate(logs, {"new": np.tile([0.4, 0.6], 500)}, method="hoeffding", clip=2.0)["new"]
    # Mean 0.6, clip 2, 1,000 rounds, delta 0.05 on two sides.
    assert answer.lower == pytest.approx(0.6 - 2 * np.sqrt(np.log(40) / 2_000))
    assert answer.upper == pytest.approx(1 - 0.4 + 2 * np.sqrt(np.log(40) / 2_000))
    assert answer.promise == "one look"
    with pytest.raises(sl.UsageError, match="does not use grid="):
        sl.evaluate(logs, {"new": np.full(1_000, 0.5)}, method="hoeffding", grid="planned")
    assert main(["explain", "hoeffding"]) == 0
    assert "pays for their range" in capsys.readouterr().out
