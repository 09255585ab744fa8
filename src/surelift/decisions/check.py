"""Are these logs fit for a guarantee, are their propensities right, and what does an embedding buy and risk?"""

from collections.abc import Sequence
from typing import Any

from surelift.decisions.compare import compare
from surelift.decisions.options import ask
from surelift.errors import UsageError
from surelift.logs.segments import By, SegmentColumn
from surelift.policies.resolve import name_policies
from surelift.policies.wrappers import Direct
from surelift.questions.health import HealthQuestion
from surelift.questions.method import check_delta
from surelift.questions.question import Progress
from surelift.questions.stored import require_logs
from surelift.results.embedding import EmbeddingHealth, EmbeddingTrial
from surelift.results.health import Health
from surelift.traits.logs import Logs


def check(
    logs: Logs, policies: Any = None, *, level: float = 0.001, by: SegmentColumn | Sequence[By] | None = None,
    progress: Progress | None = None,
) -> Health:  # fmt: skip
    """Test whether logs are fit for a guarantee: rows, propensities, overlap, weights.

    Every round is read once. The propensities are tested overall, by action, by day where ``time`` is declared, and in
    the segments of ``by``. With production's whole distribution (``logging``) they are tested in both directions,
    otherwise only for being too small, by the candidates' weights and by the number of actions where it is declared;
    with a declared largest weight (``bounded``) the weights are tested in both. A column of ``by`` that tells of the
    action is refused.

    Where ``time`` is declared, rewards and propensities that differ from day to day by more than chance are warned of;
    independent rounds of one law are, with probability at most ``level`` too.

    >>> check(Logs(reward=[0, 1], propensity=[0.5, 1.2])).ok
    False

    Args:
        logs: The log to test.
        policies: Candidates whose weights are examined: a column, a list of columns, or a dict from names to policies.
        level: The probability with which right propensities are refused, for all tests together, however often you look
            at a list of segments that does not grow.
        by: Columns known before the action, each tested by itself; those of an inner list are tested in combination.
        progress: Called with the number of rounds read so far.

    Returns:
        A ``Health``, with ``.ok``, ``.findings`` and their remedies, and the weights of each policy.
    """
    answer: Health = ask(HealthQuestion, logs, policies, level=level, by=by, progress=progress)
    return answer


def check_embedding(logs: Logs, policies: Any, *, delta: float = 0.05, progress: Progress | None = None) -> EmbeddingHealth:
    """Hold the weights of embeddings against those of actions, for logs that have both.

    Under the assumption (and where production could take every action) both have the same mean: a difference whose
    bounds exclude zero contradicts the embedding. A log in which actions are rare says little about it: no
    contradiction is no proof. The log is read several times.

    Args:
        logs: A log with an ``embedding``.
        policies: The candidates: a column, a list of columns, or a dict from names to policies.
        delta: The probability that a right embedding is contradicted.
        progress: Called with the number of rounds read so far.
    """
    require_logs(logs)
    if "embedding" not in logs.declaration.features:
        raise UsageError("these logs have no embedding; give one in Logs(..., embedding=...).")
    named, delta = name_policies(policies), check_delta(delta)
    by_actions = logs.without_embedding()
    healths = [check(each, named, progress=progress) for each in (by_actions, logs)]
    trials = {}
    for name, policy in named.items():
        asked: dict[str, Any] = {"delta": delta / (2 * len(named)), "progress": progress}
        before, after = (health.weights[name] for health in healths)
        direct = {f"{name}, by actions": Direct(policy)}
        trials[name] = EmbeddingTrial(
            policy=name,
            plain=compare(by_actions, {name: policy}, **asked),
            marginal=compare(logs, {name: policy}, **asked),
            difference=compare(logs, direct, over={name: policy}, control="none", **asked),
            effective_sample_sizes=(before.effective_sample_size, after.effective_sample_size),
            largest_weights=(before.largest, after.largest),
        )
    first = next(iter(trials.values()))
    return EmbeddingHealth(trials, delta, first.marginal.rounds)
