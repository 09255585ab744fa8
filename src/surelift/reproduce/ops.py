"""Selection: which of four policies each method chooses, and whether it is worse than production (Table 6)."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.datasets import encode_labels, faulty_policy, ideal_policy, supervised_to_bandit
from surelift.datasets.draws import softmax
from surelift.decisions.select import select
from surelift.decisions.without_promise import estimate
from surelift.reproduce import figures, ope
from surelift.reproduce.data import IMPUTED, PAPER_METHODS, SELECTING, TABLE_6, TABULAR, available, labelled
from surelift.reproduce.folder import Folder, ReproducedTable, Tell
from surelift.traits.logs import Logs

DELTA = 0.05
SEEDS = range(10)
PRODUCTION = "production"
ESTIMATES = {"IPS": "ips", "SNIPS": "snips"}
BOUNDS: dict[str, dict[str, Any]] = {
    **{name: ope.METHODS[name] for name in PAPER_METHODS},
    "weight control, any looks": {"control": "weights"},
}
METHODS = (*ESTIMATES, *BOUNDS, "select")
PESSIMISTIC = tuple(name for name in BOUNDS if name != "SN-ES")
OUTCOMES = ("worse", "better", "best")


def trained(features: FloatArray, action: IntArray, reward: FloatArray, propensity: FloatArray, classes: int, *,
            self_normalised: bool) -> FloatArray:  # fmt: skip
    """Weights of a linear softmax, (classes, features), that maximise the IPS or SNIPS estimate: L-BFGS, 200 steps."""
    from scipy.optimize import minimize

    rows, ratio = np.arange(len(action)), 1.0 / propensity

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        p = softmax(features @ flat.reshape(classes, -1).T)
        p_logged = p[rows, action]
        weight = p_logged * ratio
        if self_normalised:
            value = (weight * reward).sum() / weight.sum()
            slope = ratio * (reward - value) / weight.sum()
        else:
            value, slope = (weight * reward).mean(), ratio * reward / len(action)
        gradient = -p * (slope * p_logged)[:, None]
        gradient[rows, action] += slope * p_logged
        return -float(value), -(gradient.T @ features).ravel()

    start = np.zeros(classes * features.shape[1])
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    weights: FloatArray = solution.x.reshape(classes, -1)
    return weights


def chosen(name: str, seed: int) -> dict[str, str]:
    """The outcome of each method's choice."""
    data = labelled(name)
    codes, classes = encode_labels(data.labels)
    rng = np.random.default_rng((seed, list(TABULAR).index(name), 1))
    features = np.column_stack([data.features, np.ones(len(codes))])
    spread = features.std(axis=0)
    features[:, :-1] = (features[:, :-1] - features[:, :-1].mean(axis=0)) / np.where(spread[:-1] > 0, spread[:-1], 1.0)
    logging = faulty_policy(codes, len(classes), temperature=0.2)
    feedback = supervised_to_bandit(features, data.labels, logging, noise=0.2, rng=rng)
    order = rng.permutation(len(codes))
    learn, judge, truth = np.split(order, [int(0.2 * len(order)), int(0.7 * len(order))])
    action, reward = feedback.action, feedback.reward
    propensity = logging[np.arange(len(codes)), action]
    policies = {PRODUCTION: logging, "ideal": ideal_policy(codes, len(classes), temperature=0.1)}
    for kind in ("IPS", "SNIPS"):
        weights = trained(
            features[learn], action[learn], reward[learn], propensity[learn], len(classes), self_normalised=kind == "SNIPS"
        )
        policies[kind] = softmax(features @ weights.T)
    values = {label: float((p * feedback.expected_rewards)[truth].sum(axis=1).mean()) for label, p in policies.items()}
    logs = Logs(reward=reward[judge], propensity=propensity[judge], action=action[judge], logging=logging[judge])
    judged = {label: p[judge] for label, p in policies.items()}
    return {method: outcome(values, choice) for method, choice in choices(logs, judged).items()}


def choices(logs: Logs, policies: dict[str, FloatArray]) -> dict[str, str]:
    chosen_by = {}
    for method, kind in ESTIMATES.items():
        scores = {name: float(estimate(logs, {"new": p}, estimator=kind).first.estimate) for name, p in policies.items()}
        chosen_by[method] = best_of(scores)
    candidates = {name: p for name, p in policies.items() if name != PRODUCTION}
    for method, options in BOUNDS.items():
        # As in the paper, delta is that of each bound.
        chosen_by[method] = select(logs, candidates, choose="value", delta=DELTA * len(policies), **options).chosen
    chosen_by["select"] = select(logs, candidates, delta=DELTA).chosen or PRODUCTION
    return chosen_by


