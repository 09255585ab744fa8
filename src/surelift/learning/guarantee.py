"""The guarantee of a learned policy on the rounds it was learned from, as an answer that can be certified and verified."""

from collections.abc import Callable, Mapping
from typing import Any

from surelift.bounds.bound import Promise
from surelift.controls import models
from surelift.controls.model import RewardModel
from surelift.decisions.asking import refuse_contradiction
from surelift.decisions.method import check_delta
from surelift.errors import LogsError, UsageError
from surelift.grids import Grid
from surelift.learning.certify import certify
from surelift.learning.learned import LearnedPolicy
from surelift.learning.options import Choice
from surelift.learning.rows import Rows, mix_contexts, require_learnable, rounds_of
from surelift.learning.rule import GaussianRule
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.policies.resolve import as_policy
from surelift.results.guarantee import Guarantee
from surelift.results.provenance import doubts_of, provenance_of
from surelift.statistics import Sums

NAME, ZERO = "learned", "zero"


def guarantee_of(
    learned: LearnedPolicy,
    logs: Logs,
    options: Mapping[str, Any],
    *,
    control: Any = None,
    progress: Callable[[int], None] | None = None,
    read: tuple[Rows, Fingerprint | None] | None = None,
    device: str | None = None,
) -> Guarantee:
    """One pass over the rounds in float64; those set aside for the prior, the first ``set_aside``, are left out.

    ``read`` are these rounds where they were read already, with their fingerprint if it is known.
    """
    rule = learned.rule
    if not isinstance(rule, GaussianRule):
        raise UsageError("only a random linear rule is certified on the rounds it was learned from.")
    require_learnable(logs)
    logs.require_columns(learned.features.names, role="a context of the learned policy")
    choice, model = _choice(options, control)
    _check_prior(rule, options)
    judged = logs.part(int(options["set_aside"]), logs.count()) if options["set_aside"] else logs
    if judged.count() < 1:
        raise LogsError("no round is left to certify with.")
    objective = choice.build(
        rounds=judged.count(), actions=learned.action_count, distributions=logs.declaration.logging is not None
    )
    rows, known = read or (Rows(judged, learned.features, learned.action_count, model), None)
    found = certify(rule, objective, rows, delta=options["delta"], device=device, progress=progress)
    scale = logs.scale
    improves = objective.about == "improvement"
    refuse_contradiction(
        found.lower, 1.0, possible=(-1.0 if improves else 0.0, 1.0), mean_weight=found.mean_weight,
        subject=f"the {objective.about} of the policy that was learned, on [0, 1]",
    )  # fmt: skip
    promise: Promise = "any number of looks" if objective.any_looks else "one look"
    doubts = doubts_of(logs)
    bound = scale.improvement(found.lower) if improves else None
    if bound is None:
        bound = scale.upper(found.lower) if scale.is_cost else scale.lower(found.lower)
    fingerprint = known or _fingerprint(judged, learned)
    sums = Sums(rows=found.rounds, units=found.rounds, fingerprint=fingerprint)
    return Guarantee(
        policy=NAME,
        about=objective.about,
        estimate=scale.improvement(found.estimate) if improves else scale.value(found.estimate),
        lower=None if scale.is_cost and not improves else bound,
        upper=bound if scale.is_cost and not improves else None,
        certified=improves and found.lower > 0.0 and not doubts,
        delta=options["delta"],
        rounds=found.rounds,
        objective=choice.objective,
        divergence=rule.divergence,
        prior=options["prior"],
        promise=promise,
        assumptions=_assumptions(logs, options, objective.any_looks, model),
        doubts=doubts,
        provenance=provenance_of("learn", logs, {NAME: as_policy(learned)}, sums, dict(options)),
    )


def _choice(options: Mapping[str, Any], control: Any) -> tuple[Choice, RewardModel | None]:
    """What was asked, read from a certificate that may have been tampered with."""
    try:
        by_model = isinstance(options["control"], Mapping)
        if by_model and control is None:
            control = models.from_description(options["control"])
        if not by_model and control is not None:
            raise UsageError("control= was given again, but no reward model narrowed this certificate; leave it out.")
        asked = {name: options[name] for name in Choice.__dataclass_fields__ if name in options}
        if isinstance(asked.get("grid"), Mapping):
            asked["grid"] = Grid.from_description(asked["grid"])
        asked["control"] = control if by_model else options["control"]
        check_delta(options["delta"])
        if (
            not isinstance(options["prior"], str)
            or not isinstance(options["set_aside"], int)
            or options["set_aside"] < 0
        ):
            raise TypeError("prior and set_aside")
        return Choice(**asked), control if by_model else None
    except (KeyError, TypeError) as error:
        raise LogsError(f"the certificate of the policy is damaged: {error}.") from error


def _check_prior(rule: GaussianRule, options: Mapping[str, Any]) -> None:
    if options["prior"] == ZERO and rule.prior.any():
        raise LogsError("the certificate says that the prior is zero, and it is not: one of the two was changed.")


def _fingerprint(logs: Logs, learned: LearnedPolicy) -> Fingerprint:
    found = Fingerprint()
    for rounds in rounds_of(logs, learned.features.names):
        mix_contexts(rounds, learned.features.names)
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
        *logs.declaration.assumes,
    )
