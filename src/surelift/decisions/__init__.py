"""Bounds become answers: check, evaluate, compare, select, and certificates of them."""

from surelift.decisions.certificate import Certificate
from surelift.decisions.check import check
from surelift.decisions.compare import compare
from surelift.decisions.embedding import check_embedding
from surelift.decisions.estimate import estimate
from surelift.decisions.evaluate import evaluate
from surelift.decisions.gate import gate
from surelift.decisions.monitor import Monitor
from surelift.decisions.partial import Question, partial_sums
from surelift.decisions.power import power
from surelift.decisions.profile import profile
from surelift.decisions.select import select
from surelift.decisions.simulate import simulate
from surelift.decisions.study import study
from surelift.decisions.verify import verify
from surelift.results.embedding import EmbeddingHealth, EmbeddingTrial
from surelift.results.estimation import Estimation, PolicyEstimate
from surelift.results.evaluation import Evaluation, PolicyValue
from surelift.results.forecast import Forecast
from surelift.results.gate import Gate, Guardrail
from surelift.results.guarantee import Guarantee
from surelift.results.health import Finding, Health
from surelift.results.history import History
from surelift.results.improvement import Improvement
from surelift.results.profile import Profile
from surelift.results.report import Report
from surelift.results.segments import Segments
from surelift.results.selection import Selection
from surelift.results.simulation import Simulation
from surelift.results.verification import Verification
from surelift.results.weights import WeightHealth

__all__ = [
    "Certificate",
    "EmbeddingHealth",
    "EmbeddingTrial",
    "Estimation",
    "Evaluation",
    "Finding",
    "Forecast",
    "Gate",
    "Guarantee",
    "Guardrail",
    "Health",
    "History",
    "Improvement",
    "Monitor",
    "PolicyEstimate",
    "PolicyValue",
    "Profile",
    "Question",
    "Report",
    "Segments",
    "Selection",
    "Simulation",
    "Verification",
    "WeightHealth",
    "check",
    "check_embedding",
    "compare",
    "estimate",
    "evaluate",
    "gate",
    "partial_sums",
    "power",
    "profile",
    "select",
    "simulate",
    "study",
    "verify",
]  # fmt: skip
