"""What ``surelift --help`` tells: kept apart from the commands, so that telling it loads none of them."""

HELP = """Is the new policy better than production, and how sure is that?

Off-policy evaluation from logged decisions, with confidence bounds that hold in finite samples and at any number of \
looks. Each row of a log needs the reward (--reward), production's probability of the logged action (--propensity), and \
the candidate's probability of the same action (--policy).

    surelift compare LOG.parquet --reward click --propensity p --policy p_new

The answer goes to standard output, as text or with --json as JSON; progress, notes and errors go to standard error.

Exit codes: 0 done or certified, 3 not certified, 4 logs not fit, 2 wrong usage, 1 unexpected error.
"""

SECTIONS = {
    "Ask": {
        "compare": """Is the candidate better than production, or than another policy, and how sure is that?

Several outcomes at once, such as quality, cost and latency, are claimed with --outcome. Exit code 0 if certified (with \
--by: in every segment; with --outcome: every claim), 3 if not.""",
        "select": """Which candidate should replace production? One that is certified better, or none.

Exit code 0 if one is chosen (e-bh: if there is a discovery; with --by: in every segment), 3 if production stays. With \
--choose value it is always 0: a policy is chosen, production or not, and none is certified better.""",
        "evaluate": "What is each policy worth? An estimate, a lower and an upper bound; all bounds hold at once.",
        "estimate": """What is each policy worth, by one of the usual point estimates? A number without a guarantee.

For a bound that holds, use 'surelift evaluate'.""",
        "gate": """Can the candidate be launched? Checks the logs, then compares: for scripts and merge checks.

Exit code 0 if certified, 3 if not, 4 if the logs are not fit, 2 for wrong usage.""",
        "report": """Check, compare and select, and write a decision report: one HTML page that needs no network.

The log is read once. Exit code 0 if a candidate is certified, 3 if none is, 4 if the logs are not fit (the page says \
why).""",
    },
    "Trust": {
        "check": """Are these logs fit for a guarantee? Tests the propensities and the overlap.

Exit code 0 if they are fit, 4 if not.""",
        "verify": """Does a certificate follow from these logs? Everything is recomputed and compared.

Exit code 0 if it is the same, 3 if it differs.""",
        "explain": "What a method promises, what a word means, what a certificate says, or what a learned policy is.",
        "simulate": "How often does each method hold, and how wide is it, on these weights, with rewards of a known truth?",
        "profile": """What would each smoothing alone have given, beside the mixture of them all?

An illustration: the best smoothing was not known in advance, and only the bound of the mixture holds.""",
    },
    "As logs grow": {
        "monitor": """Count the rounds that arrived since the last call, and answer from all rounds so far.

The first call asks the question; later calls need only the state and the sources. If it is killed, the next call \
resumes after the last file that was counted. Files with rounds that were counted before are refused. Exit code 0 if \
certified, 3 if not.""",
        "power": "How many more rounds like these would certify the candidate? A forecast with a range, not a guarantee.",
    },
    "Learn": {
        "learn": """Learn a new policy, certified on held-out rounds to be better than production.

Exit code 0 if it is certified (with an objective about the value: if that is bounded), 3 if not: then keep production. \
The policy is written either way.""",
    },
    "More": {
        "demo": "A shop with a known truth: from a log to certified decisions, in a few seconds.",
        "reproduce": """Recompute the paper's tables and figures, next to surelift's own methods.

Data sets are read from the folder named by SURELIFT_DATA; missing tables of ope and ops are fetched from OpenML. A \
killed run resumes where it stopped.""",
        "completion": "Print a shell completion script: source it, or put it where your shell looks for it.",
    },
}
