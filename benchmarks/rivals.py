"""How long do other tools take for an interval on the same rounds? obp's bootstrap and Vowpal Wabbit's estimators.

Each is installed into its own environment, if possible, and timed against surelift on the same number of rounds in the same
run: python benchmarks/rivals.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import surelift as sl

ROUNDS = 1_000_000
INSTALLS = {
    "vw-estimators": ["vw-estimators==0.2.2"],
    "obp": [
        "numpy<2",
        "pandas<2.2",
        "scikit-learn<1.4",
        "scipy<1.12",
        "tqdm",
        "torch==2.13.0",
        "matplotlib",
        "seaborn",
        "pyyaml",
    ],
}
SCRIPTS = {
    "vw-estimators": """
import sys, time, numpy as np
from estimators.bandits.cressieread import Interval
data = np.load(sys.argv[1]); start = time.perf_counter()
estimator = Interval()
for p_log, reward, p_new in zip(data["q"].tolist(), data["r"].tolist(), data["p"].tolist()):
    estimator.add_example(p_log, reward, p_new)
estimator.get()
print(time.perf_counter() - start)
""",
    "obp": """
import sys, time, numpy as np
from obp.ope import SelfNormalizedInverseProbabilityWeighting as SNIPW
data = np.load(sys.argv[1]); n = len(data["r"])
action = np.zeros(n, dtype=int); dist = np.zeros((n, 2, 1)); dist[:, 0, 0] = data["p"]; dist[:, 1, 0] = 1 - data["p"]
start = time.perf_counter()
SNIPW().estimate_interval(
    reward=data["r"], action=action, pscore=data["q"], action_dist=dist, n_bootstrap_samples=100, random_state=0)
print(time.perf_counter() - start)
""",
}


def environment(folder: Path, name: str) -> Path | None:
    """A Python interpreter with the rival installed, or None."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
    python = folder / name / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = [[*pip, *INSTALLS[name]]]
    if name == "obp":  # it requires an older Python and pins packages that do not install; it runs without the pins
        steps.append([*pip, "--no-deps", "--ignore-requires-python", "obp==0.5.7", "pyieoe"])
    for step in steps:
        if subprocess.run(step, capture_output=True, check=False).returncode:
            return None
    return python


def main() -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(0.05, 1.0, ROUNDS)
    arrays = {
        "q": q,
        "r": (rng.random(ROUNDS) < 0.1).astype(float),
        "p": np.minimum(1.0, q * rng.uniform(0.2, 1.8, ROUNDS)),
    }
    logs = sl.Logs(arrays, reward="r", propensity="q")
    sl.evaluate(logs, "p")
    start = time.perf_counter()
    sl.evaluate(logs, "p")
    ours = time.perf_counter() - start
    print(f"surelift, a certified interval: {1e9 * ours / ROUNDS:.0f} ns per round ({ROUNDS:,} rounds)")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        np.savez(data, q=arrays["q"], r=arrays["r"], p=arrays["p"])
        for name, script in SCRIPTS.items():
            python = environment(Path(folder), name)
            if python is None:
                print(f"{name}: could not be installed here")
                continue
            done = subprocess.run([str(python), "-c", script, str(data)], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}: installed, but failed: {done.stderr.strip().splitlines()[-1]}")
                continue
            spent = float(done.stdout.split()[-1])
            print(f"{name}: {1e9 * spent / ROUNDS:.0f} ns per round, {spent / ours:.0f}x")


if __name__ == "__main__":
    main()
