"""What does an embedding buy, and what does it risk? Narrower bounds, and an assumption that the log can contradict."""

from typing import Any

from surelift.decisions.check import check
from surelift.decisions.compare import compare
from surelift.errors import UsageError
from surelift.policies.resolve import name_policies
from surelift.policies.wrappers import Direct
from surelift.questions.options import check_delta
from surelift.questions.question import Progress
from surelift.questions.stored import require_logs
from surelift.results.embedding import EmbeddingHealth, EmbeddingTrial
from surelift.traits.logs import Logs


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
    if not logs.declaration.has("embedding"):
        raise UsageError("these logs have no embedding; give one in Logs(..., embedding=...).")
    named, delta = name_policies(policies), check_delta(delta)
    apart = logs.without_embedding()
    plain_health, health = check(apart, named, progress=progress), check(logs, named, progress=progress)
    trials = {}
    for name, policy in named.items():
        each: dict[str, Any] = {"delta": delta / (2 * len(named)), "progress": progress}
        direct = f"{name}, by actions"
        before, after = (one.weights[name] for one in (plain_health, health))
        trials[name] = EmbeddingTrial(
            policy=name,
            plain=compare(apart, {name: policy}, **each),
            marginal=compare(logs, {name: policy}, **each),
            difference=compare(logs, {direct: Direct(policy)}, over={name: policy}, control="none", **each),
            effective_sample_sizes=(before.effective_sample_size, after.effective_sample_size),
            largest_weights=(before.largest, after.largest),
        )
    first = next(iter(trials.values()))
    return EmbeddingHealth(trials, delta, first.marginal.rounds)
