"""The user's options for an objective: which bound, on which grid, with which control."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from surelift import grids
from surelift.controls import models
from surelift.controls.model import CROSS_FITTED, RewardModel
from surelift.errors import UsageError, positive, share, whole
from surelift.grids import Grid
from surelift.learning.data.dataset import Dataset
from surelift.learning.objectives import logarithmic_smoothing as smoothed
from surelift.learning.objectives import rivals
from surelift.learning.objectives.logarithmic_smoothing import controlled_parts, plain_parts
from surelift.learning.objectives.objective import Objective, PlainEstimate

# The paper's "discretised space of size 100", fixed before any data was seen.
PAPER = tuple(np.geomspace(1e-4, 10.0, 100).tolist())
_CONTROLS = "'auto', 'none', 'weights', 'model' or a reward model"
# Every objective, with the options it uses.
_CERTIFIED = {
    "improvement": {"control", "grid"}, "value": {"control", "grid"}, "ls-lin": {"smoothing"},
    "moments": {"smoothing", "order", "clip"}, "implicit-exploration": {"smoothing"},
    "clipping": {"smoothing", "clip"}, "clipping-with-baseline": {"smoothing", "clip", "baseline"},
    "exponential-smoothing": {"smoothing", "alpha"},
}  # fmt: skip
_PLAIN = {"logarithmic-smoothing": {"smoothing"}, "ips": set(), "snips": set(), "doubly-robust": {"control"}}
_LINEAR, _MIXTURES = ("logarithmic-smoothing", "ips"), ("improvement", "value")
_BY_DISTRIBUTION = ("clipping", "clipping-with-baseline", "exponential-smoothing")
_OBJECTIVES: dict[str, set[str]] = _CERTIFIED | _PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveOptions:
    objective: str = "improvement"
    control: Any = "auto"
    grid: Any = None
    smoothing: float | None = None
    order: int | None = None
    clip: float | None = None
    baseline: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.control, str) and self.control == "model":
            object.__setattr__(self, "control", models.refitted())
        objective, control, grid = self.objective, self.control, self.grid
        known, named = isinstance(objective, str) and objective in _OBJECTIVES, isinstance(control, str)
        requested = {*self.numbers, *(() if named and control in ("auto", "none") else ("control",))}
        unused = sorted(requested - _OBJECTIVES[objective]) if known else []
        problem = ""
        if not known:
            problem = f"unknown objective {objective!r}; choose one of {', '.join(_OBJECTIVES)}."
        elif not named and not hasattr(control, "predictable"):
            problem = f"control must be {_CONTROLS}, but is {control!r}."
        elif unused:
            problem = f"objective {objective!r} does not use {unused[0]}=; remove it."
        elif named and control not in ("auto", "none", "weights"):
            problem = f"unknown control {control!r}; use {_CONTROLS}."
        elif objective == "doubly-robust" and self.model is None:
            problem = "objective 'doubly-robust' needs a reward model in control=, such as models.fitted_on(...)."
        elif self.certifies and self.model is not None and not self.model.predictable:
            problem = CROSS_FITTED
        elif not (grid is None or isinstance(grid, Grid) or (isinstance(grid, str) and grid in ("anytime", "planned"))):
            problem = f"unknown grid {grid!r}; use 'anytime', 'planned' or a Grid."
        if problem:
            raise UsageError(problem)

    @property
    def numbers(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)[2:]}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def certifies(self) -> bool:
        return self.objective in _CERTIFIED

    @property
    def model(self) -> RewardModel | None:
        return None if isinstance(self.control, str) else self.control

    def build(self, dataset: Dataset) -> Objective:
        rounds, actions, distributions = (
            dataset.rounds,
            dataset.actions,
            "distributions" in dataset.logs.declaration.features,
        )
        controlled = self.objective in _MIXTURES and self.control != "none" and (self.control != "auto" or distributions)
        if not distributions and (controlled or self.objective in _BY_DISTRIBUTION):
            subject = "control=" if controlled else f"objective {self.objective!r}"
            raise UsageError(f"{subject} needs production's distribution over all actions: name it in logging=.")
        lambdas = PAPER if self.smoothing is None else (positive("smoothing", self.smoothing),)
        union = plain_parts(Grid("paper", lambdas, (1.0 / len(lambdas),) * len(lambdas)), offset=0.0)
        clip = 1.0 / actions if self.clip is None else positive("clip", self.clip)
        match self.objective:
            case "ls-lin":
                return smoothed.ValueObjective(union, union=True)
            case "moments":
                return smoothed.MomentsObjective(union, 1 if self.order is None else whole("order", self.order), clip)
            case "implicit-exploration":
                return rivals.ImplicitExplorationObjective(lambdas)
            case "clipping":
                return rivals.ClippingObjective(lambdas, clip)
            case "clipping-with-baseline":
                baseline = share("baseline", 0.5 if self.baseline is None else self.baseline)
                return rivals.ClippingObjective(lambdas, clip, baseline=baseline)
            case "exponential-smoothing":
                alpha = 1.0 - 1.0 / actions if self.alpha is None else share("alpha", self.alpha)
                return rivals.ExponentialSmoothingObjective(lambdas, alpha)
        paired, grid = self.objective == "improvement", self.grid
        offset = 1.0 if paired else 0.0
        if grid == "planned":
            grid = grids.improvement(rounds) if paired else grids.planned(rounds)
        elif not isinstance(grid, Grid):
            grid = grids.anytime()
        if not controlled:
            objective = smoothed.ImprovementObjective if paired else smoothed.ValueObjective
            return objective(plain_parts(grid, offset=offset), any_looks=grid.any_looks)
        parts = plain_parts(grid, offset=offset, mass=0.5)
        if self.model is not None:
            parts += controlled_parts(grid, paired=paired, by_model=True, mass=0.25)
        parts += controlled_parts(grid, paired=paired, mass=0.5 if self.model is None else 0.25)
        return smoothed.ControlledObjective(parts, paired=paired, any_looks=grid.any_looks)

    def estimate(self, *, rounds: int, linear: bool) -> PlainEstimate:
        """The estimate to maximise; ``linear`` asks for one that is linear in the policy."""
        if linear and self.objective not in _LINEAR:
            raise UsageError(
                f"objective {self.objective!r} is not linear in the policy, so gradients of a softmax over items would be "
                f"biased; use {' or '.join(_LINEAR)}."
            )
        smoothing = 1.0 / rounds**0.5 if self.smoothing is None else positive("smoothing", self.smoothing)
        return PlainEstimate(self.objective, smoothing, linear)  # type: ignore[arg-type]
