"""Real logs: ZOZOTOWN's, by uniform random choice and by Bernoulli Thompson sampling, three campaigns (Open Bandit Dataset).

The random log judges a candidate that was fixed beforehand, from another log: the frequency of each item at each position
under Thompson sampling. It is the average of what that did, not Thompson sampling itself, which changed as it learned.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.decisions.compare import compare
from surelift.decisions.evaluate import evaluate
from surelift.decisions.power import power
from surelift.logs.logs import Logs
from surelift.reproduce.data import MissingDataError
from surelift.reproduce.folder import Folder, ReproducedTable, Tell

CAMPAIGNS = ("all", "men", "women")
DELTA = 0.05
COLUMNS = ["item_id", "position", "click", "propensity_score"]


def campaign(name: str) -> dict[str, Any]:
    random, thompson = (_read(f"obd-{policy}-{name}") for policy in ("random", "bts"))
    items = int(max(random["item_id"].max(), thompson["item_id"].max())) + 1
    places, position = np.unique(random["position"], return_inverse=True)
    shown = np.zeros((len(places), items))
    np.add.at(shown, (np.searchsorted(places, thompson["position"]), thompson["item_id"]), 1.0)
    frequency = shown / shown.sum(axis=1, keepdims=True)
    probability = frequency[position, random["item_id"]]
    logs = Logs(reward=random["click"].astype(float), propensity=random["propensity_score"])
    value = evaluate(logs, {"thompson": probability}, delta=DELTA)["thompson"]
    gain = compare(logs, {"thompson": probability}, delta=DELTA)
    # Each side of an improvement holds by itself; both together at half of delta each.
    both = compare(logs, {"thompson": probability}, delta=DELTA / 2)
    weight, clicks = probability / random["propensity_score"], thompson["click"]
    true = float(clicks.mean() - random["click"].mean())
    forecast = power(logs, {"thompson": probability}, delta=DELTA, improvement=true) if true > 0.0 else None
    return {
        "items": items, "rounds": len(position), "clicks": int(random["click"].sum()),
        "random": float(random["click"].mean()), "estimate": value.estimate, "lower": value.lower, "upper": value.upper,
        "gain": [both.lower, both.upper], "certified": gain.certified, "largest": float(weight.max()),
        "effective": float(weight.sum() ** 2 / (weight**2).sum()), "thompson": float(clicks.mean()),
        "thompson_error": float(clicks.std() / len(clicks) ** 0.5),
        "needed": None if forecast is None or forecast.rounds_needed is None else int(forecast.rounds_needed),
    }  # fmt: skip


def _read(name: str) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = os.environ.get("SURELIFT_DATA")
    path = None if folder is None else Path(folder) / f"{name}.parquet"
    if path is None or not path.exists():
        raise MissingDataError(
            f"{name} is not in the folder that SURELIFT_DATA names; the Open Bandit Dataset is needed."
        )
    try:
        table = pq.read_table(path, columns=COLUMNS)
    except (OSError, pa.ArrowException) as error:
        raise MissingDataError(f"{path} cannot be read: {error}. It may be damaged.") from error
    return {column: table[column].to_numpy() for column in COLUMNS}


def reproduce(output: str | Path, *, quick: bool = False, tell: Tell | None = None) -> Path:
    """It is quick as it is."""
    folder = Folder(output, {"what": "obd", "delta": DELTA})
    found = folder.pieces(campaign, [(name,) for name in CAMPAIGNS], tell)
    return folder.write("Real logs: the Open Bandit Dataset", told(found), [table(found)], [])


def table(found: Sequence[dict[str, Any]]) -> ReproducedTable:
    rows = []
    for name, one in zip(CAMPAIGNS, found, strict=True):
        inside = one["lower"] <= one["thompson"] <= one["upper"]
        rows.append([
            name, one["items"], one["rounds"], one["clicks"], f"{one['random']:.4f}", f"{one['estimate']:.4f}",
            f"{one['lower']:.4f} to {one['upper']:.4f}", f"{one['thompson']:.4f} +- {one['thompson_error']:.4f}",
            "yes" if inside else "no", f"{one['gain'][0]:+.4f} to {one['gain'][1]:+.4f}",
            "yes" if one["certified"] else "no", f"{one['effective']:,.0f}", f"{one['largest']:.1f}",
            "" if one["needed"] is None else f"{one['needed']:,}",
        ])  # fmt: skip
    columns = [
        "campaign", "items", "rounds", "clicks", "random", "estimate", "bounds", "Thompson log's own mean", "inside",
        "improvement", "certified", "effective sample size", "largest weight", "rounds needed",
    ]  # fmt: skip
    notes = [
        f"Every interval holds with probability {1 - DELTA:g} by itself, at any number of looks. The Thompson log's mean is "
        "of the policy as it changed, with its standard error. Rounds needed are those that would certify the improvement "
        "in four of five logs, were it as large as the two logs' means are apart; none where Thompson's is not larger.",
    ]
    return ReproducedTable(
        "open-bandit", "The average of Thompson sampling, judged by the random log", columns, rows, notes
    )


def told(found: Sequence[dict[str, Any]]) -> list[str]:
    """What these logs can certify, and what not, in words that follow the numbers."""
    clicks = ", ".join(str(one["clicks"]) for one in found)
    certified = [name for name, one in zip(CAMPAIGNS, found, strict=True) if one["certified"]]
    widths = [one["upper"] - one["lower"] for one in found]
    apart = [abs(one["thompson"] - one["random"]) for one in found]
    worse = [name for name, one in zip(CAMPAIGNS, found, strict=True) if one["gain"][1] < 0.0]
    verdict = (
        f"It is certified to be better than random choice in: {', '.join(certified) or 'none'}; worse in: "
        f"{', '.join(worse) or 'none'}."
        if certified or worse
        else "In no campaign is it certified to be better, or worse, than random choice."
    )
    return [
        "Ten thousand rounds of each campaign and policy, a sample of the Open Bandit Dataset. The candidate shows each "
        "item at each position as often as Thompson sampling did on average, fixed from the other log.",
        f"What these logs can certify: the candidate's click rate, to an interval {min(widths):.4f} to {max(widths):.4f} "
        f"wide, from {clicks} clicks. What they cannot: the two logs' click rates are {min(apart):.4f} to {max(apart):.4f} "
        f"apart, a small part of that. {verdict}",
    ]
