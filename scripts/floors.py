"""Print the lowest versions that ``pyproject.toml`` allows, one requirement a line, for the extras that are named.

``make floors`` installs them and runs the tests. torch alone is taken from ``constraints.txt``: older versions of it come
with gigabytes of libraries for GPUs.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLOOR = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,-]+\])?>=(?P<version>[\w.]+)(,<[\w.]+)?$")


def floor(requirement: str) -> str:
    """The requirement at its lowest version.

    >>> floor("ibis-framework[duckdb]>=10"), floor("sqlglot>=26,<30.18")
    ('ibis-framework[duckdb]==10', 'sqlglot==26')
    """
    found = FLOOR.match(requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} in pyproject.toml has no lowest version, as name>=version.")
    return f"{found['name']}{found['extras'] or ''}=={found['version']}"


def floors(*extras: str) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [project["optional-dependencies"][extra] for extra in extras]
    lowest = {floor(requirement) for requirement in sum(named, project["dependencies"])}
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    at_hand = {line for line in pinned if line.startswith("torch==")}
    return sorted({line for line in lowest if not line.startswith("torch==")} | (at_hand if "learn" in extras else set()))


if __name__ == "__main__":
    print(*floors(*sys.argv[1:]), sep="\n")
