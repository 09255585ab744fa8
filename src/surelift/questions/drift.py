"""Do rewards and propensities differ from day to day by more than chance? Bets in blocks need rounds that do not."""

from collections.abc import Iterator

from surelift.evidence.drift import Contrast, Drift
from surelift.logs.declaration import Declaration
from surelift.questions.method import Method
from surelift.results.health import Finding
from surelift.statistics.plan import Request, RewardColumn
from surelift.statistics.production import RewardMoments, RoundMoments
from surelift.statistics.splits import Day, Key
from surelift.statistics.sums import Sums

DAY, REWARDS, PROPENSITIES = Day(), RoundMoments("reward"), RoundMoments("propensity")
BY_DAY, LEVEL = RewardMoments(), 0.001
"""For bounds in per cent, and the chance that rewards which do not drift put them in doubt."""
SUBJECTS = {REWARDS: "rounds", PROPENSITIES: "propensity"}
CHANGES = {REWARDS: "the reward of a round differs", PROPENSITIES: "production's propensities differ"}
STAYS_VALID = (
    "The default bounds hold, for the average over these rounds; tomorrow may look like the last of them instead."
)
CAUSES = {REWARDS: "", PROPENSITIES: "Production adapted or was changed, or it met other contexts. "}


def drift_requests(declared: Declaration) -> Iterator[Request]:
    return (Request(moments, (DAY,)) for moments in _tested(declared))


def about_drift(declared: Declaration, sums: Sums, method: Method, *, level: float) -> Iterator[Finding]:
    """Rounds that do not drift are said to with a chance of at most ``level`` in all."""
    tested = _tested(declared)
    by_day = {moments: {day: state for (day,), state in sums.by(moments, DAY).items()} for moments in tested}
    if method.bound.in_blocks:
        yield from _about_untested(declared, method, days=min(map(len, by_day.values()), default=0))
    for moments, days in by_day.items():
        contrast = Drift(days).contrast(level=level / len(tested))
        if contrast is None:
            continue
        says = _said(CHANGES[moments], contrast, " (scaled to [0, 1])" if moments == REWARDS else "")
        if method.bound.in_blocks:
            yield Finding(
                "refuse", f"method {method.name!r}", says, f"{CAUSES[moments]}It needs independent rounds that do not "
                "drift: leave the default, method='mixture', which holds for the average over these rounds.",
            )  # fmt: skip
        else:
            remedy = f"{CAUSES[moments]}{STAYS_VALID} method='blocks' does not hold for such a log."
            yield Finding("warn", SUBJECTS[moments], says, remedy)


def ratio_requests(declared: Declaration, key: Key, outcome: RewardColumn | None) -> Iterator[Request]:
    """Rewards by day, which say whether a ratio of values may drift."""
    if REWARDS in _tested(declared):
        yield Request(BY_DAY, (*key, DAY), outcome)


def ratio_doubt(declared: Declaration, sums: Sums, *, share: float) -> str:
    """What drift of rewards the days show, at this share of the level; empty where they show none, or were not kept."""
    if not any(request in sums.states for request in ratio_requests(declared, (), None)):
        return ""
    days = {day: state for (day,), state in sums.by(BY_DAY, DAY).items()}
    contrast = Drift(days).contrast(level=LEVEL * share)
    return "" if contrast is None else _said("rewards differ", contrast, " (scaled to [0, 1])")


def _said(changes: str, contrast: Contrast, scaled: str) -> str:
    return (
        f"{changes} from day to day by more than chance: {contrast.mean:.4g} {contrast.days}, "
        f"{contrast.other_mean:.4g} {contrast.others}{scaled}"
    )


def _tested(declared: Declaration) -> list[RoundMoments]:
    """Rounds of a cluster depend on each other, and how many were kept, or by whom they were taken, may differ by day."""
    if declared.time is None or declared.cluster is not None or declared.is_sampled or declared.balances_counts:
        return []
    rewards = [REWARDS] if declared.score is None else []  # of a few labels the mean is not one of numbers in [0, 1]
    return rewards if declared.density else [*rewards, PROPENSITIES]


def _about_untested(declared: Declaration, method: Method, *, days: int) -> Iterator[Finding]:
    """Silence about drift must not pass for praise either."""
    what = "drift, and whether production adapted, were not tested"
    if declared.time is None:
        why = "no time is declared"
    elif declared.cluster is not None or declared.is_sampled:
        why = "the rounds come in clusters" if declared.cluster is not None else "the log was sampled"
    elif days < 2:
        why = "the times show no two days"
    elif declared.density:
        what, why = "whether production adapted was not tested", "its propensities are densities"
    else:
        return
    yield Finding(
        "warn", f"method {method.name!r}", f"{what}: {why}", "It needs independent rounds that do not drift: use it where "
        "you know that they do not, or leave the default, method='mixture'.",
    )  # fmt: skip
