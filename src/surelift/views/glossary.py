"""The words used in answers, explained."""

import re

# A word, a colon and its meaning; later lines of a meaning are indented.
_ENTRIES = """\
reward: What a decision earned: a click, a sale, minutes. A cost is told the other way round: less of it is better.
action: What was decided: the item shown, the model called, the dose given.
context: What was known before the action, such as the user, the hour or the prompt.
cluster: Rounds that belong together, of a user, a session or a page (--cluster COLUMN). They count as one, so that they
  may depend on each other; clusters may not. How many rounds a cluster has is known in advance (--cluster-size) or
  limited (--cluster-max), and they follow each other in the log.
keep probability: The probability with which a round was kept when the log was sampled (--keep-probability COLUMN).
time: When a round was decided (--time COLUMN). It tells which rounds came first, and how old they are.
id: What tells rounds apart (--id COLUMN): none may come twice, or its reward would count twice.
density: The probability of a continuous action, such as a price, per unit; it may exceed 1.
propensity: The probability with which production chose the logged action, recorded at decision time. Every guarantee
  depends on it, and it cannot be recovered later.
wins: Of m draws from a policy at the decision, the k that took the logged action (--propensity-wins k,m): what to log
  where production can draw but cannot tell its probabilities, as Thompson sampling or an ensemble. The propensity is
  (k + 1)/(m + 1) for fresh draws, and k/m where the logged action is one of the m (k,m,played). Both make weights right
  or too small on average, so every plain bound holds. The draws must be made for this round alone, and their number
  fixed beforehand. max(k, 1)/m, a floor of 1/m, one set of draws for many rounds, and the winner of a majority vote
  make weights too large: nothing would hold. A control needs exact propensities, and is not used. For a candidate
  (--policy-wins NAME=k,m) k/m is used as it stands.
monte carlo propensity: A propensity estimated by drawing from production again, as k of m draws; see wins.
json lines: A file with one JSON object per line (.jsonl, .ndjson, .json). Keys are columns, objects inside an object are
  flattened (user.country), and lists of numbers are vectors.
standard input: What is piped into a command, read as a log where the source is '-'. It is kept in a temporary file while
  the command runs.
separator: What stands between the columns of a CSV file: a comma, or a semicolon, tab or bar where its first lines leave
  no doubt; otherwise say --separator.
encoding: How a file of text stores its characters: UTF-8, or UTF-16 with its mark. Others are not guessed; name them by
  --encoding.
weight: The importance weight of a round: the candidate's probability of the logged action divided by the propensity.
  The mean weight is close to 1 where production can take every action the candidate takes (overlap).
lower bound: A number that the true value (or improvement) exceeds with probability at least 1 - delta. A lower bound
  at the bottom of the range means that there is no evidence, not that the policy is worthless.
upper bound: A number that the true value (or improvement) stays below with probability at least 1 - delta. It is
  computed from the rewards that were missed; where rewards are rare and weights are large, it is far from the
  estimate.
estimate: The mean of the terms that the lower bound is made of, moved into the bounds where it lies outside them, with
  no guarantee. Without a control it is the mean of weight times reward (inverse propensity scoring). It can be far off
  where a few rounds carry most of the weight; the bounds take that into account.
delta: The probability you accept that a bound is wrong: 0.05 is one in twenty.
improvement: The candidate's value minus production's value over the same rounds. It is bounded as one paired
  quantity, which is much sharper than comparing two separate intervals.
certified: The improvement exceeds the margin, by its lower bound. If the candidate were no better than that, this
  would happen with probability at most delta; with the default grid no matter how often you look, except where an
  answer says one look: e-Holm, segments that were not listed, counts of loggers.
margin: How much better, in units of the reward or in per cent (2%), the candidate must be to count as better.
e-value: The evidence against 'not better than the margin', as the payoff of a fair bet that starts at 1. If the
  candidate were no better, the bet would reach 1/delta with probability at most delta; so 20 certifies at delta =
  0.05.
effective sample size: The number of equally weighted rounds that carry about as much information: the squared sum of
  the weights over the sum of their squares. When it is small, every bound is wide.
missing support: The share of the candidate's decisions that production could never take. Their reward counts as zero,
  so lower bounds remain valid and become looser.
blend: The candidate in a share alpha of the decisions and production in the rest (--blend NAME=ALPHA). Its weights are
  at least 1 - alpha, so with the default grid its certified improvement is alpha times the candidate's own: being
  cautious costs no evidence.
control: A control variate: narrows a bound and keeps it valid. Control by weights needs the full action distributions
  of production and candidate; it helps most where rewards are frequent, and costs a few per cent where they are rare.
  'auto' uses it where it is possible, 'weights' leans more on it, 'none' turns it off. A policy with a declared
  largest weight (bounded) needs no distributions. Control by a reward model also removes the part of the reward that
  the model predicts. Control by a score needs neither: see score.
reward model: Predicts the reward of each action in each context. The bound is valid even if the model is wrong, and
  narrower the better it is; it must only be fixed before the rounds it is used on. So it is refitted on earlier
  rounds along the way (control=model, in the order of --time), fitted on another log, or read from a column of
  predictions.
score: A cheap judgement that every round has, in units of the reward, where only a few rounds have the true one: an
  LLM judge, a proxy model, a click for a purchase (--score COLUMN). It is used as a control, never as the reward: the
  answer is about the true reward whatever the judge is worth, and a good judge makes it narrower. It must be made without
  knowing whether the round was labelled.
label probability: The probability with which a round was drawn to be labelled with its true reward, each by a coin of its
  own (--label-probability COLUMN or NUMBER). It may depend on the context, the action and the score, and must be declared:
  the share of rounds with a label is not it. The reward of the others is null.
relative lift: The improvement as a share of the baseline's value (of a cost, the saving as a share of the baseline's cost):
  'at least 2% better' (compare, gate --margin 2%). It is bounded directly, by refuting 'at most 2% better', since one
  bound divided by another is looser. It needs a reward range that begins at 0, and uses no control. Its bounds hold if
  the ratio of the two values does not drift; the claim of one margin that was named beforehand holds under drift too.
tipping factor: How many times too large all weights may be, because propensities were logged too small, before a
  certified improvement would no longer be certified. Weights that are too small only loosen a bound. It comes from the
  bound without control, which also relies on production's distribution.
segment: A slice of the rounds, known before the action, such as a country (--by COLUMN). Each segment is judged at
  delta divided by the number of segments, so that all answers hold together. Rounds without one are the segment
  (missing). With several columns (--by country --by device) the segments are the combinations that occur.
bins: A column of numbers cut into segments at edges (--by age:18,30,50): 'age < 18', '18 <= age < 30', and so on; a number
  belongs to the last edge that it reaches. The edges are chosen before looking at the log: bins drawn around what looked
  good certify what is not there.
outcome: A column of rewards or costs that judges the candidate, with a claim in its own units: better by at least so
  much, or worse by at most so much (compare --outcome NAME=COL:at-least=X). Several outcomes of the same rounds are
  bounded at delta divided by their number, so that all lower bounds hold together; certified means that every claim
  holds.
guardrail: An outcome beside the reward that must not get worse by more than its margin (gate --guardrail
  COL:at-most-worse=X). The improvement and the guardrails share delta evenly.
false discovery rate: Among the candidates reported as better (select --many e-bh), the expected share that is not.
  With dozens of candidates it finds more than bounds that all hold at once, but it does not certify any single
  candidate.
e-Holm: How select certifies several candidates at once (select --many e-holm): each needs an e-value of 1/delta, and
  what every other candidate lacks of it. It certifies whatever bounds at delta divided by the number of candidates
  do, and often more, but says by how much only if all are certified. It assumes independent rounds: neither
  production nor the world answers to what was seen; and one look where something drifts.
grid: The smoothings that are used together, fixed in advance. The anytime grid is the same for any number of rounds;
  the planned grid is tuned to a known number of rounds, gives slightly narrower bounds, and is valid at one look.
smoothing: The paper's lambda: how strongly large weights are damped, for rewards scaled to [0, 1]. It must be fixed
  before the data is seen; methods with a single smoothing use 1/sqrt(rounds) by default.
profile: What each smoothing alone would have given, had it been fixed in advance, beside the mixture of them all
  (surelift profile). The best one was not known in advance, so that only the bound of the mixture holds.
point estimate: One number for what a policy is worth, such as ips or snips, without a bound and without a guarantee
  (surelift estimate --estimator NAME).
reward range: The smallest and the largest possible reward, declared in advance and never read off the data. A wider
  range than needed is safe, but makes bounds wider.
looks: How often the growing log may be analysed. The default grid is valid at any number of looks (a confidence
  sequence); a planned grid, a smoothing of 1/sqrt(rounds), bets in blocks (method blocks), or a policy that was learned
  from the first rounds and is judged by the last, at one look at a number of rounds fixed in advance; so are select's
  e-Holm, segments that were not listed, and loggers balanced by their counts.
drift: The value changes over the rounds. The default method then bounds the average over the rounds of the log, in units of
  the reward; bounds in per cent need a ratio that does not drift, or one margin named beforehand (--margin 2%). Bets in
  blocks (method blocks) learn from some rounds how to judge the others, and promise nothing if the value drifts, if
  production adapts to the log, or if the ids by which rounds are dealt into blocks tell of the rewards.
power: The probability that a log of so many rounds certifies the candidate, if it is as good as assumed. A forecast
  has an 80% range, from a bootstrap of the log: how far these rounds can tell what would be needed.
logger: One of several policies that took the rounds of a log, such as an arm of an A/B test or a version of a model
  (--logger COLUMN says which, --loggers A=COL,B=COL gives each one's probability of the logged action in every row).
balanced weights: The weights of a log of several loggers: the propensity is the average of their probabilities, each
  counted by its share of the rounds. They are much smaller than those of each row's own logger. They hold at the
  rounds of each logger in the whole log (--logger-rounds, or counted), for loggers that met one law of contexts and
  rewards; an earlier look is false. Loggers drawn at random with known shares (--logger-shares) allow any number.
exposure: A user met an experiment and was shown the variation drawn for them. A log of exposures has one round per user,
  the first exposure, with the experiment's weights as propensities (importers.growthbook).
settled after: How old a round must be for its reward to be final (--settled-after 7d, with --time). Younger rounds, as of
  --as-of or of the newest time in the log, are left out and counted, whatever their rewards: to keep those whose reward
  has come would be a bias. A monitor refuses a batch with such a round.
where: Which rounds are judged (--where "country = 'FR' and day >= 2026-01-01"), by columns known before the action.
  Those that meet the condition make a log of their own; the others, and those where it is unknown since a column is
  null, are left out and counted. A condition on the action, the reward or a candidate is refused: it would choose
  rounds by how they ended.
prefix weight: The product of the weights of a session or ranking up to and including a position (--position COLUMN). It
  judges a candidate that acts from the first position on, where the reward of a position does not depend on later
  actions, and needs probabilities given what came before.
session: Decisions one after another for the same user, logged as a cluster with positions. Each counts once, as the mean
  reward of a step; a session that ended earns nothing in the steps it lacks to the declared maximum.
cascade: The assumption that a ranking is read from the top: the reward of a position depends on its item and those above
  it, not on those below.
additive slate: A page whose expected reward is a sum with one part for each position, shown by a production that draws
  positions independently. Its weight is the sum of the weights of its positions, less one for each position but one
  (--slate COLUMN --slate-weight additive); it can be negative, and bounds allow for that.
vowpal wabbit: A learner of contextual bandits whose files surelift reads: dsjson, cb, cb_adf, several slots (ccb) and
  continuous actions (cats). Shared features are columns such as User.country (--by, --contexts), and what 'vw -p' writes
  is a candidate (--predictions).
certificate: An answer together with the question, the options, the declared range and a fingerprint of the rounds, as
  JSON. Anyone who has the rounds can recompute it: surelift verify CERTIFICATE SOURCE.
"""

