"""surelift monitor: the same answer, as the log grows."""

import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.options import OUTPUT, QUESTION, LogFlags, MethodFlags, OutputFlags, OverFlags, PolicyFlags, flag
from surelift.cli.output import deliver, progress, say
from surelift.decisions.evaluation import Evaluation
from surelift.decisions.monitor import Monitor
from surelift.errors import UsageError
from surelift.logs.files import expand
from surelift.logs.streams import StreamKind, read_stream


def monitor(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE", help="Files, globs in quotes or folders; new ones are counted in the order of their names."
        ),
    ] = None,
    /,
    *,
    state: Annotated[str | None, flag("File that keeps what was counted; it is made at the first call.")] = None,
    stdin: Annotated[
        StreamKind | None, flag("Read rounds from standard input: csv, jsonl or arrow (a stream).")
    ] = None,
    skip: Annotated[
        bool, Parameter(help="The stream starts anew from its first row: skip those that were counted.")
    ] = False,
    merge: Annotated[
        list[str] | None, flag("States of several shards, added up; together with --state they are written there.")
    ] = None,
    name: Annotated[str | None, flag("Name of this shard, where several are monitored and merged.")] = None,
    about: Annotated[
        Literal["compare", "evaluate"], Parameter(help="Improvements, or values.", group=QUESTION)
    ] = "compare",
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    output: Annotated[OutputFlags, Parameter(group=OUTPUT)] = OutputFlags(),
) -> int:
    """Count the rounds that arrived since the last call, and answer from all of them.

    The question is asked once, at the first call; later calls need the state and the sources only. Killed anywhere, the
    next call goes on with no round lost and none counted twice. Exit code 0 when certified, 3 when not.
    """
    if merge:
        watch = reduce(Monitor.__add__, [Monitor.load(path) for path in merge])
        if state is not None:
            watch.save(state)
    else:
        watch = _open(state, name, about, log, policies, question, method)
        if (stdin is None) == (not sources):
            raise UsageError("name the sources to read, or say --stdin csv, jsonl or arrow.")
        with progress() as tell:
            if stdin is None:
                _count_files(watch, sources or [], state, tell)
            else:
                _count_stream(watch, stdin, skip, state, tell)
    answer = watch.answer()
    say(f"{watch.rounds:,} rounds so far, in {sum(shard.sequence for shard in watch.shards.values()):,} batches")
    deliver(answer, output)
    return 0 if isinstance(answer, Evaluation) or answer.certified else 3


def _open(
    state: str | None, name: str | None, about: Literal["compare", "evaluate"], log: LogFlags, policies: PolicyFlags,
    question: OverFlags, method: MethodFlags,
) -> Monitor:  # fmt: skip
    if state is None:
        raise UsageError("say --state FILE, where what was counted is kept from call to call.")
    named = policies.policies()
    asked = None
    if named:
        options = {key: value for key, value in method.arguments().items() if key != "draws"}
        asked = Monitor(named, question=about, name=name or "", **question.arguments(), **options, **log.declared())
    if not Path(state).exists():
        if asked is None:
            raise UsageError(
                f"{state} does not exist yet, so the question must be asked: --policy, --reward, --propensity."
            )
        return asked
    kept = Monitor.load(state)
    if asked is not None and not asked.asks_the_same(kept):
        raise UsageError(f"{state} keeps the answer to another question; leave the flags out, or name another state.")
    if name is not None and name != kept.name:
        raise UsageError(f"{state} is of shard {kept.name!r}, not {name!r}.")
    return kept


def _count_files(watch: Monitor, sources: list[str], state: str | None, tell: Callable[[int], None] | None) -> None:
    for path in watch.new_files([path for source in sources for path in expand(source)]):
        watch.update(path, file=Path(path).name, progress=tell)
        watch.save(str(state))


def _count_stream(
    watch: Monitor, kind: StreamKind, skip: bool, state: str | None, tell: Callable[[int], None] | None
) -> None:
    done = watch.shards[watch.name].rows if skip else 0
    for chunk in read_stream(sys.stdin.buffer, kind, skip=done):
        watch.update(chunk)
        watch.save(str(state))
        if tell is not None:
            tell(watch.shards[watch.name].rows)
