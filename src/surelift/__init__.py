"""surelift turns logged decisions into certified ones.

>>> import surelift as sl
>>> logs = sl.Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
>>> sl.compare(logs, {"new": [0.4, 0.6] * 500}).certified
True
"""

from typing import TYPE_CHECKING

from surelift.lazy import lazy
from surelift.version import __version__

if TYPE_CHECKING:
    from surelift import bounds, datasets, densities, embeddings, grids, importers, learning, policies, results
    from surelift.controls import models
    from surelift.decisions.check import check, check_embedding
    from surelift.decisions.compare import compare
    from surelift.decisions.evaluate import evaluate
    from surelift.decisions.launch import gate, report
    from surelift.decisions.monitor import Monitor
    from surelift.decisions.partial import partial_sums
    from surelift.decisions.select import select
    from surelift.decisions.simulate import simulate
    from surelift.decisions.verify import verify
    from surelift.decisions.without_promise import estimate, power, profile
    from surelift.errors import LogsError, SureliftError, UsageError
    from surelift.learning.learned import LearnedPolicy
    from surelift.learning.learner import PolicyLearner
    from surelift.logs.segments import bins
    from surelift.logs.wins import wins
    from surelift.policies import blend, bounded, chosen, epsilon_greedy, softmax, uniform
    from surelift.questions.certificate import Certificate
    from surelift.questions.question import Question
    from surelift.results.outcomes import Outcome
    from surelift.traits.logs import Logs
else:
    __getattr__, _names = lazy(__name__, {
        **{f"decisions.{verb}": verb for verb in ("compare", "evaluate", "select", "simulate", "verify")},
        "decisions.check": "check check_embedding", "decisions.launch": "gate report",
        "decisions.without_promise": "estimate power profile", "decisions.monitor": "Monitor",
        "decisions.partial": "partial_sums", "controls.models": "models",
        "errors": "LogsError SureliftError UsageError", "learning": "learning LearnedPolicy PolicyLearner",
        "traits.logs": "Logs", "logs.segments": "bins", "logs.wins": "wins",
        "policies": "policies blend bounded chosen epsilon_greedy softmax uniform", "results.outcomes": "Outcome",
        "questions.certificate": "Certificate", "questions.question": "Question", "bounds": "bounds",
        "datasets": "datasets", "densities": "densities", "embeddings": "embeddings", "grids": "grids",
        "importers": "importers", "results": "results",
    })  # fmt: skip

    def __dir__():
        # Completion looks up every name listed here, and this one imports torch.
        return [name for name in _names() if name != "PolicyLearner"]


__all__ = [
    "Certificate", "LearnedPolicy", "Logs", "LogsError", "Monitor", "Outcome", "PolicyLearner", "Question",
    "SureliftError", "UsageError", "__version__", "bins", "blend", "bounded", "bounds", "check", "check_embedding", "chosen",
    "compare", "datasets", "densities", "embeddings", "epsilon_greedy", "estimate", "evaluate", "gate", "grids",
    "importers", "learning", "models", "partial_sums", "policies", "power", "profile", "report", "results", "select",
    "simulate", "softmax", "uniform", "verify", "wins",
]  # fmt: skip
