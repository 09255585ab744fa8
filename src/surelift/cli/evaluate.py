"""surelift evaluate: what is each policy worth?"""

from surelift.cli.options import (
    LogFlags,
    MethodFlags,
    MomentFlags,
    OutputFlags,
    PolicyFlags,
    SegmentFlags,
    SidesFlag,
    Sources,
    again,
    opened,
)
from surelift.cli.output import deliver, progress, require_folder
from surelift.decisions.evaluate import evaluate as ask


def evaluate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    method: MethodFlags = MethodFlags(),
    moments: MomentFlags = MomentFlags(),
    sides: SidesFlag = "both",
    segments: SegmentFlags = SegmentFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    """What is each policy worth? An estimate, a lower and an upper bound, all holding at once."""
    logs, named = opened(sources, log, policies)
    require_folder(output.certificate, output.html, output.csv)
    with progress(logs) as tell:
        answer = ask(
            logs, named, sides=sides, **segments.arguments(), **method.arguments(**moments.arguments()), progress=tell
        )
    deliver(answer, output, again=again(log, policies))
    return 0
