"""surelift turns logged decisions into certified ones.

>>> import surelift as sl
>>> logs = sl.Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
>>> sl.compare(logs, {"new": [0.4, 0.6] * 500}).certified
True
"""

from typing import TYPE_CHECKING, Any

from surelift import datasets, densities, embeddings, grids, importers, learning
from surelift.bounds import BOUNDS
from surelift.controls import models
from surelift.decisions import (
    Certificate,
    EmbeddingHealth,
    EmbeddingTrial,
    Estimation,
    Evaluation,
    Finding,
    Forecast,
    Gate,
    Guarantee,
    Guardrail,
    Health,
    History,
    Improvement,
    Monitor,
    PolicyEstimate,
    PolicyValue,
    Profile,
    Question,
    Report,
    Segments,
    Selection,
    Simulation,
    Verification,
    WeightHealth,
    check,
    check_embedding,
    compare,
    estimate,
    evaluate,
    gate,
    partial_sums,
    power,
    profile,
    select,
    simulate,
    study,
    verify,
)
from surelift.errors import LogsError, SureliftError, UsageError
from surelift.estimates import ESTIMATES
from surelift.grids import Grid
from surelift.logs import Logs
from surelift.policies import blend, bounded, chosen, epsilon_greedy, softmax, uniform
from surelift.version import __version__

if TYPE_CHECKING:
    from surelift.learning.learned import LearnedPolicy
    from surelift.learning.learner import PolicyLearner

__all__ = [
    "BOUNDS",
    "ESTIMATES",
    "Certificate",
    "EmbeddingHealth",
    "EmbeddingTrial",
    "Estimation",
    "Evaluation",
    "Finding",
    "Forecast",
    "Gate",
    "Grid",
    "Guarantee",
    "Guardrail",
    "Health",
    "History",
    "Improvement",
    "LearnedPolicy",
    "Logs",
    "LogsError",
    "Monitor",
    "PolicyEstimate",
    "PolicyLearner",
    "PolicyValue",
    "Profile",
    "Question",
    "Report",
    "Segments",
    "Selection",
    "Simulation",
    "SureliftError",
    "UsageError",
    "Verification",
    "WeightHealth",
    "__version__",
    "blend",
    "bounded",
    "check",
    "check_embedding",
    "chosen",
    "compare",
    "datasets",
    "densities",
    "embeddings",
    "epsilon_greedy",
    "estimate",
    "evaluate",
    "gate",
    "grids",
    "importers",
    "learning",
    "models",
    "partial_sums",
    "power",
    "profile",
    "select",
    "simulate",
    "softmax",
    "study",
    "uniform",
    "verify",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Learning is loaded when it is asked for: it brings torch."""
    if name in ("LearnedPolicy", "PolicyLearner"):
        return getattr(learning, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
