"""What does not go together, in one table: two features, and why. Nothing else in the house refuses a combination.

A pair without a proof is a row here; one with a proof is no row. ``surelift explain combinations`` prints the table.
"""

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache

from surelift.errors import UsageError

DECLARED: Mapping[str, str] = {
    "actions": "action=", "counted actions": "actions= or action_count=", "balanced loggers": "loggers= without "
    "logger_shares=",
    "clusters": "cluster=", "cost": "cost=", "counted before sampling": "rounds_before_sampling=", "density": "density=True",
    "distributions": "logging=", "embedding": "embedding=", "estimated propensities": "propensity_is_estimated=True",
    "filled-up clusters": "cluster_max=", "id": "id=", "known density": "a density in propensity=", "labels": "score=",
    "log propensities": "log_propensity=", "loggers": "loggers=", "sampled": "keep_probability=", "sequences": "position=",
    "range above 0": "reward_range=", "range below 0": "reward_range=", "filled-up costs": "cost= with cluster_max=",
    "settled rewards": "settled_after=", "time": "time=", "where": "where=", "wins": "propensity=wins(...)",
    "in per cent": "margin='2%'", "e-values": "many=", "by segments": "by=", "segments that occur": "by= without segments=",
}  # fmt: skip
"""How a feature is declared, where that is not its name."""

