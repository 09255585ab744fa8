"""The paper's figures, drawn with matplotlib (extra ``report``); each function returns the file and its caption."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.views.plots import COLOURS, require_matplotlib

# Outside the axes, where it covers no line.
OUTSIDE = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}


def _axes(width: float = 6.0, height: float = 3.8) -> tuple[Any, Any]:
    require_matplotlib().use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Any, folder: Path, name: str, caption: str, **legend: Any) -> tuple[str, str]:
    from matplotlib import pyplot

    figure.axes[0].legend(fontsize="small", frameon=False, **legend)
    figure.savefig(folder / f".{name}", format="png", dpi=150)
    (folder / f".{name}").replace(folder / name)
    pyplot.close(figure)
    return name, caption


def distribution(folder: Path, radius: FloatArray, methods: Sequence[str]) -> tuple[str, str]:
    figure, axes = _axes(width=7.5)
    share = np.arange(1, len(radius) + 1) / len(radius)
    for index, method in enumerate(methods):
        axes.plot(np.sort(radius[:, index]), share, label=method, color=COLOURS[index])
    axes.set(xlabel="relative radius", ylabel="share of scenarios", xlim=(0, 1.02), ylim=(0, 1))
    caption = "Share of scenarios in which a bound has at most this relative radius."
    return _save(figure, folder, "radii.png", caption, **OUTSIDE)


def smoothing(folder: Path, smoothings: Sequence[float]) -> tuple[str, str]:
    figure, axes = _axes()
    x = np.linspace(0.0, 100.0, 400)
    axes.plot(x, x, color=COLOURS[0], label="no smoothing")
    for index, strength in enumerate(smoothings):
        axes.plot(x, np.log1p(strength * x) / strength, label=f"smoothing {strength:g}", color=COLOURS[index + 1])
    axes.set(xlabel="w r", ylabel="log(1 + smoothing w r)/smoothing")
    return _save(figure, folder, "smoothings.png", "Logarithmic smoothing for several smoothings.")


def clipping(folder: Path) -> tuple[str, str]:
    figure, axes = _axes()
    x = np.linspace(0.0, 50.0, 400)
    for index, strength in enumerate((0.02, 0.1, 0.5)):
        colour, clip = COLOURS[index + 3], 1 / strength
        axes.plot(x, np.log1p(strength * x) / strength, color=colour, label=f"smoothing {strength:g}")
        axes.plot(x, np.minimum(x, clip), color=colour, linestyle="--", label=f"clipping at {clip:g}")
    axes.set(xlabel="w r", ylabel="regularized w r")
    return _save(figure, folder, "clipping.png", "Logarithmic smoothing beside clipping at one over the smoothing.")


def orders(folder: Path, names: Sequence[Any], bounds_by_name: Mapping[str, Sequence[float]]) -> tuple[str, str]:
    figure, axes = _axes()
    for index, name in enumerate(name for name in bounds_by_name if name != "truth"):
        axes.plot(range(len(names)), bounds_by_name[name], marker="o", label=name, color=COLOURS[index + 1])
    axes.axhline(bounds_by_name["truth"][0], color="black", linewidth=0.8, label="true value")
    axes.set_xticks(range(len(names)), [str(name) for name in names])
    axes.set(xlabel="order L", ylabel="lower bound on the value")
    return _save(figure, folder, "orders.png", "The bound of order L for four regularizers, on balance-scale.")


def outcomes(folder: Path, counts: Mapping[str, Sequence[int]]) -> tuple[str, str]:
    figure, axes = _axes(height=0.45 * len(counts) + 1.0)
    left = np.zeros(len(counts))
    shares = np.array(list(counts.values()), dtype=float)
    shares /= shares.sum(axis=1, keepdims=True)
    for index, (kind, colour) in enumerate((("worse", "#d55e00"), ("better", "#56b4e9"), ("best", "#009e73"))):
        axes.barh(list(counts), shares[:, index], left=left, color=colour, label=kind)
        left += shares[:, index]
    axes.invert_yaxis()
    axes.set(xlabel="share of scenarios", xlim=(0, 1))
    caption = "How often each method chose a worse, a better or the best policy."
    return _save(figure, folder, "outcomes.png", caption, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def learning(folder: Path, name: str, temperatures: Sequence[float], found: Mapping[str, FloatArray]) -> tuple[str, str]:
    """Draw the guaranteed and the true relative improvements of each objective, (temperatures, 2)."""
    figure, axes = _axes(width=8.0, height=4.6)
    for index, (objective, pairs) in enumerate(found.items()):
        again, place = divmod(index, len(COLOURS))
        axes.plot(temperatures, pairs[:, 0], marker="os"[again], color=COLOURS[place], label=objective)
        axes.plot(temperatures, pairs[:, 1], linestyle=":", color=COLOURS[place])
    axes.set(xlabel="inverse temperature of the logging policy", ylabel="relative improvement")
    caption = f"{name}: guaranteed (lines) and true (dotted) relative improvement."
    return _save(figure, folder, f"learning-{name}.png", caption, **OUTSIDE)
