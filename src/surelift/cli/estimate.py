"""surelift estimate: what is each policy worth, by one of the usual point estimates?"""

from typing import Annotated, Any

from cyclopts import Parameter

from surelift.cli.flag import ANSWER, columns, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import ByFlag, FileFlags
from surelift.cli.output import asked, deliver
from surelift.cli.policy_flags import PolicyFlags, Sources


def estimate(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policies: PolicyFlags = PolicyFlags(),
    by: ByFlag = None,
    estimator: Annotated[
        str,
        Parameter(
            help="ips, snips, clipped, dr, ...: 'surelift explain' lists them, and 'surelift explain snips' says what one "
            "is, and which of the flags below it takes.",
            metavar="NAME",
            group=ANSWER,
        ),
    ] = "ips",
    clip: Annotated[float | None, flag("X", "Largest weight; by default sqrt(rounds).", group=ANSWER)] = None,
    smoothing: Annotated[float | None, flag("X", "Smoothing; by default 1/sqrt(rounds).", group=ANSWER)] = None,
    alpha: Annotated[float | None, flag("X", "Power of the propensity, from 0 to 1.", group=ANSWER)] = None,
    strength: Annotated[float | None, flag("X", "How much large weights are shrunk.", group=ANSWER)] = None,
    model: Annotated[
        str | None,
        flag(
            "COL[,COL...]",
            "Expected rewards of all actions, from a model fitted elsewhere: a list column, or one column per action. By "
            "default gradient boosting, cross-fitted in five folds (needs --contexts, and scikit-learn).",
            group=ANSWER,
        ),
    ] = None,
    delta: Annotated[
        float,
        Parameter(
            help="The probability of error of what ls and ls-lin tell beside the estimate.", metavar="P", group=ANSWER
        ),
    ] = 0.05,
    output: FileFlags = FileFlags(),
) -> int:
    from surelift.controls import models
    from surelift.decisions.estimate import estimate as ask

    given = {"clip": clip, "smoothing": smoothing, "alpha": alpha, "strength": strength}
    parameter = {name: value for name, value in given.items() if value is not None}
    predictions = None if model is None else models.given(columns(model))
    arguments: dict[str, Any] = {"estimator": estimator, "delta": delta, "model": predictions, "by": by, **parameter}
    deliver(asked(ask, sources, log, policies, output, **arguments), output, log, policies)
    return 0
