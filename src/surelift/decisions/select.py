"""Which of several policies should replace production, if any?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surelift.decisions.asking import Progress
from surelift.decisions.basis import Basis
from surelift.decisions.compare import Improvement, improvements
from surelift.decisions.method import check_delta, choose_method
from surelift.decisions.result import Result
from surelift.grids import Grid
from surelift.logs.logs import Logs
from surelift.policies.resolve import PRODUCTION, name_policies


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Result):
    """The policy with the largest certified improvement, or None: keep production."""

    chosen: str | None
    over: str
    improvements: Mapping[str, Improvement]
    """By name; each is bounded at delta divided by their number, so that all lower bounds hold at once."""
    delta: float
    margin: float
    rounds: int
    method: str
    control: str
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    basis: Basis = field(compare=False)

    @property
    def certified(self) -> bool:
        return self.chosen is not None

    def to_dict(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen, "over": self.over, "certified": self.certified,
            "delta": self.delta, "margin": self.margin, "rounds": self.rounds, "method": self.method,
            "control": self.control, "assumptions": list(self.assumptions), "doubts": list(self.doubts),
            "improvements": {name: result.to_dict() for name, result in self.improvements.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [
            {**record, "chosen": record["policy"] == self.chosen}
            for result in self.improvements.values()
            for record in result.records()
        ]


def select(
    logs: Logs,
    policies: Any,
    *,
    over: Any = PRODUCTION,
    delta: float = 0.05,
    margin: float = 0.0,
    method: str = "mixture",
    control: str = "auto",
    grid: str | Grid = "anytime",
    smoothing: float | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Pick the policy whose certified improvement is largest; if none is certified, keep production.

    >>> logs = Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
    >>> select(logs, {"new": [0.4, 0.6] * 500, "worse": [0.6, 0.4] * 500}).chosen
    'new'
    """
    named = name_policies(policies)
    chosen_method = choose_method(method, control=control, grid=grid, smoothing=smoothing, draws=draws)
    # The winner is chosen by looking, so every candidate is bounded at delta / candidates: all bounds hold at once.
    each = check_delta(delta) / len(named)
    found = improvements(
        logs, named, over=over, delta=delta, each=each, margin=margin, method=chosen_method, question="select",
        progress=progress,
    )  # fmt: skip
    certified = [result for result in found.values() if result.certified]
    best = max(certified, key=lambda result: result.lower, default=None)
    first = next(iter(found.values()))
    used = {result.control for result in found.values()}
    return Selection(
        chosen=None if best is None else best.policy,
        over=first.over,
        improvements=found,
        delta=float(delta),
        margin=first.margin,
        rounds=first.rounds,
        method=first.method,
        control=used.pop() if len(used) == 1 else "mixed",
        assumptions=first.assumptions,
        doubts=first.doubts,
        basis=first.basis,
    )
