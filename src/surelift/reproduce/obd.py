"""Real logs: ZOZOTOWN's, by a uniform random policy and Bernoulli Thompson sampling, three campaigns (Open Bandit Dataset).

The random log evaluates a candidate fixed in advance from the other log: the frequency of each item at each position under
Thompson sampling. That is Thompson sampling's average behaviour, not Thompson sampling itself, which changed as it learned.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.decisions.compare import compare
from surelift.decisions.evaluate import evaluate
from surelift.decisions.without_promise import power
from surelift.reproduce.data import read_parquet, required_file
from surelift.reproduce.folder import Folder, ReproducedTable, Tell
from surelift.traits.logs import Logs

CAMPAIGNS = ("all", "men", "women")
DELTA = 0.05
COLUMNS = ["item_id", "position", "click", "propensity_score"]


def campaign(name: str) -> dict[str, Any]:
    random, thompson = map(_read, (f"obd-random-{name}", f"obd-bts-{name}"))
    items = int(max(random["item_id"].max(), thompson["item_id"].max())) + 1
    positions, position = np.unique(random["position"], return_inverse=True)
    shown = np.zeros((len(positions), items))
    np.add.at(shown, (np.searchsorted(positions, thompson["position"]), thompson["item_id"]), 1.0)
    frequency = shown / shown.sum(axis=1, keepdims=True)
    probability = frequency[position, random["item_id"]]
    logs = Logs(reward=random["click"].astype(float), propensity=random["propensity_score"])
    value = evaluate(logs, {"thompson": probability}, delta=DELTA)["thompson"]
    gain = compare(logs, {"thompson": probability}, delta=DELTA)
    # Each side of an improvement holds separately; both together use delta/2 each.
    both = compare(logs, {"thompson": probability}, delta=DELTA / 2)
    weight, clicks = probability / random["propensity_score"], thompson["click"]
    true = float(clicks.mean() - random["click"].mean())
    needed = power(logs, {"thompson": probability}, delta=DELTA, improvement=true).rounds_needed if true > 0.0 else None
    return {
        "items": items, "rounds": len(position), "clicks": int(random["click"].sum()),
        "random": float(random["click"].mean()), "estimate": value.estimate, "lower": value.lower, "upper": value.upper,
        "gain": [both.lower, both.upper], "certified": gain.certified, "largest": float(weight.max()),
        "effective": float(weight.sum() ** 2 / (weight**2).sum()), "thompson": float(clicks.mean()),
        "thompson_error": float(clicks.std() / len(clicks) ** 0.5),
        "needed": None if needed is None else int(needed),
    }  # fmt: skip


def _read(name: str) -> dict[str, Any]:
    table = read_parquet(required_file(f"{name}.parquet"), COLUMNS)
    return {column: table[column].to_numpy() for column in COLUMNS}


def reproduce(output: str | Path, *, quick: bool = False, tell: Tell | None = None) -> Path:
    """Always a quick run; ``quick`` changes nothing."""
    folder = Folder(output, {"what": "obd", "delta": DELTA})
    campaigns = folder.pieces(campaign, [(name,) for name in CAMPAIGNS], tell)
    return folder.write("Real logs: the Open Bandit Dataset", introduction(campaigns), [table(campaigns)], [])


def table(campaigns: Sequence[dict[str, Any]]) -> ReproducedTable:
    rows = []
    for name, result in zip(CAMPAIGNS, campaigns, strict=True):
        inside = result["lower"] <= result["thompson"] <= result["upper"]
        rows.append({
            "campaign": name, "items": result["items"], "rounds": result["rounds"], "clicks": result["clicks"],
            "random": f"{result['random']:.4f}", "estimate": f"{result['estimate']:.4f}",
            "bounds": f"{result['lower']:.4f} to {result['upper']:.4f}",
            "Thompson log's own mean": f"{result['thompson']:.4f} +- {result['thompson_error']:.4f}",
            "inside": "yes" if inside else "no",
            "improvement": f"{result['gain'][0]:+.4f} to {result['gain'][1]:+.4f}",
            "certified": "yes" if result["certified"] else "no", "effective sample size": f"{result['effective']:,.0f}",
            "largest weight": f"{result['largest']:.1f}",
            "rounds needed": "" if result["needed"] is None else f"{result['needed']:,}",
        })  # fmt: skip
    notes = [
        f"Every interval holds with probability {1 - DELTA:g} separately, at any number of looks. The Thompson log's mean "
        "is that of the policy as it changed, with its standard error. Rounds needed is the number that would certify the "
        "improvement in four of five logs if it were the difference of the logs' means; blank if Thompson's is not larger."
    ]
    title = "Average Thompson sampling, evaluated on the random log"
    return ReproducedTable("open-bandit", title, [*rows[0]], [list(row.values()) for row in rows], notes)


def introduction(campaigns: Sequence[dict[str, Any]]) -> list[str]:
    """The limits of what these logs can certify, from the numbers."""
    clicks = ", ".join(str(result["clicks"]) for result in campaigns)
    by_name = dict(zip(CAMPAIGNS, campaigns, strict=True))
    better = [name for name, result in by_name.items() if result["certified"]]
    worse = [name for name, result in by_name.items() if result["gain"][1] < 0.0]
    widths = [result["upper"] - result["lower"] for result in campaigns]
    differences = [abs(result["thompson"] - result["random"]) for result in campaigns]
    verdict = "In no campaign is it certified to be better, or worse, than the random policy."
    if better or worse:
        where = f"{', '.join(better) or 'none'}; worse in: {', '.join(worse) or 'none'}"
        verdict = f"It is certified better than the random policy in: {where}."
    return [
        "Ten thousand rounds of each campaign and policy, a sample of the Open Bandit Dataset. The candidate shows each "
        "item at each position as often as Thompson sampling did on average, fixed from the other log.",
        f"What these logs can certify: the candidate's click rate, to within an interval {min(widths):.4f} to "
        f"{max(widths):.4f} wide, from {clicks} clicks. What they cannot: the two logs' click rates differ by "
        f"{min(differences):.4f} to {max(differences):.4f}, a small part of that width. {verdict}",
    ]
