"""Bounds become answers: check, evaluate, compare, select, and certificates of them."""

from surelift.decisions.certificate import Certificate
from surelift.decisions.check import Health, check
from surelift.decisions.compare import compare
from surelift.decisions.course import Course
from surelift.decisions.embedding import EmbeddingHealth, EmbeddingTrial, check_embedding
from surelift.decisions.estimate import Estimation, PolicyEstimate, estimate
from surelift.decisions.evaluate import evaluate
from surelift.decisions.evaluation import Evaluation, PolicyValue
from surelift.decisions.findings import Finding, WeightHealth
from surelift.decisions.gate import Gate, Guardrail, gate
from surelift.decisions.guarantee import Guarantee
from surelift.decisions.improvement import Improvement
from surelift.decisions.monitor import Monitor
from surelift.decisions.partial import Question, partial_sums
from surelift.decisions.power import Forecast, power
from surelift.decisions.profile import Profile, profile
from surelift.decisions.segments import Segments
from surelift.decisions.select import Selection, select
from surelift.decisions.simulate import Simulation, simulate
from surelift.decisions.study import Study, study
from surelift.decisions.verify import Verification, verify

__all__ = [
    "Certificate", "Course", "EmbeddingHealth", "EmbeddingTrial", "Estimation", "Evaluation", "Finding", "Forecast",
    "Gate", "Guarantee", "Guardrail", "Health", "Improvement", "Monitor", "PolicyEstimate", "PolicyValue", "Profile",
    "Question", "Segments", "Selection", "Simulation", "Study", "Verification", "WeightHealth", "check",
    "check_embedding", "compare", "estimate", "evaluate", "gate", "partial_sums", "power", "profile", "select",
    "simulate", "study", "verify",
]  # fmt: skip
