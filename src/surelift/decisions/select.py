"""Which of several policies should replace production, if any?"""

from collections.abc import Mapping
from typing import Any

from surelift.decisions.asking import Progress
from surelift.decisions.comparison import comparison_of
from surelift.decisions.method import check_delta, choose_method
from surelift.errors import UsageError
from surelift.evidence import discoveries
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION, name_policies
from surelift.results.improvement import Improvement
from surelift.results.selection import Many, Selection


def select(
    logs: Logs,
    policies: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    many: Many = "simultaneous",
    method: str = "mixture",
    control: Any = "auto",
    grid: str | Grid = "anytime",
    smoothing: float | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Pick the policy whose certified improvement is largest; if none is certified, keep production.

    With ``many="e-bh"``, for dozens of candidates and more, nothing is chosen: ``discoveries`` lists the candidates found
    to be better, of which on average at most a share delta is not (the false discovery rate).

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> select(logs, {"new": [0.4, 0.6] * 500, "worse": [0.6, 0.4] * 500}).chosen
    'new'
    """
    if many not in ("simultaneous", "e-bh"):
        raise UsageError(f"many must be 'simultaneous' or 'e-bh', but is {many!r}.")
    named = name_policies(policies)
    chosen_method = choose_method(method, control=control, grid=grid, smoothing=smoothing, draws=draws)
    if many == "e-bh" and not chosen_method.bound.certifies:
        raise UsageError(f"many='e-bh' rests on e-values, and method {method!r} makes none; use method='mixture'.")
    options = {"delta": check_delta(delta), "many": many}
    asked = comparison_of(
        logs, named, over=over, margin=margin, method=chosen_method, question="select", options=options
    )
    # The winner is chosen by looking, so every candidate is bounded at delta / candidates: all bounds hold at once.
    return selection_of(asked.improvements(delta=delta / len(named), progress=progress), many=many, delta=delta)


def selection_of(found: Mapping[str, Improvement], *, many: Many, delta: float) -> Selection:
    """Choose among improvements that were bounded at delta divided by their number."""
    first = next(iter(found.values()))
    if many == "e-bh":
        # A candidate under a doubt brings no evidence, and still counts among those that were tried.
        evidence = {name: 0.0 if result.doubts else result.e_value for name, result in found.items()}
        better = discoveries(evidence, rate=delta)
    else:
        better = tuple(name for name, result in found.items() if result.certified)
    best = max(better, key=lambda name: found[name].lower, default=None) if many == "simultaneous" else None
    used = {result.control for result in found.values()}
    return Selection(
        chosen=best,
        discoveries=better,
        over=first.over,
        many=many,
        improvements=found,
        delta=float(delta),
        margin=first.margin,
        rounds=first.rounds,
        method=first.method,
        control=used.pop() if len(used) == 1 else "mixed",
        assumptions=tuple(dict.fromkeys(one for result in found.values() for one in result.assumptions)),
        doubts=tuple(dict.fromkeys(one for result in found.values() for one in result.doubts)),
        provenance=first.provenance,
    )
