"""From the rounds of one batch to their sums: every statistic of a plan, in every group of its key."""

from collections.abc import Mapping, Sequence
from typing import Any

from surelift.batch import LARGEST_WEIGHT, Batch
from surelift.kernels.loop import add_up
from surelift.logs.fingerprint import Fingerprint
from surelift.statistics.groups import Groups, groups_of
from surelift.statistics.looped import Looped, program_of
from surelift.statistics.plan import Plan, Request
from surelift.statistics.sums import Sums


def accumulate(batch: Batch, plan: Plan) -> Sums:
    """A batch with faults adds nothing but their count, and will be refused."""
    _ = batch.identified
    groups = {key: groups_of(key, batch) for key in plan.keys}
    if plan.one_pass is not None and batch.fit and (quick := _plain(batch, plan, *plan.one_pass, groups)):
        return quick
    batch.read()
    if not batch.fit:
        return unfit(batch, plan)
    states: dict[Request, Any] = dict.fromkeys(plan.requests)
    for requests in plan.shared:
        batch.outcome, of_key = requests[0].outcome, groups[requests[0].key]
        found = type(requests[0].statistic).of_all([request.statistic for request in requests], batch, of_key)
        for request, of_request in zip(requests, found, strict=True):
            states[request] = dict(zip(of_key.values, of_request, strict=True))
    return _sums(batch, plan, states, batch.rows.hashes.fingerprint())


def _plain(
    batch: Batch, plan: Plan, looped: Sequence[Request], besides: Sequence[Request], groups: Mapping[Any, Groups]
) -> Sums | None:  # fmt: skip
    """In one pass over plain columns; None where they have to be looked at more closely."""
    of_key = groups[looped[0].key]
    statistics = tuple(request.statistic for request in looped if isinstance(request.statistic, Looped))
    program = program_of(statistics, of_key.codes is None and batch.plainly_counted)
    rows = program.plain(batch)
    if rows is None or not batch.fit or not (batch.scale is None or (batch.scale <= LARGEST_WEIGHT).all()):
        return None
    sums = add_up(program.plan, rows, program.units(batch, of_key))
    if sums is None or not (sums.moments[:, :, 2] <= LARGEST_WEIGHT).all():
        return None
    found = program.states(statistics, batch, of_key, sums)
    states: dict[Request, Any] = dict.fromkeys(plan.requests)
    for request, of_request in zip(looped, found, strict=True):
        states[request] = dict(zip(of_key.values, of_request, strict=True))
    for request in besides:
        of_besides = groups[request.key]
        states[request] = dict(zip(of_besides.values, request.statistic.of(batch, of_besides), strict=True))
    assert sums.hashes is not None
    return _sums(batch, plan, states, Fingerprint.of_halves(batch.size, tuple(sums.hashes.tolist())))


def _sums(batch: Batch, plan: Plan, states: dict[Request, Any], fingerprint: Fingerprint) -> Sums:
    table = batch.rows.batch
    return Sums(batch.size, states, {}, fingerprint, table.left_out, table.excluded, plan.asked)


def unfit(batch: Batch, plan: Plan) -> Sums:
    states: dict[Request, Any] = {request: {} for request in plan.requests}
    table = batch.rows.batch
    return Sums(
        batch.size,
        states,
        batch.rows.faults.tallies,
        left_out=table.left_out,
        excluded=table.excluded,
        asked=plan.asked,
    )
