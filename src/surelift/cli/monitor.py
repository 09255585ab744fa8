"""surelift monitor: the same answer, as the log grows."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.flag import COUNTING, QUESTION, Flags, flag, flags, refuse_first
from surelift.cli.log_flags import LogFlags
from surelift.cli.method_flags import MethodFlags
from surelift.cli.output import OutputFlags, deliver, files_of, require_writable
from surelift.cli.policy_flags import InputFlags
from surelift.cli.progress import progress
from surelift.cli.question_flags import OutcomeFlags, OverFlags, SegmentFlags, by_columns
from surelift.cli.terminal import say
from surelift.decisions.monitor import Monitor
from surelift.errors import LogsError, UsageError
from surelift.logs.fingerprint import Fingerprint
from surelift.logs.sources.places import expand
from surelift.logs.sources.stores import refuse_remote
from surelift.logs.sources.streams import StreamKind, read_stream
from surelift.saving import exists

Tell = Callable[[int], None] | None
Question = tuple[Flags, ...]


@flags(COUNTING)
class CountFlags:
    state: str | None = flag("FILE", "Keeps what was counted; created by the first call.")
    stdin: StreamKind | None = flag("csv|jsonl|arrow", "Read rounds from standard input.")
    skip: bool = flag("", "The stream starts again from its first row: skip the rows that were counted.", default=False)
    append: bool = flag("", "The stream continues where the last one ended.", default=False)
    merge: list[str] | None = flag("FILE", "State of a shard to add up, with --state to keep the total there. Repeatable.")
    name: str | None = flag("NAME", "Name of this shard, if several are monitored and merged.")


@flags(QUESTION)
class KindFlags(Flags):
    question: Literal["compare", "evaluate"] = flag(
        "compare|evaluate", "Improvements, or values.", default="compare", name="--about"
    )


# What is asked where no flag says otherwise.
DEFAULTS: Question = (KindFlags(), OverFlags(), MethodFlags(), SegmentFlags(), OutcomeFlags())


def monitor(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE", help="Files, globs in quotes or folders; new files are counted in the order of their names."
        ),
    ] = None,
    /, *, counting: CountFlags = CountFlags(), kind: KindFlags = KindFlags(), inputs: InputFlags = InputFlags(),
    over: OverFlags = OverFlags(), method: MethodFlags = MethodFlags(), segments: SegmentFlags = SegmentFlags(),
    outcomes: OutcomeFlags = OutcomeFlags(), output: OutputFlags = OutputFlags(),
) -> int:  # fmt: skip
    log, question = inputs.log, (kind, over, method, segments, outcomes)
    state, stdin, again, shards = counting.state, counting.stdin, counting.skip or counting.append, counting.merge or []
    reads = (sources, stdin, counting.name, inputs, *question) != (None, None, None, InputFlags(), *DEFAULTS)
    refusals = {
        "--skip and --append exclude each other: the stream starts again, or it goes on.": counting.skip and counting.append,
        "--skip and --append are about --stdin; files that were counted are known by themselves.": again and not stdin,
        "a monitor takes neither --separator nor --encoding: files tell their separator by their first lines, a stream is "
        "separated by commas, and both are UTF-8; convert them.": {log.separator, log.encoding} != {None},
        "--merge adds up states and reads nothing else: name each with a --merge of its own.": shards and reads,
        f"--state {state} is one of the shards, which would be lost; name another file.": state in shards,
        "say --state FILE, where what was counted is kept from call to call.": not shards and state is None,
        "name the sources to read, or say --stdin csv, jsonl or arrow.": not shards and (stdin is None) == (not sources),
    }
    refuse_first(refusals)
    require_writable(shards or sources or [], inputs, state, *files_of(output))
    if shards:
        watch = reduce(Monitor.__add__, [Monitor.load(path) for path in shards])
        if state is not None:
            watch.save(state)
    else:
        assert state is not None
        with _alone(state), progress() as tell:
            watch = _open(state, counting.name, inputs, question)
            if stdin is None:
                _count_files(watch, sources or [], state, log, tell)
            else:
                _count_stream(watch, stdin, counting, state, log.value("as_of"), tell)
    answer = watch.answer()
    batches = sum(shard.sequence for shard in watch.ledgers.values())
    say(f"{watch.rounds:,} {watch.counted} so far, in {batches:,} {'batch' if batches == 1 else 'batches'}")
    return deliver(answer, output, InputFlags(), watch)


@contextmanager
def _alone(state: str) -> Iterator[None]:
    """Two processes at once would overwrite each other's counts; the lock ends with the process that holds it."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = Path(state).resolve()
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path.parent / f".{path.name[:100]}.lock", "w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another process is at work on {state}; let it finish first.") from error
        except OSError as error:
            raise UsageError(f"the state cannot be kept in {state}: {error.strerror}.") from error
        yield


def _open(state: str, name: str | None, inputs: InputFlags, question: Question) -> Monitor:
    log = replace(inputs.log, **dict.fromkeys(("rounds_before_sampling", "as_of")))
    named = inputs.policies.policies()
    asked: Monitor | None = None
    if named:
        # Of flags that were not given, the defaults are the monitor's: values have no margin to be told.
        pairs = [pair for flags in question for pair in flags.arguments().items()]
        defaults = dict(pair for flags in DEFAULTS for pair in flags.arguments().items())
        arguments = {option: value for option, value in pairs if value != defaults.get(option)}
        if "by" in arguments:
            arguments["by"] = by_columns(arguments["by"], ())
        asked = Monitor(named, name=name or "", **arguments, **log.declared())
    kept = Monitor.load(state) if exists(state) else asked
    if kept is None:
        raise UsageError(f"{state} does not exist yet, so the question must be asked: --policy, --reward, --propensity.")
    refusals = {
        f"{state} keeps the answer to another question; leave the flags out, or name another state.": (
            kept is not asked and asked is not None and not asked.asks_the_same(kept)
        ),
        f"{state} keeps its question; leave the flags about it out, or repeat them all, --policy included.": (
            asked is None and (log, *question) != (LogFlags(), *DEFAULTS)
        ),
        f"{state} is of shard {kept.name!r}, not {name!r}.": kept is not asked and name not in (None, kept.name),
    }
    refuse_first(refusals)
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


def _count_stream(watch: Monitor, kind: StreamKind, counting: CountFlags, state: str, as_of: str | None, tell: Tell) -> None:
    done = watch.ledgers[watch.name].rows
    if done and not counting.skip and not counting.append:
        raise UsageError(
            f"{done:,} rows were counted before: say --skip if the stream starts anew from its first row, or --append if it "
            "goes on where it ended."
        )
    known, skipped = watch.fingerprint, Fingerprint()

    def refuse_another() -> None:
        if counting.skip and skipped != known:
            raise LogsError(f"the first {done:,} rows of the stream are not those that were counted: it is another one.")

    try:
        skip = done if counting.skip else 0
        for chunk in read_stream(sys.stdin.buffer, kind, skip=skip, cluster=watch.declaration.unit.column):
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
