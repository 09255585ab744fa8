"""surelift monitor: the same answer, as the log grows."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from surelift.cli.flag import COUNTING, QUESTION, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import MethodFlags, OutputFlags, OverFlags, SegmentFlags, by_columns
from surelift.cli.outcomes import OutcomeFlag, parse_outcomes
from surelift.cli.output import deliver, require_writable
from surelift.cli.policy_flags import PolicyFlags
from surelift.cli.progress import progress
from surelift.cli.terminal import say
from surelift.decisions.monitor import Monitor
from surelift.errors import LogsError, UsageError
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.sources.places import expand
from surelift.logs.sources.stores import refuse_remote
from surelift.logs.sources.streams import StreamKind, read_stream
from surelift.results.evaluation import Evaluation
from surelift.saving import exists

Tell = Callable[[int], None] | None


def monitor(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE", help="Files, globs in quotes or folders; new files are counted in the order of their names."
        ),
    ] = None,
    /,
    *,
    state: Annotated[str | None, flag("FILE", "Keeps what was counted; created by the first call.", group=COUNTING)] = None,
    stdin: Annotated[
        StreamKind | None,
        flag("csv|jsonl|arrow", "Read rounds from standard input.", show_choices=False, group=COUNTING),
    ] = None,
    skip: Annotated[
        bool, flag("", "The stream starts again from its first row: skip the rows that were counted.", group=COUNTING)
    ] = False,
    append: Annotated[bool, flag("", "The stream continues where the last one ended.", group=COUNTING)] = False,
    merge: Annotated[
        list[str] | None,
        flag("FILE", "State of a shard to add up, with --state to keep the total there. Repeatable.", group=COUNTING),
    ] = None,
    name: Annotated[
        str | None, flag("NAME", "Name of this shard, if several are monitored and merged.", group=COUNTING)
    ] = None,
    about: Annotated[
        Literal["compare", "evaluate"],
        Parameter(help="Improvements, or values.", metavar="compare|evaluate", show_choices=False, group=QUESTION),
    ] = "compare",
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    question: OverFlags = OverFlags(),
    method: MethodFlags = MethodFlags(),
    segments: SegmentFlags = SegmentFlags(),
    outcome: OutcomeFlag = None,
    output: OutputFlags = OutputFlags(),
) -> int:
    flags = {**question.arguments(), **method.arguments(), **segments.arguments()}
    flags |= {} if segments.by is None else {"by": by_columns(segments.by, ())}
    flags |= {"outcomes": parse_outcomes(outcome)} if outcome else {}
    asked = (about, log, policies, question, method, segments, outcome) != (*_NOTHING_ASKED, None)
    if skip and append:
        raise UsageError("--skip and --append exclude each other: the stream starts again, or it goes on.")
    if (skip or append) and stdin is None:
        raise UsageError("--skip and --append are about --stdin; files that were counted are known by themselves.")
    if log.separator is not None or log.encoding is not None:
        raise UsageError(
            "a monitor takes neither --separator nor --encoding: files tell their separator by their first lines, a stream "
            "is separated by commas, and both are UTF-8; convert them."
        )
    if merge:
        if sources or stdin is not None or name is not None or asked:
            raise UsageError("--merge adds up states and reads nothing else: name each with a --merge of its own.")
        if state in merge:
            raise UsageError(f"--state {state} is one of the shards, which would be lost; name another file.")
        require_writable(merge, PolicyFlags(), state, output.certificate, output.html, output.csv)
        watch = reduce(Monitor.__add__, [Monitor.load(path) for path in merge])
        if state is not None:
            watch.save(state)
        return _tell(watch, output)
    if state is None:
        raise UsageError("say --state FILE, where what was counted is kept from call to call.")
    if (stdin is None) == (not sources):
        raise UsageError("name the sources to read, or say --stdin csv, jsonl or arrow.")
    require_writable(sources or [], policies, state, output.certificate, output.html, output.csv)
    with _alone(state), progress() as tell:
        watch = _open(state, name, about, log, policies, flags)
        if stdin is None:
            _count_files(watch, sources or [], state, log, tell)
        else:
            _count_stream(watch, stdin, skip=skip, append=append, state=state, as_of=log.value("as_of"), tell=tell)
    return _tell(watch, output)


def _tell(watch: Monitor, output: OutputFlags) -> int:
    answer = watch.answer()
    batches = sum(shard.sequence for shard in watch.ledgers.values())
    say(f"{watch.rounds:,} {watch.counted} so far, in {batches:,} {'batch' if batches == 1 else 'batches'}")
    deliver(answer, output, LogFlags(), PolicyFlags(), watch)
    return 0 if isinstance(answer, Evaluation) or answer.certified else 3


_NOTHING_ASKED = ("compare", LogFlags(), PolicyFlags(), OverFlags(), MethodFlags(), SegmentFlags())


@contextmanager
def _alone(state: str) -> Iterator[None]:
    """Two processes at once would overwrite each other's counts; the lock ends with the process that holds it."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = Path(state).resolve()
    try:
        file = open(path.parent / f".{path.name[:100]}.lock", "w")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"the state cannot be kept in {state}: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"another process is at work on {state}; let it finish first.") from error
        yield


