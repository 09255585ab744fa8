"""surelift simulate: how does each method do on weights like these?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION, WHOLE, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import AnswerFlags, DeltaFlag
from surelift.cli.output import show
from surelift.cli.policy_flags import PolicyFlags, Sources, opened
from surelift.cli.progress import progress
from surelift.decisions.simulate import SEED
from surelift.decisions.simulate import simulate as ask


def simulate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    rounds: Annotated[
        int | None,
        WHOLE,
        flag("N", "Rounds per simulated log; by default as many as in this one, at most 10,000.", group=QUESTION),
    ] = None,
    runs: Annotated[int, WHOLE, Parameter(help="How many logs to simulate.", metavar="N", group=QUESTION)] = 100,
    seed: Annotated[int, WHOLE, Parameter(help="Random seed.", metavar="N", group=QUESTION)] = SEED,
    delta: DeltaFlag = 0.05,
    output: AnswerFlags = AnswerFlags(),
) -> int:
    logs, named = opened(sources, log, policies)
    with progress(logs, unit="simulated logs", total=runs * len(named)) as tell:
        answer = ask(logs, named, delta=delta, rounds=rounds, runs=runs, seed=seed, progress=tell)
    show(answer, json=output.json)
    return 0
