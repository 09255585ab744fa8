"""Learning a random linear rule, certified on the rounds it was learned from."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from surelift.controls.model import SAME_ROUNDS
from surelift.errors import UsageError, share
from surelift.grids import Grid
from surelift.learning.data.dataset import Dataset
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.fit import Fit, Steps
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.modules import LinearGaussian
from surelift.learning.policies.rules import GaussianRule, Single, as_single
from surelift.learning.questions import PRIOR_FROM, ZERO, guarantee_of, refuse_seen
from surelift.learning.training.problem import LearningProblem
from surelift.policies.policy import origins_of
from surelift.questions.certificate import Certificate


class Prior(NamedTuple):
    means: Single  # (actions, features)
    description: str  # where the prior comes from, for the certificate
    layout: FeatureLayout


def fit_gaussian(fit: Fit) -> Steps:
    """Certified on the rounds it was learned from, except those that fitted the prior."""
    params, logs, options, rounds = fit.params, fit.logs, fit.options, fit.logs.count()
    fitted = isinstance(params["prior"], str) and params["prior"] == "fitted"
    aside = int(share("prior_share", params["prior_share"]) * rounds) if fitted else 0
    if rounds and aside >= rounds:
        raise UsageError("prior_share must leave rounds to certify the policy on.")
    prior_from, model_from = (origins_of(learned) for learned in (params["prior"], options.model))
    surveyed = fit.survey(others=prior_from + model_from, cuts=(aside,) if aside else (), standardise=bool(aside))
    layout, actions, judging = surveyed.layout, surveyed.actions, surveyed.origins[-1]
    if aside:
        prior_from, (aside,) = surveyed.origins[0], surveyed.cuts
    refuse_seen((SAME_ROUNDS, surveyed.all_origins, model_from), (PRIOR_FROM, judging, prior_from))
    prior = _prior(ZERO if fitted else params["prior"], layout, actions)
    if aside:
        before, dataset = fit.datasets(layout, actions, (aside, rounds))
        # The prior is the same kind of policy, learned on the rounds set aside from a zero prior.
        parameters = yield replace(_problem(fit, before, prior, surveyed.identity), checkpoint=None, report=None)
        before.kept = None
        description = f"fitted on the first {aside:,} rounds, which certify nothing"
        prior = Prior(parameters["means"].numpy(), description, layout)
    else:
        (dataset,) = fit.datasets(prior.layout, actions, (rounds,))
    parameters = yield _problem(fit, dataset, prior, surveyed.identity)
    rule = GaussianRule(parameters["means"].numpy(), parameters["deviation"].numpy(), prior.means)
    labels = logs.declaration.propensity.actions
    policy = LearnedPolicy(rule, prior.layout, labels, actions, judging, prior_from + model_from)
    asked = {
        "objective": options.objective, "delta": params["delta"], "set_aside": aside, "prior": prior.description,
        "control": options.control,
        **{name: value.describe() if isinstance(value, Grid) else value for name, value in options.numbers.items()},
    }  # fmt: skip
    device = None if params["device"] == "cpu" else fit.training.device
    answer = guarantee_of(policy, logs, asked, read=(dataset, surveyed.contents[-1]), device=device)
    return replace(policy, certificate=Certificate.of(answer)), answer


def _problem(fit: Fit, dataset: Dataset, prior: Prior, rounds: str) -> LearningProblem:
    unseen = prior.layout.unseen()
    policy = LinearGaussian(torch.from_numpy(prior.means), fit.params["covariance"], unseen=unseen)
    return fit.problem(policy, fit.options.build(dataset), dataset, rounds)


def _prior(form: Any, layout: FeatureLayout, actions: int) -> Prior:
    problem, description = "", "means given by the user, assumed to be fixed before these rounds"
    if isinstance(form, LearnedPolicy):
        description = "a policy learned from other rounds"
        if not isinstance(form.rule, GaussianRule) or form.layout.names != layout.names:
            problem = "the prior must be a gaussian policy with the same contexts, in the same order."
        else:
            layout, form = form.layout, form.rule.means
    elif isinstance(form, str):
        form, description = np.zeros((actions, layout.size), dtype=np.float32), form
        if description != ZERO:
            problem = f"unknown prior {description!r}; use 'fitted', 'zero', an array of means, or a learned policy."
    means = np.zeros(0, dtype=np.float32) if problem else as_single("the prior", form)
    if not problem and (means.shape != (actions, layout.size) or not np.isfinite(means).all()):
        problem = (
            f"the prior must have a finite mean for each of {actions} actions and {layout.size} features (one more per text "
            f"context for unseen texts; the intercept comes last), but has shape {means.shape}."
        )
    if problem:
        raise UsageError(problem)
    return Prior(means, description, layout)
