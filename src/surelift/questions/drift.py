"""Do rewards and propensities differ from day to day by more than chance? Bets in blocks need rounds that do not."""

from collections.abc import Iterator

from surelift import capabilities
from surelift.batch import RewardColumn
from surelift.evidence.drift import Contrast, Drift
from surelift.logs.faults import Finding
from surelift.questions.method import Method
from surelift.statistics.plan import Request
from surelift.statistics.splits import Day, Key
from surelift.statistics.sums import Sums
from surelift.statistics.totals import RewardMoments, RoundMoments
from surelift.traits.declaration import Declaration

REWARDS, PROPENSITIES = RoundMoments("reward"), RoundMoments("propensity")
BY_DAY, LEVEL = RewardMoments(), 0.001
"""The test behind bounds in per cent, and its chance to doubt rewards that do not drift."""
SUBJECTS = {REWARDS: "rounds", PROPENSITIES: "propensity"}
CHANGES = {REWARDS: "the reward of a round differs", PROPENSITIES: "production's propensities differ"}
STAYS_VALID = "The default bounds hold, for the average over these rounds; tomorrow may look like the last of them instead."
CAUSES = {REWARDS: "", PROPENSITIES: "Production adapted or was changed, or it met other contexts. "}


def drift_requests(declared: Declaration) -> list[Request]:
    return [Request(moments, day) for moments in _tested(declared) for day in days_of(declared)]


def days_of(declared: Declaration) -> list[Key]:
    """The key by day, where there are times."""
    return [(Day(time),) for time in declared.times]


def drift_findings(declared: Declaration, sums: Sums, method: Method, *, level: float) -> Iterator[Finding]:
    """Rounds that do not drift are said to with a chance of at most ``level`` in all."""
    tested = _tested(declared)
    by_day = {
        moments: {day: state for (day,), state in sums.by(moments, *key).items()}
        for moments in tested
        for key in days_of(declared)
    }
    if method.bound.in_blocks:
        yield from _untested(declared, method, days=min(map(len, by_day.values()), default=0))
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


def ratio_requests(declared: Declaration, key: Key, outcome: RewardColumn | None) -> list[Request]:
    """Rewards by day, which say whether a ratio of values may drift."""
    tested = declared.times and not capabilities.untested(declared.features, "test of drift in rewards")
    return [Request(BY_DAY, (*key, *day), outcome) for day in days_of(declared)] if tested else []


def ratio_doubt(declared: Declaration, sums: Sums, *, share: float) -> str:
    """What drift of rewards the days show, at this share of the level; empty where they show none, or were not kept."""
    for request in ratio_requests(declared, (), None):
        days = {day: state for (day,), state in sums.states.get(request, {}).items()}
        contrast = Drift(days).contrast(level=LEVEL * share)
        return "" if contrast is None else _said("rewards differ", contrast, " (scaled to [0, 1])")
    return ""


def _said(changes: str, contrast: Contrast, scaled: str) -> str:
    return (
        f"{changes} from day to day by more than chance: {contrast.mean:.4g} {contrast.days}, "
        f"{contrast.other_mean:.4g} {contrast.others}{scaled}"
    )


def _tested(declared: Declaration) -> list[RoundMoments]:
    tests = {REWARDS: "test of drift in rewards", PROPENSITIES: "test of drift in propensities"}
    return [moments for moments, test in tests.items() if not capabilities.untested(declared.features, test)]


def _untested(declared: Declaration, method: Method, *, days: int) -> Iterator[Finding]:
    """Silence about drift must not pass for praise either."""
    what = "drift, and whether production adapted, were not tested"
    why = capabilities.untested(declared.features, "test of drift in rewards")
    if not why and days < 2:
        why = "the times show no two days"
    elif not why:
        what = "whether production adapted was not tested"
        why = capabilities.untested(declared.features, "test of drift in propensities")
    if not why:
        return
    yield Finding(
        "warn", f"method {method.name!r}", f"{what}: {why}", "It needs independent rounds that do not drift: use it where "
        "you know that they do not, or leave the default, method='mixture'.",
    )  # fmt: skip
