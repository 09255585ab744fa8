"""The propensity slot, where production's whole distribution over the actions is logged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.arrays import FloatArray, IntArray
from surelift.errors import UsageError
from surelift.logs import faults
from surelift.logs.decisions import Decisions
from surelift.logs.embeddings import ActionKinds, Embedding, Known, embedding_from
from surelift.logs.fingerprint import Stage
from surelift.logs.functions import ask
from surelift.logs.rows import Rows
from surelift.traits.propensity import Propensity
from surelift.traits.trait import given, read_back, texts


def an_embedding(name: str, value: Any) -> Embedding:
    embedding = read_back(name, "embedding", embedding_from, value) if isinstance(value, Mapping) else value
    if not isinstance(embedding, ActionKinds | Known):
        raise UsageError(f"embedding= must come from surelift.embeddings, but is a {type(value).__name__}.")
    return embedding


@dataclass(frozen=True, kw_only=True)
class Distribution(Propensity):
    """The vector says what the propensity is; where that is recorded too, the two are held against each other."""

    named_by = ("logging", "embedding")
    logging: str | tuple[str, ...] = given(
        "Production's whole distribution: a list column, or one column per action.", "COL[,COL...]", texts,
        read="columns", role="logging", array=True, feature="distributions",
    )  # fmt: skip
    embedding: Embedding | None = given(
        "Weights kinds of actions instead of single ones.", "", an_embedding, read="", feature="embedding"
    )
    refuses: ClassVar[Mapping[str, str]] = {
        "density": "density=True is for continuous actions; a vector over actions holds probabilities."
    }
    is_recorded = False

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if self.logging is None:
            yield "an embedding needs production's full distribution over the actions, in logging=."
        if not self.logging:
            yield "logging= names no column; give a column of vectors, or a list with one column per action."
        if self.action is None:
            yield (
                "logging= gives a vector over actions, so action= must name the column of the logged action: its position "
                "in the vector, counted from 0, or a label declared in actions=[...]."
            )
        if self.actions is not None and isinstance(self.logging, tuple) and len(self.logging) != len(self.actions):
            yield f"logging= names {len(self.logging)} columns, but actions= lists {len(self.actions)} labels."

    def derive(self) -> None:
        super().derive()
        if self.embedding is not None:
            named = () if self.embedding.column is None else (("the embedding", self.embedding.column),)
            vars(self).update(
                columns=(*self.columns, *named), assumes=(*self.assumes, *self.embedding.assumes),
                asks_contexts=isinstance(self.embedding, Known) and self.embedding.by_context,
            )  # fmt: skip

    def decisions(self, rows: Rows) -> Decisions:
        decisions = super().decisions(rows)
        return decisions if self.embedding is None else _by_embedding(decisions, self.embedding)

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        subject = f"logging {self.logging!r}" if isinstance(self.logging, str) else "logging"
        whole = rows.vectors(self.logging, subject)
        decisions.logging = vectors = decisions.check_distribution(whole, subject)
        decisions.shares = whole.normalised(only_down=False)
        in_vector = vectors.at(decisions.taken)
        # A vector that sums to less than 1 may understate its entries by that much.
        short = np.clip(vectors.sums(), 0.5, 1.0)
        if self.propensity is None and self.log_propensity is None:
            rows.refuse("propensity, the entry of logging= at action=", faults.PROPENSITY, in_vector <= 0, in_vector)
            return np.asarray(in_vector / short)
        values, tolerance, subject = self.recorded(rows)
        tolerance = max(tolerance, vectors.tolerance)
        with np.errstate(invalid="ignore", over="ignore"):
            differs = ~(np.abs(in_vector - values) <= tolerance * np.maximum(in_vector, values))
            rows.refuse(subject, faults.VECTOR_PROPENSITY, rows.usable & differs, values)
            # The larger: too small a weight never breaks a lower bound.
            return np.fmax(values, in_vector) / short


def _by_embedding(decisions: Decisions, embedding: Embedding) -> Decisions:
    """The same decisions with an embedding in the place of each action."""
    rows, logging, shares = decisions.rows, decisions.logging, decisions.shares
    assert logging is not None
    assert shares is not None
    if rows.tallies:
        return decisions
    chances: FloatArray | None = None  # p(e|x, a), where an action has not one embedding alone
    if isinstance(embedding, ActionKinds):
        came = embedding.logged(decisions.taken)
    else:
        chances = (
            ask(embedding.chances, rows, rows.logs.handed_on(), "the embedding function")
            if embedding.by_context
            else embedding.chances(None)
        )
        came = _came(decisions, embedding.column, chances)
    marginal = embedding.of(logging, chances)
    rows.refuse("the embedding that came", faults.DENSITY, rows.usable & ~(marginal.at(came) > 0.0), marginal.at(came))
    return Decisions(
        rows,
        # A vector that sums to less than 1 may understate its entries by as much.
        marginal.at(came) / np.clip(logging.sums(), 0.5, 1.0),
        action=came, logging=marginal, shares=embedding.of(shares, chances), labels=decisions.labels,
        subject=decisions.subject, embed=lambda vectors: embedding.of(vectors, chances), by_action=decisions,
    )  # fmt: skip


def _came(decisions: Decisions, column: str, chances: FloatArray) -> IntArray:
    """The embedding of each logged action, as it was recorded."""
    rows, subject = decisions.rows, f"embedding {column!r}"
    values, _ = rows.numbers(column, subject, Stage.EMBEDDING)
    actions, count = chances.shape[-2:]
    whole = (values == np.floor(values)) & (values >= 0) & (values < count)
    rows.refuse(subject, faults.ACTION_POSITION, rows.usable & ~whole, values)
    came = np.where(whole, values, 0.0).astype(np.int64)
    taken = np.clip(decisions.taken, 0, actions - 1)
    # A function of the batch that gives another number of matrices is told so where they are added up.
    places = np.arange(rows.size) % len(chances)
    possible = (chances[taken, came] if chances.ndim == 2 else chances[places, taken, came]) > 0.0
    rows.refuse(subject, faults.EMBEDDING, rows.usable & ~possible, values)
    return came
