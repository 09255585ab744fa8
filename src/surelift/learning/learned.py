"""A learned policy: it gives probabilities, acts, is judged like any other policy, and carries its certificate with it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import FloatArray
from surelift.decisions.certificate import Certificate
from surelift.errors import LogsError, UsageError
from surelift.learning import files
from surelift.learning.features import Features
from surelift.learning.item_rule import ItemRule
from surelift.learning.rows import decided_fingerprint
from surelift.learning.rule import GaussianRule, Single
from surelift.logs import faults
from surelift.logs.batch import Needs
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.logs import Logs
from surelift.logs.rounds import Rounds
from surelift.logs.vectors import Vectors
from surelift.policies.policy import action_counts, require_action, require_action_count
from surelift.policies.readers import Singles, kept
from surelift.results.guarantee import Guarantee

NO_CERTIFICATE = (
    "predict takes the likeliest action of every context, which is another policy than the one that was certified: that one "
    "draws its actions. Act with sample."
)
_ENTRIES_AT_ONCE = 1 << 24
LEARNED_FROM = (
    "this policy was learned from these very rounds, so they cannot judge it: its own certificate speaks of them, or fresh "
    "rounds do."
)


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRule:
    """Probabilities proportional to exp(weights . features)."""

    weights: Single  # (actions, features)

    def probabilities(self, features: Single) -> FloatArray:
        scores = features.astype(np.float64) @ self.weights.astype(np.float64).T
        return _softmax(scores)


@dataclass(frozen=True, slots=True, eq=False)
class ModuleRule:
    """Probabilities proportional to exp(score), of a torch module."""

    module: Any

    def probabilities(self, features: Single) -> FloatArray:
        import torch

        device = next((p.device for p in self.module.parameters()), torch.device("cpu"))
        with torch.no_grad():
            scores = self.module(torch.from_numpy(np.ascontiguousarray(features)).to(device))
        return _softmax(scores.double().cpu().numpy())


def _softmax(scores: FloatArray) -> FloatArray:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: FloatArray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares


Rule = GaussianRule | SoftmaxRule | ModuleRule | ItemRule


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPolicy:
    """What ``PolicyLearner.fit`` leaves behind: hand it to ``evaluate``, ``compare`` and ``select`` as it is."""

    rule: Rule
    features: Features
    actions: tuple[Any, ...] | None
    """The labels of the actions in order; None where they are positions counted from 0."""
    action_count: int
    learned_from: tuple[Fingerprint, ...]
    """The rounds it was learned from, in parts."""
    certificate: Certificate | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    """The options that its certificate depends on."""

    @property
    def classes_(self) -> Sequence[Any]:
        return self.actions if self.actions is not None else range(self.action_count)

    @property
    def feature_names_in_(self) -> tuple[str, ...]:
        return self.features.names

    def predict_proba(self, contexts: Any) -> FloatArray:
        """The probability of every action, (rows, actions), of contexts given as a frame or as a matrix."""
        return self.rule.probabilities(self.features.encode(as_table(contexts, self.features.names)))

    def sample(self, contexts: Any, seed: int | np.random.Generator | None = None) -> Any:
        """Draw an action for every context, anew each time: this is how to act with the certified policy."""
        features = self.features.encode(as_table(contexts, self.features.names))
        draws = np.random.default_rng(seed).random(len(features))
        size = max(1, _ENTRIES_AT_ONCE // self.action_count)
        found = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(features), size):
            shares = np.cumsum(self.rule.probabilities(features[start : start + size]), axis=1)
            # The last edge is 1 but for rounding, which must not let a draw past it.
            edges = shares[:, :-1] / shares[:, -1:]
            found.append((draws[start : start + size, None] >= edges).sum(axis=1))
        return self._labels(np.concatenate(found))

    def predict(self, contexts: Any) -> Any:
        """The likeliest action of every context. It carries no certificate: ``sample`` does."""
        warnings.warn(NO_CERTIFICATE, stacklevel=2)
        return self._labels(self.predict_proba(contexts).argmax(axis=1))

    def _labels(self, positions: Any) -> Any:
        return positions if self.actions is None else np.array(self.actions, dtype=object)[positions]

    def as_reader(self) -> "LearnedReader":
        return LearnedReader(self)

    def tensors(self) -> dict[str, Any]:
        rule = self.rule
        if isinstance(rule, GaussianRule):
            return {"means": rule.means, "deviation": rule.deviation, "prior": rule.prior}
        if isinstance(rule, SoftmaxRule):
            return {"weights": rule.weights}
        if isinstance(rule, ItemRule):
            return {"weights": rule.weights, "embeddings": rule.embeddings}
        return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in rule.module.state_dict().items()}

    def describe(self) -> dict[str, Any]:
        return {"kind": "learned", "name": self.kind, "mark": files.digest(self.tensors())[:32]}

    @property
    def kind(self) -> str:
        kinds = {GaussianRule: "gaussian", SoftmaxRule: "softmax", ModuleRule: "module", ItemRule: "items"}
        return kinds[type(self.rule)]

    def save(self, path: str | Path) -> None:
        """One file with the numbers, the certificate and all it takes to use the policy again."""
        content = {
            "kind": self.kind, "features": self.features.describe(), "action_count": self.action_count,
            "actions": None if self.actions is None else list(self.actions),
            "learned_from": [[one.rounds, str(one.total)] for one in self.learned_from],
            "certificate": None if self.certificate is None else dict(self.certificate.content), "asked": dict(self.asked),
        }  # fmt: skip
        files.write(path, self.tensors(), content)

    @classmethod
    def load(cls, path: str | Path, *, module: Any = None) -> "LearnedPolicy":
        """Read a policy back; one made of a torch module of your own takes that module again, for its shape."""
        tensors, content = files.read(path)
        try:
            stated, features = content["certificate"], Features.from_description(content["features"])
            if not isinstance(content["asked"], dict):
                raise TypeError("asked")
            if content["actions"] is not None and len(content["actions"]) != int(content["action_count"]):
                raise ValueError("it has not as many labels as actions")
            return cls(
                _rule(content["kind"], tensors, module, (int(content["action_count"]), features.size)),
                features,
                None if content["actions"] is None else tuple(content["actions"]),
                int(content["action_count"]),
                tuple(Fingerprint(int(rounds), int(total)) for rounds, total in content["learned_from"]),
                None if stated is None else Certificate.from_content(stated, place=str(path)),
                content["asked"],
            )
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            if isinstance(error, LogsError | UsageError):
                raise
            raise LogsError(f"{path} is damaged and cannot be read as a policy ({error}).") from error


def _rule(kind: str, tensors: Mapping[str, Any], module: Any, shape: tuple[int, int]) -> Rule:
    if kind == "items":
        weights, embeddings = tensors["weights"], tensors["embeddings"]
        shapes = embeddings.ndim == 2 and len(embeddings) == shape[0]
        shapes = shapes and weights.shape == (embeddings.shape[1], shape[1])
        numbers = all(part.dtype == np.float32 and np.isfinite(part).all() for part in (weights, embeddings))
        if not shapes or not numbers:
            raise ValueError("its weights and embeddings should be finite, and fit its actions and features")
        return ItemRule(weights, embeddings)
    if kind in ("gaussian", "softmax"):
        weights = tensors["means" if kind == "gaussian" else "weights"]
        if weights.shape != shape or not np.isfinite(weights).all():
            raise ValueError(f"its weights should be finite and of shape {shape}")
        if kind == "softmax":
            return SoftmaxRule(weights)
        return GaussianRule(weights, tensors["deviation"], tensors["prior"])
    if module is None:
        raise UsageError("this policy is made of a torch module of your own; give one of the same shape in module=.")
    import torch

    try:
        module.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
    except RuntimeError as error:
        raise UsageError(f"the module in module= has another shape than the one that was saved: {error}") from error
    return ModuleRule(module.eval())


def as_table(contexts: Any, names: Sequence[str] | None = None) -> pa.Table:
    """Contexts as a table: a frame with these columns, or a matrix with as many; x0, x1, ... where they have no names."""
    if isinstance(contexts, pa.Table | pa.RecordBatch):
        return contexts
    import narwhals as nw

    try:
        if isinstance(contexts, Mapping):
            return pa.table(dict(contexts))
        if hasattr(contexts, "columns"):
            return nw.from_native(contexts, eager_only=True).to_arrow()
        matrix = np.asarray(contexts)
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or (names is not None and matrix.shape[1] != len(names)):
            wanted = "" if names is None else f" with {len(names)} columns"
            raise UsageError(
                f"contexts must be a frame, or a matrix of numbers{wanted}, but are of shape {matrix.shape} and type "
                f"{matrix.dtype}."
            )
        found = [f"x{k}" for k in range(matrix.shape[1])] if names is None else names
        return pa.table({name: matrix[:, k] for k, name in enumerate(found)})
    except (pa.ArrowException, nw.exceptions.NarwhalsError, TypeError) as error:
        raise UsageError(f"the contexts cannot be read as a table: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class LearnedReader:
    """Its probabilities at the rounds of a log, of which it may have seen none."""

    learned: LearnedPolicy
    _checked: list[Logs] = field(default_factory=list)
    """Kept themselves: the number of a log that is gone may be given to another."""

    def needs(self, logs: Logs) -> Needs:
        require_action(logs, "a learned policy")
        if isinstance(self.learned.rule, ItemRule):
            require_action_count(logs, "a policy over items")
        logs.require_columns(self.learned.features.names, role="a context of the learned policy")
        if (
            logs.declaration.actions is not None
            and self.learned.actions is not None
            and logs.declaration.actions != self.learned.actions
        ):
            raise UsageError(
                f"the policy was learned for the actions {list(self.learned.actions)[:10]}, in this order; declare them so."
            )
        if not any(one is logs for one in self._checked):
            if decided_fingerprint(logs) in self.learned.learned_from:
                raise UsageError(LEARNED_FROM)
            self._checked.append(logs)
        return Needs(handed_on=self.learned.features.names)

    def read(self, rounds: Rounds, subject: str) -> Singles | Vectors:
        encoded = self.learned.features.encode(rounds.handed_on(self.learned.features.names))
        rule = self.learned.rule
        if isinstance(rule, ItemRule):
            assert rounds.action is not None
            counts = action_counts(rounds)
            rounds.refuse(subject, faults.OTHER_ITEMS, counts != self.learned.action_count, counts)
            # What is no position among them was refused; any item stands for it.
            action = np.clip(rounds.action, 0, self.learned.action_count - 1)
            return kept(rounds, rule.logged(encoded, action), subject)
        return kept(rounds, rule.probabilities(encoded), subject)

    def describe(self) -> dict[str, Any]:
        return self.learned.describe()

    def judged(self, logs: Logs) -> Logs:
        """The rounds that were held out to judge it, where these are all."""
        first, last = self.learned.asked.get("judged", (0, 0))
        return logs.part(first, last) if last and logs.count() == last else logs

    def certify(
        self, logs: Logs, options: Mapping[str, Any], *, control: Any, progress: Callable[[int], None] | None
    ) -> Guarantee:
        """Compute the certificate of the learning anew, from the rounds it was made of."""
        from surelift.learning.guarantee import guarantee_of

        return guarantee_of(self.learned, logs, options, control=control, progress=progress)
