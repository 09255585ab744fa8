"""Turn what a user passes, or a description from a certificate, into a policy."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from surelift.errors import UsageError, positive, share
from surelift.logs.alignment import index_of
from surelift.logs.densities import DENSITIES, density_from
from surelift.logs.wins import Wins, wins_from
from surelift.policies.continuous import DensityReader, binned_from, kernel
from surelift.policies.over_actions import Chosen, EpsilonGreedy, Softmax, UniformPolicy
from surelift.policies.policy import Column, Columns, Given, Policy, Production, Reader
from surelift.policies.readers import Array, Function, Model, as_numbers, names_of
from surelift.policies.unbiased import AdditiveSlate, Simulated
from surelift.policies.wrappers import Blend, Bounded
from surelift.traits.declaration import Declaration

PRODUCTION = "production"
NO_POLICY = "no policy was given; give at least one, such as {'new': 'p_new'}."


def chosen(column: str) -> Policy:
    """The deterministic policy that takes the action in a column.

    Args:
        column: The column of the action that the candidate would take, as ``action`` is given in the log.
    """
    return Chosen(column)


def uniform() -> Policy:
    """The policy that takes every action with the same probability."""
    return UniformPolicy()


def softmax(scores: Any, temperature: float) -> Policy:
    """The policy with probabilities proportional to exp(score / temperature).

    Args:
        scores: The scores of all actions: a list column, a list of columns, a matrix, or a function of the batch.
        temperature: A positive number, fixed in advance; small ones take the best score nearly always.
    """
    return Softmax(as_reader(scores), positive("temperature", temperature))


def epsilon_greedy(greedy: Any, epsilon: float) -> Policy:
    """Take the best action, and with probability ``epsilon`` a uniformly random one.

    Args:
        greedy: The scores of all actions, a list column or a list of columns, or ``chosen("column")``.
        epsilon: The probability of a random action, in [0, 1].
    """
    return EpsilonGreedy(greedy if isinstance(greedy, Chosen) else as_reader(greedy), share("epsilon", epsilon))


def blend(policy: Any, alpha: float) -> Policy:
    """The policy in a share of the decisions, production in the rest: importance weights are at least 1 - alpha.

    Args:
        policy: The candidate.
        alpha: Its share of the decisions, in [0, 1].
    """
    return Blend(as_policy(policy), share("alpha", alpha))


def bounded(policy: Any, max_weight: float) -> Policy:
    """A policy that, by construction, gives no action more than ``max_weight`` times production's probability of it.

    So production supports every action the policy takes, and bounds are narrower. A round with a larger weight is
    rejected, and so are weights in evidence not to average 1.

    Args:
        policy: The candidate.
        max_weight: The largest weight that it can have, known from how the two policies are built; the largest observed
            weight is no guarantee.
    """
    if positive("max_weight", max_weight) < 1.0:
        raise UsageError(f"max_weight must be at least 1, since weights average to 1, but is {max_weight}.")
    return Bounded(as_policy(policy), float(max_weight))


@lru_cache(maxsize=1024)
def _named_by(column: str) -> Policy:
    """The policy is made once for each name, so that every question of it finds what was derived from it."""
    return Production() if column == PRODUCTION else Column(str(column))


def as_policy(form: Any) -> Policy:
    if isinstance(form, str):
        return _named_by(form)
    if isinstance(form, Policy):
        return form
    if isinstance(form, Wins):
        return Simulated(form)
    return as_reader(form)


def as_reader(form: Any) -> Reader:
    if isinstance(form, Reader):
        return form
    if isinstance(form, str):
        return Column(form)
    if isinstance(form, DENSITIES):
        return DensityReader(form)
    if isinstance(form, Sequence) and form and all(isinstance(name, str) for name in form):
        return Columns(tuple(form))
    if hasattr(form, "as_reader"):
        return Given(form.as_reader())
    if hasattr(form, "predict_proba"):
        return Model(form)
    if isinstance(form, np.ndarray | list | tuple) or hasattr(form, "__array__") or hasattr(form, "toarray"):
        numbers = as_numbers(form)
        if isinstance(numbers, np.ndarray) and numbers.ndim == 3 and numbers.shape[2] == 1:  # of one position, as in obp
            numbers = numbers[:, :, 0]
        return Array(numbers, index_of(form), names_of(form))
    if callable(form):
        return Function(form)
    what = "scores cannot come from" if isinstance(form, Policy) else "a policy cannot be"
    raise UsageError(
        f"{what} a {type(form).__name__}; give a column, an array, a function of the batch, or a model with predict_proba."
    )


def name_policies(policies: Any) -> dict[str, Policy]:
    """Name policies: a dict keeps its names; a column or a list of columns is named after itself."""
    listed = isinstance(policies, list | tuple) and any(isinstance(form, str | Wins | Policy) for form in policies)
    if isinstance(policies, Mapping):
        pairs = [(str(name), form) for name, form in policies.items()]
    else:
        pairs = [(form, form) for form in policies] if listed else [(name_of(policies), policies)]
    wrong = "" if pairs else NO_POLICY
    if not all(isinstance(name, str) for name, _ in pairs):
        wrong = "policies that are not all columns need names: give a dict, {'new': policy, ...}."
    elif len(dict(pairs)) < len(pairs):
        wrong = "two policies have the same name; give them different names, in a dict."
    if wrong:
        raise UsageError(wrong)
    named = {name: as_policy(form) for name, form in pairs}
    check_policies(named)
    return named


def one_policy(policy: Any, declared: Declaration | None = None) -> tuple[str, Policy]:
    if isinstance(policy, str):
        return policy, _named_by(policy)  # a question checks the names of its policies
    # A list of columns stands for one policy only where the logs say which of them was taken.
    listed = isinstance(policy, list | tuple) and len(policy) > 1 and all(isinstance(name, str) for name in policy)
    several = isinstance(policy, Mapping) or (listed and declared is not None and "actions" not in declared.features)
    named = name_policies(policy if several else {name_of(policy): policy})
    if len(named) != 1:
        raise UsageError(f"one policy is needed, but {len(named)} were given; use select for several.")
    return next(iter(named.items()))


def check_policies(policies: Any, *, some: bool = False) -> None:
    """Refuse what is no mapping from names to policies; or, where ``some`` are needed, an empty one."""
    wrong = NO_POLICY if some and not policies else ""
    if not isinstance(policies, Mapping) or not all(isinstance(policy, Policy) for policy in policies.values()):
        raise UsageError("policies must be a mapping from names to policies, as name_policies makes it.")
    for name, policy in policies.items():
        if name == PRODUCTION and not isinstance(policy, Production):
            wrong = f"{name!r} is the name of production; give this policy another name, in a dict."
        elif not name or (not name.isascii() and name.encode(errors="replace").decode() != name):
            wrong = f"a policy cannot be named {name!r}; give it another name, of valid Unicode, in a dict."
    if wrong:
        raise UsageError(wrong)


def name_of(form: Any) -> str:
    if isinstance(form, str):
        return form
    if isinstance(getattr(form, "name", None), str) and hasattr(form, "__array__"):
        return str(form.name)  # a Series
    if isinstance(form, Blend):
        return f"{100 * form.alpha:g}% {name_of(form.policy)}"
    if isinstance(form, Bounded):
        return name_of(form.policy)
    description = as_policy(form).describe()
    return str(description.get("column") or description.get("name") or description["kind"])


def from_description(description: Mapping[str, Any]) -> Policy:
    """Rebuild a policy made of columns; an array, a function or a model must be passed again."""
    kind = description["kind"]
    if kind in ("array", "function", "model", "learned"):
        raise UsageError(f"it was built from {kind} {description.get('name', '')}".rstrip())
    if kind not in _REBUILD:
        raise ValueError(f"unknown policy kind {kind!r}")
    return _REBUILD[kind](description)


_REBUILD: dict[str, Callable[[Mapping[str, Any]], Policy]] = {
    "production": lambda _: Production(),
    "column": lambda saved: Column(str(saved["column"])),
    "columns": lambda saved: Columns(tuple(map(str, saved["columns"]))),
    "chosen": lambda saved: Chosen(saved["column"]),
    "uniform": lambda _: UniformPolicy(),
    "softmax": lambda saved: softmax(from_description(saved["of"]), saved["temperature"]),
    "epsilon_greedy": lambda saved: epsilon_greedy(from_description(saved["of"]), saved["epsilon"]),
    "blend": lambda saved: blend(from_description(saved["of"]), saved["alpha"]),
    "bounded": lambda saved: bounded(from_description(saved["of"]), saved["max_weight"]),
    "binned": binned_from,
    "wins": lambda saved: Simulated(wins_from(saved)),
    "additive": lambda saved: AdditiveSlate(str(saved["column"]), int(saved["positions"]), float(saved["drop"])),
    "kernel": lambda saved: kernel(str(saved["column"]), saved["bandwidth"]),
    **dict.fromkeys(("gaussian", "uniform-density", "density-blend"), lambda saved: DensityReader(density_from(saved))),
}


def rebuild(name: str, description: Mapping[str, Any], *, kept_in: str) -> Policy:
    """Rebuild a saved policy, or say that it must be passed again."""
    try:
        return from_description(description)
    except UsageError as error:
        raise UsageError(f"policy {name!r} cannot be read from {kept_in} ({error}); pass it in policies=.") from error