_TABLE: Mapping[tuple[str, str], str] = {
    # What a log is.
    ("embedding", "sequences"): "what comes after a position would have to depend on its action through the embedding alone",
    ("loggers", "clusters"): "a logger may have taken whole clusters, whose rounds then do not come from the mixture",
    ("balanced loggers", "sampled"): "weights are balanced by counts before sampling, which are not known",
    ("balanced loggers", "where"): "weights are balanced by the counts of the whole log, and loggers of different periods "
    "may meet a condition in different contexts; judge by each row's own propensity, propensity=, or declare "
    "logger_shares= if the logger of each round was drawn",
    ("counted before sampling", "where"): "rounds_before_sampling= also counts rounds that do not meet the condition; keep "
    "those that do in a log of their own, with their number before sampling",
    ("settled rewards", "clusters"): "it would leave out a part of a cluster, which counts as one",
    ("settled rewards", "counted before sampling"): "rounds_before_sampling= also counts rounds that are not settled",
    # Policies.
    ("policy over all actions", "density"): "continuous actions have no vector of probabilities",
    ("policy over counted actions", "density"): "continuous actions cannot be counted",
    ("drawn candidate", "density"): "a draw never hits a continuous action",
    ("largest weight", "wins | drawn candidate"): "weights vary with the draws, so no bound on them is known; leave "
    "bounded(...) out, and the plain bounds hold",
    ("largest weight", "balanced loggers"): "a weight averages 1 over all loggers, not over the rounds of each; leave "
    "bounded(...) out",
    ("largest weight", "additive slate"): "it narrows bounds of weights that are never negative",
    ("additive slate", "method for values alone"): "weights of additive slates may be negative; use method='mixture'",
    ("additive slate", "regularized estimate"): "weights may be negative, so only plain means are estimates; use 'ips'",
    # Methods and controls.
    ("method 'implicit-exploration'", "labels"): "it bounds rewards of at most 1, and a label stands for more",
    ("method 'implicit-exploration'", "counted before sampling"): "it bounds rewards of at most 1, and a round kept "
    "stands for more",
    ("method 'empirical-bernstein'", "labels"): "a label stands for more than the clip",
    ("method 'empirical-bernstein'", "counted before sampling"): "a round that was kept stands for more than the clip",
    ("method 'empirical-bernstein'", "balanced loggers"): "rounds of different loggers have different laws",
    ("method 'efron-stein'", "clusters"): "it redraws single rounds",
    ("method 'efron-stein'", "sampled"): "it redraws the whole log, also what was dropped",
    ("method 'efron-stein'", "labels"): "it redraws rounds that carry their reward",
    ("method 'efron-stein'", "balanced loggers"): "it redraws rounds of one law",
    ("method 'bootstrap'", "counted before sampling"): "it resamples the rounds that are here, not those that were dropped",
    ("method 'blocks'", "balanced loggers"): "within a block the shares of the loggers are not the declared ones",
    ("control by weights | control by a reward model", "wins"): "it takes the exact mean of the weights, which draws do "
    "not give; the plain bounds hold",
    ("control by weights | control by a reward model", "labels"): "the control of these logs is their score; use "
    "control='auto'",
    ("control by a reward model", "embedding"): "a reward model speaks of actions, not of their embeddings; use "
    "control='weights' or 'none'",
    ("densities above 1", "density"): "a density may exceed 1, and this has no meaning then",
    ("point estimate", "labels"): "the point estimates need the reward of every round; use evaluate or compare",
    ("estimate by a reward model", "sequences"): "the model predicts single rounds",
    # Per cent.
    ("in per cent | tipping factor", "additive slate"): "relative bounds need weights that are never negative",
    ("in per cent | tipping factor", "method without ratios"): "only method='mixture' and 'logarithmic-smoothing' have them",
    ("in per cent | tipping factor", "many candidates"): "tables of more than 20 candidates would be too large",
    ("in per cent | tipping factor", "power"): "it forecasts the improvement in units",
    ("in per cent | tipping factor", "profile"): "it is about the improvement in units",
    ("in per cent", "range below 0"): "percentages are not defined where a reward, or a cost, may be negative",
    ("in per cent", "range above 0"): "per cent count from 0, where the range must begin; declare a range from 0",
    ("in per cent", "filled-up costs"): "clusters are filled up with rounds of the largest cost; give cluster_size=",
    ("margin in per cent", "report"): "its course and its forecasts are in units; compare the candidate by itself",
    ("margin in per cent", "several outcomes"): "each outcome has a claim of its own, at_least= or at_most_worse=",
    # Methods and questions.
    ("improvement", "method for values alone"): "it bounds values, not improvements; compare by 'mixture', "
    "'logarithmic-smoothing', 'blocks', 'normal' or 'bootstrap'",
    ("e-values", "method without e-values"): "it gives no evidence to share; use many='simultaneous', or method='mixture'",
    ("many='e-holm'", "blocks"): "each candidate is judged by the evidence for the others, but bets in blocks aim at a "
    "level that is fixed before; use many='simultaneous', or method='mixture'",
    ("power", "method without forecast"): "only the methods 'mixture' and 'blocks' are forecast",
    ("profile", "method without a mixture"): "a profile shows the smoothings of a mixture; use method='mixture'",
    # Questions, engines and doors.
    ("by segments", "counted before sampling"): "the number of rounds before sampling is known of the whole log, not of "
    "each segment; split the log first, each part with its own number",
    ("by segments | tests by segments", "balanced loggers"): "balanced weights hold at the counts of the whole log, not at "
    "those of a segment; leave by= out, or declare logger_shares= if the logger of each round was drawn at random",
    ("power", "sampled"): "it forecasts rounds like these, and what sampling dropped is not here",
    ("power", "balanced loggers"): "it looks at a growing log, which balanced weights do not allow",
    ("simulation", "clusters"): "it draws single rounds",
    ("simulation", "sampled"): "it draws single rounds, and what sampling dropped is not here",
    ("simulation", "labels"): "it draws rounds that carry their reward",
    ("simulation", "balanced loggers"): "it draws rounds of one law",
    ("monitor", "balanced loggers"): "balanced weights hold at the rounds of each logger in the whole log: an earlier look "
    "is false. If the logger of each round was drawn at random, declare the chances in logger_shares=; otherwise ask once, "
    "when the log is complete",
    ("monitor", "one look"): "a monitor looks again and again, and this bound holds at one look; leave the default, "
    "'mixture', or name a smoothing, and use this one on a log that is complete",
    ("monitor", "refitted reward model"): "a monitor keeps sums, not rounds, so it cannot refit a model; give one that is "
    "fitted: models.fitted_on(other_logs) or models.given('column')",
    ("monitor", "array"): "an array lies beside one batch only; give a column or a function",
    ("monitor | parts", "torn clusters"): "a cluster that comes in pieces, some of them left out by where=, would go "
    "unnoticed; keep the rounds that meet the condition in a log of their own",
    ("monitor", "segments that occur"): "segments found on the way share delta by a growing number; list them in segments=",
    ("parts", "method 'bootstrap'"): "every part numbers its rows anew, and resamples are drawn by these numbers; "
    "ask(logs) answers of the whole log",
    ("parts", "power"): "every part numbers its rows anew, and a forecast is made from blocks of rows by their number; "
    "ask(logs) answers of the whole log",
    ("parts", "planned number of rounds"): "a part does not tell how many rounds there will be; use the default grid, or "
    "name a smoothing",
    ("monitor", "planned number of rounds"): "a growing log has no number of rounds to plan for; use the default grid, or "
    "name a smoothing",
    ("database", "control by weights | log propensities | density | wins | loggers | settled rewards | distributions | "
     "actions | counted actions | clusters | sampled | labels | policy that is no column | control by a reward model | "
     "what databases do not add up"): "it adds up plain columns in one query; bring the rows here first, "
     "logs.here(), or read the log as files",
    ("database", "margin in per cent"): "no table of weights is kept there; bring the rows here first, logs.here(), or "
    "give the margin in the units of the reward",
    ("parts", "dealt by rows"): "every part numbers its rows anew, so the first rows of all would lie in one block; "
    "declare id=, a column that tells rounds apart",
    ("learning", "clusters"): "a policy is learned from single rounds",
    ("learning", "sampled"): "a policy is learned from rounds that all count alike",
    ("learning", "labels"): "a policy is learned from rounds that carry their reward",
    ("learning", "embedding"): "a policy is learned over actions",
    ("learning", "loggers"): "a certificate for the rounds held out needs propensities that hold for them alone",
    ("learning", "settled rewards"): "rounds are cut by their place in the log; keep the settled ones in a log of their own",
    ("database", "dealt by rows"): "a database does not number its rows, so blocks need id= there: a column that tells "
    "rounds apart",
    ("Spark", "what needs the order of the rows"): "Spark has no order of rows; bring them here first, logs.here(), or "
    "read the log as files",
    ("parts", "what needs the order of the rows"): "parts have no order; ask(logs) answers of the whole log",
}  # fmt: skip
NOT_TOGETHER: Mapping[tuple[str, str], str] = {
    (one, other): reason
    for (ones, others), reason in _TABLE.items()
    for one in ones.split(" | ")
    for other in others.split(" | ")
}
"""Two features, and why they do not go together."""

NEEDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "policy over all actions": (("actions",), "covers every action, so the logs must say which action was taken: name it in "
    "action=, as a position counted from 0 or as a label declared in actions=[...]. A column of the probability of the "
    "logged action alone is given by its name, not in a list"),
    "policy over counted actions": (("counted actions", "distributions"), "needs to know how many actions were available: "
    "declare actions=[...], logging= or action_count= (a number, or a column if it varies)"),
    "policy over continuous actions": (("continuous actions",), "needs continuous actions: set density=True, and name the "
    "column of the logged action in action="),
    "binned policy": (("known density",), "needs the probability of production's bins: give its density in propensity=, one "
    "of surelift.densities, instead of a column"),
    "reward model": (("counted actions", "distributions"), "needs to know how many actions were available: declare "
    "actions=[...], logging= or action_count= (a number, or a column if it varies)"),
    "refitted reward model": (("time",), "needs the order of the decisions: name the column of decision times in time=, "
    "ascending; or give a model fitted on other data, models.fitted_on(other_logs) or models.given('column')"),
    "control by weights": (("distributions", "largest weight"), "needs production's whole distribution, in logging=, or "
    "policies with a declared largest weight, bounded(...)"),
    "control by the score": (("labels",), "needs score= and label_probability=, which these logs do not declare"),
}  # fmt: skip
"""A feature, what it needs one of, and why."""


@lru_cache(maxsize=4096)
def refusals(features: frozenset[str]) -> tuple[tuple[str, str, str], ...]:
    """The pairs that do not go together, each with its reason."""
    return tuple((*pair, reason) for pair, reason in NOT_TOGETHER.items() if features.issuperset(pair))


@lru_cache(maxsize=4096)
def reason(features: frozenset[str], wanted: str) -> str:
    """Why a feature does not go together with these; empty where it does."""
    return next((why for one, _, why in refusals(features | {wanted}) if one == wanted), "")


def check(features: Set[str], named: Mapping[str, str] = {}) -> None:
    """Refuse features that do not go together; ``named`` says what some are called in this case."""
    for one, other, reason in refusals(frozenset(features)):
        pair = " and ".join(named.get(each, declared(each)) for each in (one, other))
        raise UsageError(f"{pair} do not go together: {reason}.")


@lru_cache(maxsize=4096)
def missing(features: frozenset[str], wanting: str) -> str:
    """What a feature lacks among these; empty where nothing."""
    wanted, reason = NEEDS[wanting]
    return "" if features.intersection(wanted) else reason


def require(features: frozenset[str], wanting: Iterable[str], subject: str) -> None:
    """Refuse what lacks something."""
    for each in NEEDS:
        if each in wanting and (reason := missing(features, each)):
            raise UsageError(f"{subject} {reason}.")


TESTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "test of segments": (("actions",), ("density", "sampled")),
    "test of largest weights": ((), ("sampled",)),
    "test of propensities": ((), ("sampled",)),
    "test of propensities by day": (("time",), ("sampled", "balanced loggers")),
    "test of digits": ((), ("sampled", "density", "wins")),
    "test of copies": (("time",), ()),
    "test of the ends of actions": (("density", "actions"), ()),
    "test of drift in rewards": (("time",), ("clusters", "sampled", "balanced loggers", "labels")),
    "test of drift in propensities": (("time",), ("clusters", "sampled", "balanced loggers", "density")),
    "usual interval": ((), ("clusters", "sampled", "labels", "balanced loggers")),
    "course of earlier looks": ((), ("counted before sampling", "balanced loggers", "blocks")),
    "forecast": ((), ("sampled", "balanced loggers")),
}  # fmt: skip
"""What is looked at besides where it can be: the features that it needs, all of them, and those that it cannot have."""
SAID: Mapping[str, str] = {
    "time": "no time is declared", "clusters": "the rounds come in clusters", "sampled": "the log was sampled",
    "density": "its propensities are densities", "labels": "few rounds carry their reward",
    "balanced loggers": "several loggers took the rounds", "actions": "the actions are not declared",
}  # fmt: skip


@lru_cache(maxsize=4096)
def untested(features: frozenset[str], test: str) -> str:
    """Why a test cannot be made; empty where it can."""
    needed, excluded = TESTS[test]
    for feature in (*needed, *excluded):
        if (feature in needed) != (feature in features):
            return SAID.get(feature, feature)
    return ""


def declared(feature: str) -> str:
    """A feature, with how it is declared.

    >>> declared("labels"), declared("monitor")
    ('labels (score=)', 'monitor')
    """
    return f"{feature} ({DECLARED[feature]})" if feature in DECLARED else feature