def best_of(scores: dict[str, float]) -> str:
    """The policy with the highest score, or production if none scores higher than it."""
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > scores[PRODUCTION] else PRODUCTION


def outcome(values: dict[str, float], chosen: str) -> str:
    if values[chosen] < values[PRODUCTION]:
        return "worse"
    return "best" if values[chosen] >= max(values.values()) else "better"


def reproduce(output: str | Path, *, quick: bool = False, tell: Tell | None = None) -> Path:
    digests, sets, missing = available(lambda name: not quick or TABULAR[name].rows < 2_000)
    seeds = range(3) if quick else SEEDS
    settings = {"what": "ops", "quick": quick, "data": digests, "methods": [*METHODS, BOUNDS], "delta": DELTA}
    folder = Folder(output, settings)
    asked = sorted(itertools.product(sets, seeds), key=lambda task: -TABULAR[task[0]].rows * TABULAR[task[0]].features)
    results = dict(zip(asked, folder.pieces(chosen, asked, tell), strict=True))
    counts: dict[str, dict[str, list[int]]] = {name: {} for name in sets}
    for name, method in itertools.product(sets, METHODS):
        outcomes = [results[name, seed][method] for seed in seeds]
        counts[name][method] = [outcomes.count(kind) for kind in OUTCOMES]
    totals = {method: np.sum([counts[name][method] for name in sets], axis=0).tolist() for method in METHODS}
    drawn = [figures.outcomes(folder.path, totals)]
    scenarios = sum(totals["select"])
    worst = max(totals[method][0] for method in PESSIMISTIC)
    intro = [
        f"{'A quick run' if quick else 'The full run'}: {len(sets)} data sets, seeds 0 to {len(seeds) - 1}; 20% of each set "
        "trains two softmax policies, 50% evaluates, 30% gives the true values. Production peaks on a wrong label for two "
        "labels (temperature 0.2), rewards are noisy (0.2), and the ideal policy has temperature 0.1, as in Table 1: the "
        "paper does not say which it uses here.",
        f"Features are standardised; {IMPUTED}. Choosing production itself counts as better, as in the paper.",
        f"`select` chooses a policy worse than production with probability at most {DELTA:g}: it did so in "
        f"{totals['select'][0]} of {scenarios} scenarios. The other methods based on a bound choose the largest lower "
        f"bound on a value, which promises nothing about production; they chose a worse policy in at most {worst} of "
        f"{scenarios}. SN-ES is computed by Monte Carlo, and the estimates come with no guarantee.",
        *paired(totals),
        *(f"Not available: {reason}" for reason in missing),
    ]
    tables = [by_set(sets, counts), overall(sets, totals)]
    return folder.write("Selection: find the best, avoid the worst", intro, tables, drawn)


def paired(totals: dict[str, list[int]]) -> list[str]:
    """Why certified selection finds the best policy less often, if it does."""
    ours, theirs = totals["select"], totals["LS"]
    if ours[2] >= theirs[2]:
        return []
    return [
        f"`select` found the best policy {ours[2]} times, LS {theirs[2]} times; `select` chose a worse one {ours[0]} times, "
        f"LS {theirs[0]}. They promise different things: LS chooses the policy whose value has the largest lower bound, "
        "which may beat production's bound by luck; `select` chooses a policy only if its improvement over production is "
        "certified, with delta shared by three candidates, and keeps production otherwise. On a few hundred rounds that "
        "is rarely possible."
    ]


def by_set(sets: Sequence[str], counts: dict[str, dict[str, list[int]]]) -> ReproducedTable:
    """Table 6, with the paper's counts in brackets."""
    rows = []
    for name in sets:
        cells = {method: "/".join(map(str, counts[name][method])) for method in METHODS}
        for method, printed in zip(SELECTING, TABLE_6[name], strict=True):
            cells[method] += f" ({'/'.join(map(str, printed))})"
        rows.append([name, *cells.values()])
    note = "Worse/better/best of ten; the paper's counts in brackets."
    return ReproducedTable("table-6", "Table 6: what was chosen, by data set", ["set", *METHODS], rows, [note])


def overall(sets: Sequence[str], totals: dict[str, list[int]]) -> ReproducedTable:
    by_method = dict(zip(SELECTING, np.sum([TABLE_6[name] for name in sets], axis=0).tolist(), strict=True))
    rows = [[method, *totals[method], *by_method.get(method, [None] * 3)] for method in METHODS]
    columns = ["method", *OUTCOMES, *(f"paper: {kind}" for kind in OUTCOMES)]
    note = "The paper's counts are over the same sets."
    return ReproducedTable("selection", "All data sets together", columns, rows, [note])
