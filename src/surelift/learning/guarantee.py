"""The guarantee of a learned policy on the rounds it was learned from, as an answer that can be certified and verified."""

from collections.abc import Callable, Mapping
from typing import Any

from surelift.controls.model import RewardModel
from surelift.decisions.basis import basis_of, doubts_of
from surelift.decisions.guarantee import Guarantee
from surelift.errors import LogsError, UsageError
from surelift.learning.certify import certify
from surelift.learning.learned import LearnedPolicy
from surelift.learning.options import Choice
from surelift.learning.rows import Rows, rounds_of
from surelift.learning.rule import GaussianRule
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.policies.resolve import as_policy
from surelift.statistics import Sums

NAME = "learned"


def guarantee_of(
    learned: LearnedPolicy,
    logs: Logs,
    options: Mapping[str, Any],
    *,
    control: Any = None,
    progress: Callable[[int], None] | None = None,
) -> Guarantee:
    """One pass over the rounds in float64; those set aside for the prior, the first ``set_aside``, are left out."""
    rule = learned.rule
    if not isinstance(rule, GaussianRule):
        raise UsageError("only a random linear rule is certified on the rounds it was learned from.")
    model: RewardModel | None = control if isinstance(options["control"], Mapping) else None
    if isinstance(options["control"], Mapping) and model is None:
        raise UsageError("a reward model narrowed this certificate, which a file cannot hold; give it in control=.")
    asked = {name: options[name] for name in Choice.__dataclass_fields__ if name in options}
    choice = Choice(**{**asked, "control": model if model is not None else options["control"]})
    judged = logs.part(int(options["set_aside"]), logs.count()) if options["set_aside"] else logs
    if judged.count() < 1:
        raise LogsError("no round is left to certify with.")
    objective = choice.build(
        rounds=judged.count(), actions=learned.action_count, distributions=logs.logging is not None
    )
    rows = Rows(judged, learned.features, learned.action_count, model)
    components = int(objective.describe()["components"])
    found = certify(rule, objective, rows, delta=options["delta"], components=components, progress=progress)
    scale = logs.scale
    improves = objective.about == "improvement"
    promise = "any number of looks" if objective.any_looks else "one look"
    doubts = doubts_of(logs)
    fingerprint = _fingerprint(judged, learned)
    sums = Sums(rows=found.rounds, units=found.rounds, fingerprint=fingerprint)
    return Guarantee(
        policy=NAME,
        about=objective.about,
        estimate=scale.improvement(found.estimate) if improves else scale.value(found.estimate),
        lower=scale.improvement(found.lower) if improves else scale.lower(found.lower),
        certified=improves and found.lower > 0.0 and not doubts,
        delta=options["delta"],
        rounds=found.rounds,
        objective=choice.objective,
        divergence=found.divergence,
        prior=options["prior"],
        promise=promise,  # type: ignore[arg-type]
        assumptions=_assumptions(logs, options, objective.any_looks, model),
        doubts=doubts,
        basis=basis_of("learn", logs, {NAME: as_policy(learned)}, sums, dict(options)),
    )


def _fingerprint(logs: Logs, learned: LearnedPolicy) -> Fingerprint:
    found = Fingerprint()
    for rounds in rounds_of(logs, learned.features.names):
        found = found + rounds.hashes.fingerprint()
    return found


def _assumptions(logs: Logs, options: Mapping[str, Any], any_looks: bool, model: RewardModel | None) -> tuple[str, ...]:
    kind = "costs" if logs.scale.is_cost else "rewards"
    rounds = (
        "they may have been logged by policies that changed with what was seen"
        if any_looks
        else "rounds are independent, and their number was fixed beforehand"
    )
    return (
        f"{kind} lie in [{logs.scale.low:g}, {logs.scale.high:g}] by their nature",
        "the propensities were recorded when the decisions were made",
        f"the prior ({options['prior']}), the objective and delta were fixed before looking at these rounds",
        rounds,
        "actions are drawn anew at every decision, as sample does",
        *(() if model is None else (model.assumes,)),
    )
