"""surelift turns logged decisions into certified ones.

>>> import surelift as sl
>>> logs = sl.Logs(reward=[0, 1] * 500, propensity=[0.5, 0.5] * 500)
>>> sl.compare(logs, {"new": [0.4, 0.6] * 500}).certified
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surelift.version import __version__

if TYPE_CHECKING:
    from surelift import bounds, datasets, densities, embeddings, grids, importers, learning, policies, results
    from surelift.controls import models
    from surelift.decisions.check import check
    from surelift.decisions.compare import compare
    from surelift.decisions.embedding import check_embedding
    from surelift.decisions.estimate import estimate
    from surelift.decisions.evaluate import evaluate
    from surelift.decisions.gate import gate
    from surelift.decisions.monitor import Monitor
    from surelift.decisions.partial import partial_sums
    from surelift.decisions.power import power
    from surelift.decisions.profile import profile
    from surelift.decisions.report import report
    from surelift.decisions.select import select
    from surelift.decisions.simulate import simulate
    from surelift.decisions.verify import verify
    from surelift.errors import LogsError, SureliftError, UsageError
    from surelift.learning.learned import LearnedPolicy
    from surelift.learning.learner import PolicyLearner
    from surelift.logs import Logs
    from surelift.policies import blend, bounded, chosen, epsilon_greedy, softmax, uniform
    from surelift.questions.certificate import Certificate
    from surelift.questions.question import Question
    from surelift.results.gate import Guardrail

__all__ = [
    "Certificate", "Guardrail", "LearnedPolicy", "Logs", "LogsError", "Monitor", "PolicyLearner", "Question",
    "SureliftError", "UsageError", "__version__", "blend", "bounded", "bounds", "check", "check_embedding", "chosen",
    "compare", "datasets", "densities", "embeddings", "epsilon_greedy", "estimate", "evaluate", "gate", "grids",
    "importers", "learning", "models", "partial_sums", "policies", "power", "profile", "report", "results", "select",
    "simulate", "softmax", "uniform", "verify",
]  # fmt: skip

_VERBS = "check compare estimate evaluate gate power profile report select simulate verify"
# The module that defines a public name; a name that is not here is a module itself.
_MODULES = {
    "Certificate": "questions.certificate", "Guardrail": "results.gate", "Logs": "logs", "Monitor": "decisions.monitor",
    "Question": "questions.question", "check_embedding": "decisions.embedding", "models": "controls",
    "partial_sums": "decisions.partial", "LearnedPolicy": "learning", "PolicyLearner": "learning",
    "LogsError": "errors", "SureliftError": "errors", "UsageError": "errors",
    **dict.fromkeys(["blend", "bounded", "chosen", "epsilon_greedy", "softmax", "uniform"], "policies"),
    **{verb: f"decisions.{verb}" for verb in _VERBS.split()},
}  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import on first use: a process loads what it asks for and no more, and torch only to learn."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"surelift.{_MODULES.get(name, name)}")
        value = globals()[name] = getattr(module, name) if name in _MODULES else module
        return value


def __dir__() -> list[str]:
    # Completion looks up every name it is told, and this one imports torch.
    return sorted({*globals(), *__all__} - {"PolicyLearner"})
