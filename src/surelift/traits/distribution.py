"""The propensity slot, where production's whole distribution over the actions is logged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from surelift.traits.propensity import BOTH, Propensity, checked
from surelift.traits.trait import column, given


def one_or_more_columns(name: str, columns: Any) -> str | tuple[str, ...]:
    if isinstance(columns, str):
        return columns
    if isinstance(columns, Sequence) and columns:
        return tuple(columns)
    raise UsageError(f"logging must be a column, or a list with one column per action, but is a {type(columns).__name__}.")


def an_embedding(name: str, value: Any) -> Embedding:
    try:
        embedding = embedding_from(value) if isinstance(value, Mapping) else value
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"embedding= is not a valid embedding ({error}).") from error
    if not isinstance(embedding, ActionKinds | Known):
        raise UsageError(f"embedding= must come from surelift.embeddings, but is a {type(value).__name__}.")
    return embedding


@dataclass(frozen=True, kw_only=True)
class Distribution(Propensity):
    """The vector says what the propensity is; where that is recorded too, the two are held against each other."""

    logging: str | tuple[str, ...] | None = given(
        "Production's whole distribution: a list column, or one column per action.", "COL[,COL...]", one_or_more_columns,
        read="columns", role="logging", array=True, feature="distributions",
    )  # fmt: skip
    propensity: str | None = column("propensity", "Column of production's probability of the logged action.", hidden=True)
    log_propensity: str | None = column("log_propensity", "Its natural logarithm, instead.", rare=True, hidden=True)
    embedding: Embedding | None = given(
        "Weights kinds of actions instead of single ones.", "", an_embedding, read="", feature="embedding"
    )
    named_by = ("logging",)
    refuses: ClassVar[Mapping[str, str]] = {
        "density": "density=True is for continuous actions; a vector over actions holds probabilities."
    }

    def check(self) -> None:
        super().check()
        if self.propensity is not None and self.log_propensity is not None:
            raise UsageError(BOTH)
        if self.action is None:
            raise UsageError(
                "logging= gives a vector over actions, so action= must name the column of the logged action: its "
                "position in the vector, counted from 0, or a label declared in actions=[...]."
            )
        if self.actions is not None and isinstance(self.logging, tuple) and len(self.logging) != len(self.actions):
            raise UsageError(f"logging= names {len(self.logging)} columns, but actions= lists {len(self.actions)} labels.")
        by_context = isinstance(self.embedding, Known) and self.embedding.by_context
        object.__setattr__(self, "asks_contexts", by_context)

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        of_embedding = None if self.embedding is None else self.embedding.column
        return [*super().columns, *([] if of_embedding is None else [("the embedding", of_embedding)])]

    @cached_property
    def assumes(self) -> tuple[str, ...]:
        return (*super().assumes, *(() if self.embedding is None else self.embedding.assumes))

    def decisions(self, rows: Rows) -> Decisions:
        decisions = self._actions(rows)
        subject = f"logging {self.logging!r}" if isinstance(self.logging, str) else "logging"
        assert self.logging is not None
        vectors = rows.vectors(self.logging, subject)
        decisions.logging = decisions.check_distribution(vectors, subject)
        decisions.propensity = self.read(rows, decisions)
        decisions.shares = vectors.normalised(only_down=False)
        return decisions if self.embedding is None else _by_embedding(decisions, self.embedding)

    def read(self, rows: Rows, decisions: Decisions) -> FloatArray:
        vectors = decisions.logging
        assert vectors is not None
        in_vector = vectors.at(decisions.taken)
        # A vector that sums to less than 1 may understate its entries by that much.
        short = np.clip(vectors.sums(), 0.5, 1.0)
        if self.propensity is None and self.log_propensity is None:
            rows.refuse("propensity, the entry of logging= at action=", faults.PROPENSITY, in_vector <= 0, in_vector)
            return np.asarray(in_vector / short)
        values, tolerance, subject = self._recorded(rows)
        tolerance = max(tolerance, vectors.tolerance)
        with np.errstate(invalid="ignore"):
            differs = ~(np.abs(in_vector - values) <= tolerance * np.maximum(in_vector, values))
        rows.refuse(subject, faults.VECTOR_PROPENSITY, rows.usable & differs, values)
        with np.errstate(over="ignore"):
            # The larger: too small a weight never breaks a lower bound.
            return np.fmax(values, in_vector) / short

    def _recorded(self, rows: Rows) -> tuple[FloatArray, float, str]:
        if self.propensity is not None:
            subject = f"propensity {self.propensity!r}"
            values, tolerance = rows.numbers(self.propensity, subject)
            return checked(rows, values, tolerance, subject, faults.PROPENSITY, values, 1.0), tolerance, subject
        subject = f"log_propensity {self.log_propensity!r}"
        logarithms, tolerance = rows.numbers(str(self.log_propensity), subject)
        with np.errstate(over="ignore"):
            values = np.exp(logarithms)
        return checked(rows, values, tolerance, subject, faults.LOG_PROPENSITY, logarithms, 1.0), tolerance, subject


def _by_embedding(decisions: Decisions, embedding: Embedding) -> Decisions:
    """The same decisions with an embedding in the place of each action."""
    rows, logging, shares = decisions.rows, decisions.logging, decisions.shares
    assert logging is not None
    assert shares is not None
    if rows.tallies:
        return decisions
    chances = _chances(rows, embedding)
    came = _came(decisions, embedding, chances)
    marginal = embedding.of(logging, chances)
    rows.refuse("the embedding that came", faults.DENSITY, rows.usable & ~(marginal.at(came) > 0.0), marginal.at(came))
    return Decisions(
        rows,
        # A vector that sums to less than 1 may understate its entries by as much.
        marginal.at(came) / np.clip(logging.sums(), 0.5, 1.0),
        action=came, logging=marginal, shares=embedding.of(shares, chances), labels=decisions.labels,
        subject=decisions.subject, embed=lambda vectors: embedding.of(vectors, chances), by_action=decisions,
    )  # fmt: skip


def _chances(rows: Rows, embedding: Embedding) -> FloatArray | None:
    """p(e|x, a), where an action has not one embedding alone."""
    if not isinstance(embedding, Known):
        return None
    if not embedding.by_context:
        return embedding.chances(None)
    chances: FloatArray = ask(embedding.chances, rows, rows.logs.handed_on(), "the embedding function")
    return chances


def _came(decisions: Decisions, embedding: Embedding, chances: FloatArray | None) -> IntArray:
    """The embedding of each logged action."""
    if isinstance(embedding, ActionKinds):
        return embedding.logged(decisions.taken)
    assert chances is not None
    rows, subject = decisions.rows, f"embedding {embedding.column!r}"
    values, _ = rows.numbers(embedding.column, subject, Stage.EMBEDDING)
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
