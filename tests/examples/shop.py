"""The shop's log as the examples find it, and a way to run them as they are."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import surelift as sl

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
BIN = Path(sys.executable).parent
CONTEXTS = ("visitor", "device", "daypart")
POLICY = """
import json, pathlib

TABLE = json.loads((pathlib.Path(__file__).parent / "table.json").read_text())


def probabilities(context):
    return TABLE["/".join([context["visitor"], context["device"], context["daypart"]])]
"""


def logged(rounds: int = 20_000) -> Any:
    """The log before anyone scored it, as a data frame."""
    table = sl.datasets.shop(rounds).table.to_pandas()
    table["complaint"] = (np.random.default_rng(0).random(len(table)) < 0.02).astype(float)
    return table.drop(columns=["p_better", "p_slight", "p_worse"])


def scored(candidate: str = "better", rounds: int = 20_000) -> Any:
    return logged(rounds).assign(p_new=sl.datasets.shop(rounds).table.to_pandas()[f"p_{candidate}"])


def distributions(candidate: str) -> dict[str, dict[str, float]]:
    """What a candidate does in each context, as the log shows it: every item occurs in every context."""
    table = sl.datasets.shop().table.to_pandas()
    found: dict[str, dict[str, float]] = {}
    for *context, item, share in table[[*CONTEXTS, "item", f"p_{candidate}"]].drop_duplicates().itertuples(index=False):
        found.setdefault("/".join(context), {})[item] = share
    return found


def write_policy(folder: Path, candidate: str) -> None:
    """A user's policy, in a file called new.py."""
    folder.mkdir(exist_ok=True)
    (folder / "new.py").write_text(POLICY)
    (folder / "table.json").write_text(json.dumps(distributions(candidate)))


def run(
    *command: Any, folder: Path, programs: Path = BIN, given: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command as a shell would find it, with ``programs`` first in the path and ``given`` in the environment."""
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    return subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, **(given or {})},
    )  # fmt: skip


def load(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
