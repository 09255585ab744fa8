"""Where a random rule starts: a prior that was fixed before the rounds that certify it."""

from typing import Any, NamedTuple

import numpy as np

from surelift.errors import UsageError
from surelift.learning.features import Features
from surelift.learning.guarantee import ZERO
from surelift.learning.learned import LearnedPolicy
from surelift.learning.rule import GaussianRule, Single, as_single
from surelift.logs.fingerprint import Fingerprint


class Prior(NamedTuple):
    means: Single  # (actions, features)
    told: str
    """Where it comes from."""
    features: Features
    """The layout it is of."""
    seen: tuple[Fingerprint, ...] = ()
    """The rounds it was learned from."""


def given_prior(given: Any, features: Features, actions: int, rounds: Fingerprint) -> Prior:
    """A prior as the user names it; one learned from ``rounds`` is refused."""
    if isinstance(given, str):
        if given in ("zero", "fitted"):
            return Prior(np.zeros((actions, features.size), dtype=np.float32), ZERO, features)
        raise UsageError(f"no prior {given!r}; give 'fitted', 'zero', an array of means, or a learned policy.")
    told = "means given by the user, fixed before these rounds"
    seen: tuple[Fingerprint, ...] = ()
    if isinstance(given, LearnedPolicy):
        if rounds in given.learned_from:
            raise UsageError(
                "the prior was learned from the very rounds that are to be certified, which voids the certificate; "
                "learn it from other rounds, or say prior='fitted'."
            )
        if not isinstance(given.rule, GaussianRule) or given.features.names != features.names:
            raise UsageError("the prior must be a gaussian policy of the same contexts, in the same order.")
        told, seen, features = "a policy learned from other rounds", given.learned_from, given.features
        given = given.rule.means
    try:
        means = as_single(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"the prior cannot be read as numbers: {error}") from error
    if means.shape != (actions, features.size) or not np.isfinite(means).all():
        raise UsageError(
            f"the prior must have a finite mean for each of {actions} actions and {features.size} features (a text has "
            f"one more, for those never seen; an intercept comes last), but has shape {means.shape}."
        )
    return Prior(means, told, features, seen)
