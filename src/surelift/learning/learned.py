"""A learned policy: probabilities, decisions, a file format, and the certificate it carries.

A process that only serves decisions loads NumPy and safetensors and little else, so the rest is imported where it is used.
"""

import os
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import LogsError, SureliftError, UsageError
from surelift.learning import files
from surelift.learning.data.layout import FeatureLayout, RowEncoder
from surelift.learning.policies.rules import ItemRule, Rule, arrays_of, in_double, kind_of, rule_from
from surelift.logs.seen import Origins
from surelift.questions.certificate import Certificate
from surelift.views.formats import rounded

if TYPE_CHECKING:
    from surelift.logs.batch import Needs
    from surelift.logs.decisions import Decisions
    from surelift.logs.vectors import Vectors
    from surelift.policies.policy import Singles
    from surelift.traits.logs import Logs

_ENTRIES_AT_ONCE, _SHOWN = 1 << 24, 8
KINDS = {
    "gaussian": "a linear rule with random weights (Gaussian), drawn anew at every decision",
    "softmax": "a softmax of linear scores", "network": "a softmax of a network with one hidden layer",
    "stages": "a draw, at every decision, of one of several policies learned one after the other",
    "module": "a softmax of the scores of a torch module",
    "items": "a softmax over items, scored by their embeddings",
}  # fmt: skip


class Decision(NamedTuple):
    """An action, and the probability with which it was drawn: log both."""

    action: Any  # its label, or its position from 0 where actions have none
    propensity: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedPolicy:
    """The result of ``PolicyLearner.fit``, accepted by ``evaluate``, ``compare`` and ``select`` like any policy.

    ``certificate`` is what was certified of it. It remembers the rounds it was learned from, and refuses them as
    judges.
    """

    rule: Rule
    layout: FeatureLayout
    actions: tuple[Any, ...] | None  # the labels of the actions in order; None if they are positions from 0
    action_count: int
    trained_on: Origins = Origins()  # its own training rounds
    prior_from: Origins = Origins()  # what its prior and its reward model were learned from
    certificate: Certificate | None = None
    _serving: tuple[RowEncoder, Rule] | None = field(default=None, init=False)  # made at the first decision

    def __repr__(self) -> str:
        first, *more = summary(kind_of(self.rule), self.layout, self.actions, self.action_count)
        stated = None if self.certificate is None else self.certificate.content
        return "\n".join([f"LearnedPolicy: {first}", *more, _certificate_line(stated)])

    @property
    def classes_(self) -> Sequence[Any]:
        """The labels of the actions in order, or their positions."""
        return self.actions if self.actions is not None else range(self.action_count)

    @property
    def feature_names_in_(self) -> tuple[str, ...]:
        """The contexts, in order."""
        return self.layout.names

    def decide(self, context: Any, rng: int | np.random.Generator | None = None) -> Decision:
        """Draw the action for one context, from the distribution that was certified, with its probability.

        Threads may share a policy.

        Args:
            context: A dict from the contexts to their values, of which others are ignored, or an array of numbers in
                the order of ``feature_names_in_``.
            rng: A generator, for tests; draws are otherwise random, and others in every process. A number is the seed
                of one, and so always gives the same draw.
        """
        if self._serving is None:
            object.__setattr__(self, "_serving", (RowEncoder(self.layout), in_double(self.rule)))
        assert self._serving is not None
        encode, rule = self._serving
        shares = rule.probabilities(encode(context))[0]
        generator = _own_generator() if rng is None else np.random.default_rng(rng)
        edges = shares.cumsum()
        position = int((edges[:-1] / edges[-1]).searchsorted(generator.random(), side="right"))
        # The quadrature of a gaussian policy may pass 1 by its rounding, and a logged propensity may not.
        propensity = min(float(shares[position]), 1.0)
        if not propensity > 0.0:
            raise UsageError("the policy's scores for this context are not finite; rescale its numbers.")
        return Decision(position if self.actions is None else self.actions[position], propensity)

    def predict_proba(self, contexts: Any) -> FloatArray:
        """The probability of every action, (rows, actions), for contexts in a frame or a matrix."""
        return self.rule.probabilities(self._encoded(contexts))

    def sample(self, contexts: Any, seed: int | np.random.Generator | None = None) -> Any:
        """Sample an action for every context: this is the policy that was certified."""
        features = self._encoded(contexts)
        draws = np.random.default_rng(seed).random(len(features))
        size = max(1, _ENTRIES_AT_ONCE // self.action_count)
        chosen = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(features), size):
            shares = np.cumsum(self.rule.probabilities(features[start : start + size]), axis=1)
            # The last edge is 1 up to rounding, which must not let a draw pass it.
            edges = shares[:, :-1] / shares[:, -1:]
            chosen.append((draws[start : start + size, None] >= edges).sum(axis=1))
        return self._labels(np.concatenate(chosen))

    def predict(self, contexts: Any) -> Any:
        """The most likely action of every context. The certificate does not cover it; it covers ``sample``."""
        certified = "the certificate covers sample, which draws actions at random. Use sample."
        warnings.warn(f"predict returns the most likely action of every context; {certified}", stacklevel=2)
        return self._labels(self.predict_proba(contexts).argmax(axis=1))

    def _encoded(self, contexts: Any) -> Any:
        from surelift.learning.data.features import as_table

        return self.layout.encode(as_table(contexts, self.layout.names))

    def _labels(self, positions: Any) -> Any:
        return positions if self.actions is None else np.array(self.actions, dtype=object)[positions]

    @property
    def learned_from(self) -> Origins:
        """Rounds that cannot judge it."""
        return self.trained_on + self.prior_from

    @property
    def features(self) -> frozenset[str]:
        counted = ("policy over counted actions",) if isinstance(self.rule, ItemRule) else ()
        return frozenset({"policy over all actions", *counted})

    def as_reader(self) -> "LearnedPolicy":
        from surelift.learning import questions  # noqa: F401  (how its certificate is read back)

        return self

    def needs(self, logs: "Logs") -> "Needs":
        from surelift.logs.batch import Needs

        logs.require_columns(self.layout.names, role="a context of the learned policy")
        logs.declaration.require_visible(self.layout.names, "the learned policy")
        declared, labels = logs.declaration.propensity.actions, self.actions
        if declared is not None and labels is not None and declared != labels:
            raise UsageError(f"the policy was learned for the actions {list(labels)[:10]}; declare them in this order.")
        return Needs(read=tuple(self.layout.texts), handed_on=self.layout.names)

    def read(self, decisions: "Decisions", subject: str) -> "Singles | Vectors":
        from surelift.logs import faults
        from surelift.policies.readers import kept

        rows = decisions.rows
        table = rows.handed_on(self.layout.names, texts=self.layout.texts)
        encoded = self.layout.encode(table)
        if not isinstance(self.rule, ItemRule):
            return kept(rows, self.rule.probabilities(encoded), subject)
        counts = decisions.available(subject)
        rows.refuse(subject, faults.OTHER_ITEMS, counts != self.action_count, counts)
        # Positions out of range have been refused already; any item can stand in for them.
        action = np.clip(decisions.taken, 0, self.action_count - 1)
        return kept(rows, self.rule.logged(encoded, action), subject)

    def describe(self) -> dict[str, Any]:
        return {"kind": "learned", "name": kind_of(self.rule), "mark": files.digest(arrays_of(self.rule))[:32]}

    def save(self, path: str | Path) -> None:
        """Write the parameters, the certificate and the feature layout to one file."""
        content = {
            "kind": kind_of(self.rule), "features": self.layout.describe(), "action_count": self.action_count,
            "actions": None if self.actions is None else list(self.actions),
            "trained_on": self.trained_on.encode(), "prior_from": self.prior_from.encode(),
            "certificate": None if self.certificate is None else dict(self.certificate.content),
        }  # fmt: skip
        files.write(path, arrays_of(self.rule), content)

    @classmethod
    def load(cls, path: str | Path, *, module: Any = None) -> "LearnedPolicy":
        """Read a policy; if it is a torch module, ``module`` must have the same architecture."""
        arrays, content = files.read(path)
        try:
            certificate, layout = content["certificate"], FeatureLayout.from_description(content["features"])
            labels, action_count = content["actions"], int(content["action_count"])
            if labels is not None and len(labels) != action_count:
                raise ValueError("the number of labels is not the number of actions")
            return cls(
                rule_from(content["kind"], arrays, module, (action_count, layout.size)), layout,
                None if labels is None else tuple(labels), action_count,
                Origins.decode(content["trained_on"]), Origins.decode(content["prior_from"]),
                None if certificate is None else Certificate.from_content(certificate, place=str(path)),
            )  # fmt: skip
        except SureliftError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, zlib.error) as error:
            raise LogsError(f"{path} is damaged and cannot be read as a policy ({error}).") from error


