"""The prior of a Gaussian policy, fixed before the rounds that certify it."""

from typing import Any, NamedTuple

import numpy as np

from surelift.errors import UsageError
from surelift.learning.data.features import FeatureLayout
from surelift.learning.guarantee import ZERO
from surelift.learning.learned import LearnedPolicy
from surelift.learning.policies.rules import GaussianRule, Single, as_single
from surelift.logs.fingerprint import Fingerprint


class Prior(NamedTuple):
    means: Single  # (actions, features)
    description: str
    """Where the prior comes from, for the certificate."""
    layout: FeatureLayout
    learned_from: tuple[Fingerprint, ...] = ()


def zero_prior(layout: FeatureLayout, actions: int) -> Prior:
    return Prior(np.zeros((actions, layout.size), dtype=np.float32), ZERO, layout)


def user_prior(form: Any, layout: FeatureLayout, actions: int, rounds: Fingerprint) -> Prior:
    """The ``prior`` argument of a learner; a policy learned from ``rounds`` is refused."""
    if isinstance(form, str):
        if form in ("zero", "fitted"):
            return zero_prior(layout, actions)
        raise UsageError(f"unknown prior {form!r}; use 'fitted', 'zero', an array of means, or a learned policy.")
    description = "means given by the user, fixed before these rounds"
    learned_from: tuple[Fingerprint, ...] = ()
    if isinstance(form, LearnedPolicy):
        if rounds in form.learned_from:
            raise UsageError(
                "the prior was learned from the rounds to be certified, which voids the certificate; learn it from other "
                "rounds, or use prior='fitted'."
            )
        if not isinstance(form.rule, GaussianRule) or form.features.names != layout.names:
            raise UsageError("the prior must be a gaussian policy with the same contexts, in the same order.")
        description = "a policy learned from other rounds"
        learned_from, layout, form = form.learned_from, form.features, form.rule.means
    try:
        means = as_single(form)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"the prior cannot be read as numbers: {error}") from error
    if means.shape != (actions, layout.size) or not np.isfinite(means).all():
        raise UsageError(
            f"the prior must have a finite mean for each of {actions} actions and {layout.size} features (one more per text "
            f"context for unseen texts; the intercept comes last), but has shape {means.shape}."
        )
    return Prior(means, description, layout, learned_from)
