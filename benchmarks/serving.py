"""How long does one decision take, compared with a table of one row? And the first one of a fresh process?

Every line is a fresh process that loads a saved policy and decides: the median and the 99th percentile of single calls,
compared with ``sample`` on a table of one row in the same process. Then CPU and wall time of a process that imports, loads,
decides once and ends, compared with one that imports NumPy:
python benchmarks/serving.py [decisions] [processes] [items]
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

FEATURES, ACTIONS, COLUMNS = 64, 10, 32
NAMES = tuple(f"x{k}" for k in range(FEATURES))
VISITOR = {"visitor": "new", "device": "phone", "daypart": "day"}
FIRST = """
import sys
from surelift import LearnedPolicy
policy = LearnedPolicy.load(sys.argv[1])
policy.decide(dict(visitor="new", device="phone", daypart="day") if "shop" in sys.argv[1] else [0.5] * 64)
assert "torch" not in sys.modules and "pyarrow" not in sys.modules
assert "scipy" not in sys.modules or "gaussian" in sys.argv[1]
"""


def policies(items: int) -> dict[str, Any]:
    import surelift as sl
    from surelift.learning.data.layout import FeatureLayout
    from surelift.learning.learned import LearnedPolicy
    from surelift.learning.policies.rules import GaussianRule, ItemRule, SoftmaxRule

    rng = np.random.default_rng(0)

    def single(*shape: int) -> Any:
        return rng.normal(scale=0.3, size=shape).astype(np.float32)

    many = FeatureLayout(NAMES, {}, {}, True, (0.1,) * FEATURES, (2.0,) * FEATURES)
    learned = sl.PolicyLearner("linear", epochs=1).fit(sl.datasets.shop(20_000).logs()).policy_
    means, wide = single(ACTIONS, FEATURES + 1), single(COLUMNS, FEATURES + 1)
    gaussian = GaussianRule(means, np.exp(single(FEATURES + 1)), single(ACTIONS, FEATURES + 1))
    return {
        "softmax": LearnedPolicy(SoftmaxRule(means), many, None, ACTIONS),
        "shop": learned,  # with its certificate, and what it remembers of its rounds
        "gaussian": LearnedPolicy(gaussian, many, None, ACTIONS),
        "items": LearnedPolicy(ItemRule(wide, single(items, COLUMNS)), many, None, items),
    }


def microseconds(call: Callable[[Any], Any], contexts: list[Any], times: int) -> tuple[float, float]:
    """The median and the 99th percentile of single calls."""
    taken = []
    for k in range(times):
        context = contexts[k % len(contexts)]
        start = time.perf_counter_ns()
        call(context)
        taken.append((time.perf_counter_ns() - start) / 1e3)
    return float(np.median(taken)), float(np.quantile(taken, 0.99))


def decide(path: str, given_as: str, decisions: int) -> None:
    """In a fresh process: a few hundred different contexts, over and over."""
    from surelift import LearnedPolicy

    policy, rows = LearnedPolicy.load(path), np.random.default_rng(1).normal(size=(500, FEATURES))
    contexts: list[Any] = list(rows)
    if given_as == "three texts":
        contexts = [{**VISITOR, "device": device} for device in ("phone", "desktop", "watch")]
    elif given_as == "dict":
        contexts = [dict(zip(NAMES, row.tolist(), strict=True)) for row in rows]
    policy.decide(contexts[0])
    median, late = microseconds(policy.decide, contexts, decisions)
    assert "torch" not in sys.modules
    as_rows: Callable[[Any], Any] = lambda context: (  # noqa: E731
        policy.sample({name: [value] for name, value in context.items()})
        if isinstance(context, dict) else policy.sample(context[None])
    )  # fmt: skip
    as_rows(contexts[0])
    table, _ = microseconds(as_rows, contexts, max(50, decisions // 20))
    print(f"{median:9.1f} us   99%: {late:9.1f} us   a table of one row {table / median:5.1f}x", flush=True)


def seconds(*arguments: str) -> tuple[float, float]:
    import os

    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments])
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime, wall


def main(decisions: str = "20000", processes: str = "9", items: str = "100000") -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, policy in policies(int(items)).items():
            policy.save(f"{folder}/{name}.safetensors")
        print(f"one decision, {FEATURES} features, {ACTIONS} actions (shop: three texts; {int(items):,} items)")
        for name, given_as in [
            ("softmax", "array"), ("softmax", "dict"), ("shop", "three texts"), ("gaussian", "array"),
            ("gaussian", "dict"), ("items", "array"),
        ]:  # fmt: skip
            print(f"  {name:9} {given_as:12}", end="", flush=True)
            count = decisions if name != "items" else str(max(200, int(decisions) // 50))
            subprocess.run([sys.executable, __file__, "--one", f"{folder}/{name}.safetensors", given_as, count], check=True)
        print("the first decision of a fresh process")
        baseline = 0.0
        for name in ("import numpy", "softmax", "shop", "gaussian"):
            code = ("-c", name) if not baseline else ("-c", FIRST, f"{folder}/{name}.safetensors")
            turns = [seconds(*code) for _ in range(int(processes))]
            cpu, wall = (statistics.median(times) for times in zip(*turns, strict=True))
            baseline = baseline or cpu
            print(f"  {name:12} cpu {cpu:.2f} s {cpu / baseline:4.1f}x, wall {wall:.2f} s", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        decide(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(*sys.argv[1:])
