"""surelift simulate: how does each method do on weights like these?"""

from typing import Annotated

from cyclopts import Parameter

from surelift.cli.flag import QUESTION, WHOLE, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import JsonFlag, PolicyFlags, Sources
from surelift.cli.output import asked, show
from surelift.decisions.simulate import SEED
from surelift.decisions.simulate import simulate as ask


def simulate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    delta: Annotated[float, Parameter(help="The probability of error.", group=QUESTION)] = 0.05,
    rounds: Annotated[
        int | None, WHOLE, flag("Rounds per simulated log; by default as many as in this one, at most 10,000.")
    ] = None,
    runs: Annotated[int, WHOLE, Parameter(help="How many logs to simulate.", group=QUESTION)] = 100,
    seed: Annotated[int, WHOLE, Parameter(help="Random seed.", group=QUESTION)] = SEED,
    json: JsonFlag = False,
) -> int:
    show(asked(ask, sources, log, policies, delta=delta, rounds=rounds, runs=runs, seed=seed), json=json)
    return 0
