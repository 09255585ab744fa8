"""Exposures of a GrowthBook experiment as ``Logs``: one round per user, whose variation was drawn with known weights."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from surelift.arrays import ArrowColumn, ArrowTable, pc
from surelift.errors import LogsError, UsageError, is_number
from surelift.importers.events import Imported, Range
from surelift.logs.batch import Needs
from surelift.logs.sources.recognise import open_source
from surelift.logs.sources.tables import REMOTE
from surelift.policies.resolve import chosen
from surelift.traits.logs import Logs

DRAWN = (
    "every user's variation was drawn with the weights, the same from the first exposure to the last: none was forced, and "
    "none kept from another phase (sticky bucketing)"
)
_EXPERIMENT, _VARIATION, _TIME = "experiment_id", "variation_id", "timestamp"


def growthbook(
    exposures: Any,
    *,
    weights: Sequence[float] | Mapping[Any, float],
    reward: str,
    experiment: str | None = None,
    user: str = "user_id",
    contexts: Sequence[str] | None = None,
    reward_range: Range = (0, 1),
) -> Imported:
    """The exposures of one experiment, as its assignment query gives them, with what each user earned.

    A user's first exposure counts; the others are counted as left out. Every variation, shown to all, is a candidate
    under its own name.

    Args:
        exposures: A table with the columns ``experiment_id``, ``variation_id``, ``timestamp`` and the user.
        weights: Those of the experiment: a list for the variations 0, 1, ..., or a dict by variation.
        reward: The column of what each user earned.
        experiment: Which experiment, where the table has several.
        user: The column of users.
        contexts: Columns known at the exposure.
        reward_range: What a reward can be.
    """
    shares = _shares(weights)
    added = [f"{kind}_{name}" for kind in ("weight", "all") for name in shares]
    read = _of_experiment(_read(exposures, [user, reward, *(contexts or ())], added), experiment)
    columns = dict(zip(read.column_names, read.columns, strict=True))
    columns |= {_TIME: _moments(read[_TIME]), _VARIATION: pc.cast(read[_VARIATION], pa.string())}
    table = pa.table(columns).sort_by(_TIME)
    variation = table[_VARIATION]
    unknown = pc.invert(pc.is_in(variation, value_set=pa.array(shares, pa.string())))
    _refuse(unknown, table, user, f"a variation that weights= does not name; it names {', '.join(shares)}")
    codes = np.asarray(table[user].combine_chunks().dictionary_encode().indices)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    for column, what in (
        (variation, "another variation than that user's first: weights or seed changed, so keep one phase"),
        (table[reward], f"another {reward!r} than that user's first; give what the user earned in all"),
    ):
        other = column.take(pa.array(first[codes]))
        same = pc.or_(pc.fill_null(pc.equal(column, other), False), pc.and_(pc.is_null(column), pc.is_null(other)))
        _refuse(pc.invert(same), table, user, what)
    kept = table.take(pa.array(np.sort(first)))
    for name, value in zip(added, (*shares.values(), *shares), strict=True):
        kept = kept.append_column(name, pa.repeat(value, len(first)))
    logs = Logs(
        kept, reward=reward, action=_VARIATION, actions=list(shares), logging=[f"weight_{name}" for name in shares],
        contexts=contexts, time=_TIME, id=user, reward_range=reward_range, assumes=[DRAWN],
    )  # fmt: skip
    later = table.num_rows - len(first)
    merged = {"later exposures of a user": later} if later else {}
    return Imported(logs, {name: chosen(f"all_{name}") for name in shares}, merged)


def _shares(weights: Any) -> dict[str, float]:
    shares = weights if isinstance(weights, Mapping) else dict(enumerate(np.atleast_1d(weights).tolist()))
    valid = all(is_number(share) and share >= 0.0 for share in shares.values())
    if not valid or abs(math.fsum(shares.values()) - 1.0) > 1e-6:
        raise UsageError(f"the weights must be the variations' shares, which sum to 1, but are {weights!r}.")
    return {str(name): float(share) for name, share in shares.items()}


def _read(exposures: Any, asked: Sequence[str], added: Sequence[str]) -> ArrowTable:
    source, user, wrong = open_source(exposures), asked[0], ""
    names = tuple(source.column_names())
    if isinstance(source, REMOTE):
        wrong = "exposures are put in order in this process; fetch them first, as with to_pandas()."
    elif absent := [name for name in (_EXPERIMENT, _VARIATION, _TIME, *asked) if name not in names]:
        wrong = f"the exposures have no column {absent[0]!r}; they have {', '.join(names)}."
    elif taken := [name for name in added if name in names]:
        wrong = f"the exposures have a column {taken[0]!r}, which the importer adds; rename it."
    if wrong:
        raise UsageError(wrong)
    # A user's id stays text: as numbers, 01 and 1 would be one user.
    others = tuple(name for name in names if name != user)
    tables = [batch.table for batch in source.batches(Needs(read=(user,), handed_on=others))]
    if not tables:
        raise LogsError("there are no exposures. Nothing was computed.")
    table = pa.concat_tables(tables, promote_options="permissive")
    for name in (_EXPERIMENT, _VARIATION, _TIME, user):
        _refuse(pc.is_null(table[name]), table, user, f"no {name!r}; a round needs it")
    return table


def _of_experiment(table: ArrowTable, experiment: str | None) -> ArrowTable:
    experiments = pc.cast(table[_EXPERIMENT], pa.string())
    found = sorted(pc.unique(experiments).to_pylist())
    if experiment is None and len(found) == 1:
        return table
    if experiment not in found:
        missing = "" if experiment is None else f"there are no exposures of {experiment!r}; "
        raise UsageError(f"{missing}name one, experiment=: {', '.join(found)}.")
    return table.filter(pc.equal(experiments, experiment))


def _moments(times: ArrowColumn) -> ArrowColumn:
    if not (pa.types.is_string(times.type) or pa.types.is_large_string(times.type)):
        return times
    for zone in (None, "UTC"):
        try:
            return pc.cast(times, pa.timestamp("us", zone))
        except pa.ArrowInvalid as error:
            refusal = error
    raise UsageError(f"{_TIME!r} must hold moments, all with a zone or all without: {refusal}")


def _refuse(wrong: Any, table: ArrowTable, user: str, what: str) -> None:
    found = np.asarray(wrong)
    if found.any():
        row = table.slice(int(found.argmax()), 1).to_pylist()[0]
        count, first = f"{found.sum():,} of {len(found):,}", f"{user} {row[user]!r} at {row[_TIME]}"
        raise LogsError(f"{count} exposures have {what}. The first is that of {first}, with {row[_VARIATION]!r}.")
