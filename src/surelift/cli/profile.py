"""surelift profile: what would each smoothing alone have given?"""

from surelift.cli.log_flags import LogFlags
from surelift.cli.options import ByFlag, DeltaFlag, FileFlags, GridFlag, OverFlag, baseline
from surelift.cli.output import asked, deliver
from surelift.cli.policy_flags import PolicyFlags, Sources


def profile(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    over: OverFlag = "production",
    by: ByFlag = None,
    delta: DeltaFlag = 0.05,
    grid: GridFlag = "anytime",
    output: FileFlags = FileFlags(),
) -> int:
    from surelift.bounds import mixture
    from surelift.decisions.profile import profile as ask

    arguments = {"over": baseline(over), "delta": delta, "method": mixture(grid=grid), "by": by}
    deliver(asked(ask, sources, log, policies, output, alone=True, **arguments), output, log, policies)
    return 0