def summary(kind: str, layout: FeatureLayout, labels: Sequence[Any] | None, action_count: int) -> list[str]:
    def some(names: Iterable[str], count: int) -> str:
        return ", ".join(islice(names, _SHOWN)) + (f", ... ({count:,} in all)" if count > _SHOWN else "")

    kinds = {name: f"list of {width} numbers" for name, width in layout.widths.items()} | dict.fromkeys(layout.texts, "text")
    contexts = some((f"{name} ({kinds.get(name, 'number')})" for name in layout.names), len(layout.names))
    return [
        f"{KINDS.get(kind, kind)}, over {action_count:,} actions",
        f"  actions      {f'0 to {action_count - 1:,}' if labels is None else some(map(str, labels), len(labels))}",
        f"  contexts     {contexts or 'none'}",
    ]


def _certificate_line(content: Mapping[str, Any] | None) -> str:
    if content is None:
        return "  certificate  none"
    answer, delta = content["answer"], content["question"]["delta"]
    improves = answer.get("about", "improvement") == "improvement"
    verdict = ("certified: " if answer["certified"] else "not certified: ") if improves and "certified" in answer else ""
    bounds = [
        f"{side} {rounded(answer[name], 4, towards=towards, sign=improves)}"
        for name, side, towards in (("lower", "at least", "down"), ("upper", "at most", "up"))
        if answer.get(name) is not None and not (improves and name == "upper")
    ]
    what = "improvement over production" if improves else "value per round"
    says = f"{what} of {', '.join(bounds)}" if bounds else f"see 'surelift explain' ({content['question']['kind']})"
    return f"  certificate  {verdict}{says} (delta {delta:g}, {content['rounds']:,} rounds)"


@cache
def _own_generator() -> np.random.Generator:
    """One for all policies of a process; NumPy lets one thread at a time draw from it."""
    return np.random.default_rng()


if hasattr(os, "register_at_fork"):
    # Two workers that were forked from one process would otherwise draw the same numbers.
    os.register_at_fork(after_in_child=_own_generator.cache_clear)