_ALSO = {
    "relative lift": (
        "per cent",
        "percent",
        "percentage",
        "relative",
        "lift",
        "saving",
        "relative lower",
        "relative upper",
    ),
    "tipping factor": ("tipping", "misstated propensity"),
    "wins": ("k of m", "propensity wins", "policy wins", "draws", "thompson sampling"),
    "monte carlo propensity": ("monte carlo",),
    "score": ("judge", "llm judge"),
    "label probability": ("label", "labelled"),
    "logger": ("ab test", "a/b test", "logger rounds", "logger shares"),
    "balanced weights": ("balanced",),
    "settled after": ("settled", "as of", "delayed reward"),
    "prefix weight": ("prefix", "position", "per decision weight"),
    "session": ("episode",),
    "additive slate": ("slate", "slate weight", "slate max", "additive", "pseudo inverse"),
    "cascade": ("ranking",),
    "outcome": ("claim",),
    "point estimate": ("estimator",),
    "reward": ("cost",),
    "action": ("action count", "arm", "item"),
    "keep probability": ("rounds before sampling", "sampling"),
    "cluster": ("cluster size", "cluster max"),
    "propensity": ("log propensity", "logging", "propensity is estimated"),
    "missing support": ("overlap", "support"),
    "segment": ("by", "subgroup"),
}
ALIASES = {other: word for word, others in _ALSO.items() for other in others}

WORDS = {
    word: " ".join(meaning.split()) for word, meaning in (entry.split(": ", 1) for entry in re.split(r"\n(?=\S)", _ENTRIES))
}


def word_for(topic: str) -> str | None:
    """The word that explains a topic, however it is spelled: as a flag, an argument, a plural or another word for it.

    >>> word_for("--settled-after"), word_for("loggers"), word_for("per cent")
    ('settled after', 'logger', 'relative lift')
    """
    spelled = " ".join(re.split(r"[-_\s]+", topic.strip().lower())).strip()
    known = {re.sub("[-_]", " ", word.lower()): word for word in WORDS}
    for form in (spelled, spelled.removesuffix("s"), spelled + "s"):
        if word := known.get(form) or ALIASES.get(form):
            return word
    return None
