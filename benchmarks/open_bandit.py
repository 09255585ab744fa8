"""Thompson sampling on the Open Bandit Dataset: obp's bootstrap interval beside surelift's bounds, and which of them hold.

The candidate is obp's BernoulliTS with ZOZOTOWN's prior, drawn by obp. Then many logs are simulated with the click rates of
a campaign, in which the candidate's value is known. obp needs older packages, and is installed into its own environment,
unless the Python of one that has it is named: SURELIFT_DATA=... python benchmarks/open_bandit.py [PYTHON]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import surelift as sl

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.rivals import environment

DRAWS, LOGS, SIZES = 200, 500, (1_000, 3_000)
CAMPAIGNS = {"men": 34, "women": 46, "all": 80}
METHODS = ("mixture", "blocks")
CANDIDATE = """
import sys, numpy as np
from obp.policy import BernoulliTS
campaign, items, draws = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log = np.load(sys.argv[1] + "/log.npz")
bts = BernoulliTS(n_actions=items, len_list=3, is_zozotown_prior=True, campaign=campaign, random_state=0)
rng, wins = np.random.default_rng(1), []
for action, position in zip(log["action"], log["position"]):
    best = np.argsort(rng.beta(bts.alpha, bts.beta, size=(draws, items)), axis=1)[:, ::-1]
    wins.append(np.count_nonzero(best[:, position] == action))
np.savez(sys.argv[1] + "/bts.npz", dist=bts.compute_batch_action_dist(n_rounds=1, n_sim=100_000)[0], wins=wins)
"""
INTERVALS = """
import sys, json, numpy as np
from obp.ope import InverseProbabilityWeighting
logs, found = np.load(sys.argv[1] + "/logs.npz"), []
for k, (action, position, reward) in enumerate(zip(logs["action"], logs["position"], logs["reward"])):
    if not reward.any():
        found.append([0.0, 0.0])
        continue
    ends = InverseProbabilityWeighting().estimate_interval(
        reward=reward, action=action, position=position, pscore=np.full(len(action), 1 / len(logs["dist"])),
        action_dist=np.broadcast_to(logs["dist"], (len(action), *logs["dist"].shape)), alpha=0.05,
        n_bootstrap_samples=1000, random_state=k)
    found.append([ends["95.0% CI (lower)"], ends["95.0% CI (upper)"]])
print(json.dumps(found))
"""


def obp(python: str, script: str, *arguments: object) -> str:
    command = [python, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"obp failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def intervals(python: str, folder: Path, dist: Any, logs: dict[str, Any]) -> Any:
    """obp's, of one log in each row."""
    np.savez(folder / "logs.npz", dist=dist, **logs)
    return np.array(json.loads(obp(python, INTERVALS, folder).splitlines()[-1]))


def ours(dist: Any, log: dict[str, Any], method: str) -> tuple[float, float]:
    rounds, items = len(log["action"]), len(dist)
    feedback = {**log, "pscore": np.full(rounds, 1 / items), "pi_b": np.full((rounds, items, 1), 1 / items)}
    brought = sl.importers.obp(feedback, np.broadcast_to(dist, (rounds, *dist.shape)), name="bts")
    try:
        value = sl.evaluate(brought.logs, brought.policies, method=method)["bts"]
    except sl.LogsError:  # bounds that contradict each other: one of them failed, and the log is refused
        return 0.0, -1.0
    return float(value.lower or 0.0), float(value.upper or 1.0)


def read(campaign: str, policy: str) -> dict[str, Any]:
    table = pq.read_table(Path(os.environ["SURELIFT_DATA"]) / f"obd-{policy}-{campaign}.parquet")
    return {
        "action": table["item_id"].to_numpy(), "position": table["position"].to_numpy() - 1,
        "reward": table["click"].to_numpy().astype(float),
    }  # fmt: skip


def one_log(campaign: str, items: int, folder: Path, python: str) -> Any:
    log = read(campaign, "random")
    np.savez(folder / "log.npz", **log)
    obp(python, CANDIDATE, folder, campaign, items, DRAWS)
    drawn = np.load(folder / "bts.npz")
    dist = drawn["dist"]
    own = read(campaign, "bts")["reward"].mean()
    print(
        f"{campaign}: {log['reward'].sum():.0f} clicks in {len(log['reward']):,} rounds; Thompson's own log earned {own:.4f}"
    )
    ((low, high),) = intervals(python, folder, dist, {name: column[None] for name, column in log.items()})
    found = {"obp, bootstrap": (low, high)}
    found |= {f"surelift, {method}": ours(dist, log, method) for method in METHODS}
    table = pa.table({"reward": log["reward"], "q": np.full(len(log["reward"]), 1 / items), "k": drawn["wins"]})
    fresh = sl.evaluate(sl.Logs(table, reward="reward", propensity="q"), {"bts": sl.wins("k", DRAWS)})["bts"]
    found[f"surelift, {DRAWS} fresh draws a round"] = (float(fresh.lower or 0.0), float(fresh.upper or 1.0))
    for what, (lower, upper) in found.items():
        print(f"  {what:36s}{lower:.4f} to {upper:.4f}   {(upper - lower) / (high - low):.2f}x")
    return dist


def many_logs(campaign: str, items: int, dist: Any, folder: Path, python: str) -> None:
    """Rates as in the two logs, each pulled towards the mean by 200 rounds of it."""
    seen = {policy: read(campaign, policy) for policy in ("random", "bts")}
    joined = {name: np.concatenate([log[name] for log in seen.values()]) for name in ("action", "position", "reward")}
    cells = joined["action"] * 3 + joined["position"]
    shown, clicks = (np.bincount(cells, weight, items * 3) for weight in (None, joined["reward"]))
    rates = ((clicks + 200 * clicks.sum() / shown.sum()) / (shown + 200)).reshape(items, 3)
    truth = float((dist * rates).sum() / 3)
    print(f"{LOGS} logs with the click rates of {campaign!r}, value {truth:.4f}; the share that missed it, below and above")
    rng = np.random.default_rng(0)
    for size in SIZES:
        action, position = rng.integers(0, items, (LOGS, size)), rng.integers(0, 3, (LOGS, size))
        logs = {
            "action": action,
            "position": position,
            "reward": (rng.random((LOGS, size)) < rates[action, position]).astype(float),
        }
        found = {"obp": intervals(python, folder, dist, logs)}
        for method in METHODS:
            found[method] = np.array(
                [ours(dist, {name: column[k] for name, column in logs.items()}, method) for k in range(LOGS)]
            )
        widths = {name: np.mean((ends[:, 1] - ends[:, 0])[ends[:, 1] >= 0]) for name, ends in found.items()}
        for name, ends in found.items():
            above, below = np.mean(ends[:, 0] > truth), np.mean(ends[:, 1] < truth)
            share = f"{above + below:6.1%} ({below:.1%} below)"
            print(f"  {size:>6,} rounds  {name:8s} {share}   {widths[name] / widths['obp']:.2f}x", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = sys.argv[1] if len(sys.argv) > 1 else environment(folder, "obp")
        if python is None:
            sys.exit("obp could not be installed here")
        for campaign, items in CAMPAIGNS.items():
            dist = one_log(campaign, items, folder, str(python))
            if campaign == "men":
                many_logs(campaign, items, dist, folder, str(python))


if __name__ == "__main__":
    main()