def _open(
    state: str, name: str | None, about: Literal["compare", "evaluate"], log: LogFlags, policies: PolicyFlags,
    flags: Mapping[str, Any],
) -> Monitor:  # fmt: skip
    named, about_logs = policies.policies(), log.without("rounds_before_sampling", "as_of")
    asked = None
    if named:
        asked = Monitor(named, question=about, name=name or "", **flags, **about_logs.declared())
    if not exists(state):
        if asked is None:
            raise UsageError(f"{state} does not exist yet, so the question must be asked: --policy, --reward, --propensity.")
        return asked
    kept = Monitor.load(state)
    if asked is not None and not asked.asks_the_same(kept):
        raise UsageError(f"{state} keeps the answer to another question; leave the flags out, or name another state.")
    untouched = {**OverFlags().arguments(), **MethodFlags().arguments(), **SegmentFlags().arguments()}
    if asked is None and (about_logs, flags, about) != (LogFlags(), untouched, "compare"):
        told = "leave the flags about it out, or repeat them all, --policy included"
        raise UsageError(f"{state} keeps its question; {told}.")
    if name is not None and name != kept.name:
        raise UsageError(f"{state} is of shard {kept.name!r}, not {name!r}.")
    return kept


def _count_files(watch: Monitor, sources: list[str], state: str, log: LogFlags, tell: Tell) -> None:
    before = log.value("rounds_before_sampling")
    for source in sources:
        refuse_remote(source)
    paths = [path for source in sources for path in expand(source)]
    new = watch.new_files(paths)
    known = len({Path(path).resolve() for path in paths}) - len(new)
    say(f"{len(new):,} new {'file' if len(new) == 1 else 'files'}, {known:,} counted before")
    if before is not None and len(new) > 1:
        raise UsageError("--rounds-before-sampling is of one file, but several are new; count them one by one.")
    for done, path in enumerate(new):
        try:
            watch.update_from(path, rounds_before_sampling=before, as_of=log.value("as_of"), progress=tell)
        except LogsError as error:
            raise LogsError(f"{path}: {error}\nIt was not counted; the {done:,} new files before it were.") from error
        watch.save(state)


def _count_stream(
    watch: Monitor, kind: StreamKind, *, skip: bool, append: bool, state: str, as_of: str | None, tell: Tell
) -> None:
    done = watch.ledgers[watch.name].rows
    if done and not skip and not append:
        raise UsageError(
            f"{done:,} rows were counted before: say --skip if the stream starts anew from its first row, or --append if it "
            "goes on where it ended."
        )
    known, skipped = watch.fingerprint, Fingerprint()
    cluster = next((name for name, _ in watch.declaration.unit.ids()), None)

    def refuse_another() -> None:
        if skip and skipped != known:
            raise LogsError(f"the first {done:,} rows of the stream are not those that were counted: it is another one.")

    try:
        for chunk in read_stream(sys.stdin.buffer, kind, skip=done if skip else 0, cluster=cluster):
            if chunk.skipped:
                skipped += watch.fingerprint_of(chunk)
                continue
            refuse_another()
            watch.update(chunk, as_of=as_of)
            watch.save(state)
            if tell is not None:
                tell(watch.ledgers[watch.name].rows)
        refuse_another()
    except LogsError as error:
        counted = watch.ledgers[watch.name].rows
        raise LogsError(f"{error}\n{counted:,} rows are counted; mend the stream and go on with --skip.") from error
