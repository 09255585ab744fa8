"""Evaluation: how close each bound is to the truth, as the relative radius |1 - bound/value| (Tables 1, 4, 5, figures)."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.datasets import BanditFeedback, encode_labels, faulty_policy, ideal_policy, supervised_to_bandit
from surelift.decisions.evaluate import evaluate
from surelift.errors import LogsError
from surelift.quantities.regularizers import PolicyRounds, regularizer_named
from surelift.reproduce import figures
from surelift.reproduce.data import PAPER_METHODS, TABLE_1, TABLE_4, TABLE_5, TABULAR, available, labelled
from surelift.reproduce.folder import Folder, ReproducedTable, Tell
from surelift.traits.logs import Logs

DELTA = 0.05
# The same number of redraws everywhere; more of them change the Efron-Stein bound in the third digit.
METHODS: dict[str, dict[str, Any]] = {
    "SN-ES": {"method": "efron-stein", "draws": 200},
    "cIPS-EB": {"method": "empirical-bernstein"},
    "IX": {"method": "implicit-exploration"},
    "cIPS-L=1": {"method": "second-moment"},
    "LS": {"method": "logarithmic-smoothing"},
    "mixture": {"grid": "planned", "control": "none"},
    "mixture, any looks": {"control": "none"},
    "weight control": {"grid": "planned", "control": "weights"},
    "weight control, any looks": {"control": "weights"},
    "blocks": {"method": "blocks"},
}
OURS = tuple(name for name in METHODS if name not in PAPER_METHODS)
BEHAVIOURS, NOISES, TARGETS = (0.2, 0.25, 0.3), (0.0, 0.1, 0.2), (0.1, 0.2, 0.3, 0.4, 0.5)
ORDERS = (1, 2, 3, 4, 6, 8)
SMOOTHINGS = (0.001, 0.01, 0.1, 1.0)


def radii(feedback: BanditFeedback, policy: FloatArray) -> list[float]:
    truth, logs = feedback.true_value(policy), feedback.logs()
    return [abs(1.0 - lower_bound(logs, policy, DELTA, options) / truth) for options in METHODS.values()]


def lower_bound(logs: Logs, policy: FloatArray, delta: float, options: dict[str, Any]) -> float:
    """0 for an unlucky log, which is refused since its two bounds contradict each other: there is no answer."""
    try:
        return float(evaluate(logs, {"new": policy}, delta=delta, sides="lower", **options)["new"].lower)
    except LogsError:
        return 0.0


def logged(labels: Sequence[str], temperature: float, noise: float, rng: np.random.Generator) -> BanditFeedback:
    """Labels as a log without contexts, by a policy that is often wrong."""
    codes, classes = encode_labels(labels)
    logging = faulty_policy(codes, len(classes), temperature=temperature)
    return supervised_to_bandit(np.zeros((len(codes), 1)), labels, logging, noise=noise, rng=rng)


def ideal(labels: Sequence[str], temperature: float) -> FloatArray:
    codes, classes = encode_labels(labels)
    return ideal_policy(codes, len(classes), temperature=temperature)


def scenarios(name: str, repetition: int) -> list[list[float]]:
    """The radii of all methods in the 45 scenarios of a set: nine logs, and five targets on each (varying fastest)."""
    labels = labelled(name).labels
    rng = np.random.default_rng((repetition, list(TABULAR).index(name)))
    values = []
    for temperature, noise in itertools.product(BEHAVIOURS, NOISES):
        feedback = logged(labels, temperature, noise, rng)
        values += [radii(feedback, ideal(labels, target)) for target in TARGETS]
    return values


def sizes(rounds: int, repetition: int) -> list[float]:
    """The radii of all methods on this many rounds of kropt."""
    rng = np.random.default_rng((repetition, rounds))
    labels = labelled("kropt").labels
    chosen = rng.permutation(len(labels))[:rounds]
    # Draw rewards for all rows, in which every label occurs; the log is the selected rows.
    whole = logged(labels, 0.25, 0.2, rng)
    arrays = ("features", "action", "reward", "logging", "expected_rewards")
    feedback = replace(whole, **{name: getattr(whole, name)[chosen] for name in arrays})
    return radii(feedback, ideal(labels, 0.1)[chosen])


def orders(repetition: int) -> dict[str, list[float]]:
    """The bound of order L on balance-scale for four regularizers, L = infinity last, and the true value."""
    labels = labelled("balance-scale").labels
    feedback = logged(labels, 0.3, 0.0, np.random.default_rng((repetition, 7, 1)))
    policy, logs, rate = ideal(labels, 0.3), feedback.logs(), len(labels) ** -0.5
    rows = np.arange(len(labels))
    p, q = policy[rows, feedback.action], feedback.logging[rows, feedback.action]
    rounds = PolicyRounds(p / q, p, q, feedback.reward, p / q * feedback.reward)
    regularizers = {
        "IPS": "none", "clipping": f"clipping:{1 / rate}", "implicit exploration": f"implicit-exploration:{2 * rate}",
        "exponential smoothing": f"exponential-smoothing:{1 - rate}",
    }  # fmt: skip
    bounds_by_name: dict[str, list[float]] = {"truth": [feedback.true_value(policy)]}
    for name, regularizer in regularizers.items():
        options = {"method": "moments", "regularizer": regularizer, "smoothing": rate}
        bounds = [lower_bound(logs, policy, DELTA, {**options, "order": order}) for order in ORDERS]
        # The bound of infinite order, with log(1 + smoothing h) in place of its Taylor sum.
        total = np.log1p(rate * regularizer_named(regularizer).values(rounds)).sum()
        infinite = float(np.expm1((total - np.log(1.0 / DELTA)) / len(rows)) / rate)
        bounds_by_name[name] = [*bounds, max(0.0, infinite)]
    return bounds_by_name


def reproduce(output: str | Path, *, quick: bool = False, tell: Tell | None = None) -> Path:
    digests, sets, missing = available(lambda name: not (quick and name == "kropt"))
    repetitions, counts = (2, tuple(TABLE_1)[:5]) if quick else (10, tuple(TABLE_1))
    folder = Folder(output, {"what": "ope", "quick": quick, "data": digests, "methods": METHODS, "delta": DELTA})
    # The largest first, so that two processes finish at about the same time.
    asked = sorted(itertools.product(sets, range(repetitions)), key=lambda task: -TABULAR[task[0]].rows)
    by_set = dict(zip(asked, folder.pieces(scenarios, asked, tell), strict=True))
    radius = np.array([[by_set[name, run] for run in range(repetitions)] for name in sets])  # (sets, runs, 45, methods)
    tables = [by_dataset(sets, radius), by_target(sets, radius)]
    if "kropt" in digests:
        runs = 3 if quick else 20
        of_size = folder.pieces(sizes, itertools.product(counts, range(runs)), tell)
        tables.insert(0, by_size(counts, np.array(of_size).reshape(len(counts), runs, -1)))
    drawn = [
        figures.distribution(folder.path, radius.reshape(-1, len(METHODS)), tuple(METHODS)),
        figures.smoothing(folder.path, SMOOTHINGS),
        figures.clipping(folder.path),
    ]
    if "balance-scale" in digests:
        (of_order,) = folder.pieces(orders, [(0,)], tell)
        tables.append(by_order(of_order))
        drawn.append(figures.orders(folder.path, (*ORDERS, "infinity"), of_order))
    intro = [
        f"{'A quick run' if quick else 'The full run'}: {len(sets)} data sets, 45 scenarios each, {repetitions} logs of "
        f"every scenario, delta {DELTA}. The relative radius is |1 - bound/value|: 0 is exact, 1 is vacuous. Where the "
        "two bounds of an unlucky log contradict each other, it is refused, and counts as 1.",
        *(f"Not available: {reason}" for reason in missing),
    ]
    return folder.write("Evaluation: the tightness of the bounds", intro, tables, drawn)


def compared(runs: FloatArray, printed: float) -> list[Any]:
    """The mean, its standard error, the printed number, and their distance in standard deviations of one run."""
    mean, spread = float(runs.mean()), float(runs.std(ddof=1))
    away = (mean - printed) / spread if spread > 0.0 else (0.0 if abs(mean - printed) < 5e-4 else None)
    return [mean, spread / len(runs) ** 0.5, printed, away]


def by_dataset(sets: Sequence[str], radius: FloatArray) -> ReproducedTable:
    """Table 4: the mean over 45 scenarios, for each set."""
    means = radius.mean(axis=2)  # (sets, runs, methods)
    over = np.mean([TABLE_4[name] for name in sets], axis=0)
    found = {name: (means[index], TABLE_4[name]) for index, name in enumerate(sets)}
    found["mean of these sets"] = means.mean(axis=0), tuple(over.tolist())
    note = "The last row averages the paper's numbers over the same sets."
    return _beside_print("table-4", "Table 4: mean relative radius by data set", "set", found, note)


def by_target(sets: Sequence[str], radius: FloatArray) -> ReproducedTable:
    """Table 5: the mean over sets, behaviours and noises, for each target policy."""
    by_temperature = radius.reshape(*radius.shape[:2], -1, len(TARGETS), radius.shape[-1]).mean(axis=(0, 2))
    columns = ["target", *(name for method in PAPER_METHODS for name in (method, f"{method}, paper"))]
    rows = []
    for index, target in enumerate(TARGETS):
        means = by_temperature[:, index].mean(axis=0).tolist()  # over runs, by method
        # The paper's methods come first, in its order.
        pairs = itertools.chain(*zip(means[: len(PAPER_METHODS)], TABLE_5[target], strict=True))
        rows.append([str(target), *pairs, *means[len(PAPER_METHODS) :]])
    note = f"The paper averages over 11 sets, {len(sets)} of which are here: its numbers include other sets."
    title = "Table 5: mean relative radius by temperature of the target"
    return ReproducedTable("table-5", title, [*columns, *OURS], rows, [note])


def by_size(counts: Sequence[int], radius: FloatArray) -> ReproducedTable:
    found = {str(rounds): (radius[index], TABLE_1[rounds]) for index, rounds in enumerate(counts)}
    title = "Table 1: relative radius on kropt by number of rounds"
    return _beside_print("table-1", title, "rounds", found, "The paper shows one log of each size.")


def _beside_print(
    name: str, title: str, head: str, found: Mapping[str, tuple[FloatArray, Sequence[float]]], note: str
) -> ReproducedTable:
    """Each row's radii, (runs, methods), beside what the paper prints; the page has one cell per method."""
    rows, shown = [], []
    for label, (runs, printed) in found.items():
        cells = [compared(runs[:, index], paper) for index, paper in enumerate(printed)]
        ours = [float(runs[:, index].mean()) for index in range(len(printed), len(METHODS))]
        rows.append([label, *itertools.chain(*cells), *ours])
        texts = [
            f"{mean:.3f} ± {error:.3f} ({paper:.3f}{'' if away is None else f', {away:+.1f}'})"
            for mean, error, paper, away in cells
        ]
        shown.append([label, *texts, *ours])
    legend = (
        "Mean ± its standard error (the paper's number, and by how many standard deviations of one run ours exceeds it); "
        "then surelift's own methods."
    )
    columns = [part for method in PAPER_METHODS for part in (method, "error", "paper", "deviations")]
    page = [head, *PAPER_METHODS, *OURS], shown
    return ReproducedTable(name, title, [head, *columns, *OURS], rows, [legend, note], page)


def by_order(bounds_by_name: dict[str, list[float]]) -> ReproducedTable:
    rows = [[name, *bounds] for name, bounds in bounds_by_name.items() if name != "truth"]
    note = (
        f"One log of 625 rounds without noise, logging and target policy with temperature 0.3; the true value is "
        f"{bounds_by_name['truth'][0]:.3f}. The paper has 612 rounds and 0.93, and does not name the logging policy. "
        "Clipping at sqrt(n), implicit exploration p/(q + 1/sqrt(n)), exponential smoothing with alpha 1 - 1/sqrt(n). "
        "0 is vacuous; infinite order is the bound with the logarithm itself."
    )
    columns = ["regularizer", *(f"L = {order}" for order in ORDERS), "L = infinity"]
    return ReproducedTable("orders", "Bounds of order L on balance-scale, smoothing 1/sqrt(n)", columns, rows, [note])
