"""What every question answers: fields, a sentence, a table, a figure."""

from typing import TYPE_CHECKING

from surelift.lazy import lazy

if TYPE_CHECKING:
    from surelift.logs.faults import Finding
    from surelift.results.alternatives import Profile, Simulation
    from surelift.results.embedding import EmbeddingHealth, EmbeddingTrial
    from surelift.results.evaluation import Estimation, Evaluation, PolicyEstimate, PolicyValue
    from surelift.results.forecast import Forecast
    from surelift.results.gate import Gate
    from surelift.results.health import Health, WeightHealth
    from surelift.results.history import History
    from surelift.results.improvement import Improvement, JointImprovement
    from surelift.results.learned import Guarantee, PolicySearch, TriedLearner
    from surelift.results.outcomes import Outcome, Outcomes
    from surelift.results.report import Report
    from surelift.results.result import Result
    from surelift.results.segments import Segments
    from surelift.results.selection import Selection, ValueSelection
    from surelift.results.verification import Verification
else:
    __getattr__, __dir__ = lazy(__name__, {
        "alternatives": "Profile Simulation", "embedding": "EmbeddingHealth EmbeddingTrial",
        "evaluation": "Estimation Evaluation PolicyEstimate PolicyValue", "forecast": "Forecast", "gate": "Gate",
        "health": "Finding Health WeightHealth", "history": "History", "improvement": "Improvement JointImprovement",
        "learned": "Guarantee PolicySearch TriedLearner", "outcomes": "Outcome Outcomes", "report": "Report",
        "result": "Result", "segments": "Segments", "selection": "Selection ValueSelection",
        "verification": "Verification",
    })  # fmt: skip

__all__ = [
    "EmbeddingHealth", "EmbeddingTrial", "Estimation", "Evaluation", "Finding", "Forecast", "Gate", "Guarantee",
    "Health", "History", "Improvement", "JointImprovement", "Outcome", "Outcomes", "PolicyEstimate", "PolicySearch",
    "PolicyValue", "Profile", "Report", "Result", "Segments", "Selection", "Simulation", "TriedLearner",
    "ValueSelection", "Verification", "WeightHealth",
]  # fmt: skip
