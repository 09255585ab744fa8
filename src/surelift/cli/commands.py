"""What ``surelift --help`` tells: kept apart from the commands, so that telling it loads none of them."""

HELP = """Is the new policy better than production, and how sure is that?

Off-policy evaluation from logged decisions, with confidence bounds that hold
in finite samples and at any number of looks. Each row of a log needs the
reward (--reward), production's probability of the logged action (--propensity),
and the candidate's probability of the same action (--policy).

    surelift compare LOG.parquet --reward click --propensity p --policy p_new

Exit codes: 0 done or certified, 3 not certified, 4 logs not fit,
2 wrong usage, 1 unexpected error.
"""

COMMANDS = {
    "check": "Are these logs fit for a guarantee? Tests the propensities and the overlap. Exit code 4 if they are not fit.",
    "evaluate": "What is each policy worth? An estimate, a lower and an upper bound; all bounds hold at once.",
    "compare": """Is the candidate better than production, or than another policy, and how sure is that?

    Several outcomes at once, such as quality, cost and latency, are claimed with --outcome. Exit code 0 if certified (with
    --by: in every segment; with --outcome: every claim), 3 if not.""",
    "select": """Which candidate should replace production? One that is certified better, or none.

    Exit code 0 if one is chosen (e-bh: if there is a discovery; with --by: in every segment), 3 if production stays. With
    --choose value it is always 0: a policy is chosen, production or not, and none is certified better.""",
    "gate": """Can the candidate be launched? Checks the logs, then compares: for scripts and merge checks.

    Exit code 0 if certified, 3 if not, 4 if the logs are not fit, 2 for wrong usage.""",
    "report": """Check, compare and select, and write a decision report: one HTML page that needs no network.

    The log is read once. Exit code 0 if a candidate is certified, 3 if none is, 4 if the logs are not fit (the page says
    why).""",
    "monitor": """Count the rounds that arrived since the last call, and answer from all rounds so far.

    The first call asks the question; later calls need only the state and the sources. If it is killed, the next call
    resumes after the last file that was counted. Files with rounds that were counted before are refused. Exit code 0 if
    certified, 3 if not.""",
    "learn": """Learn a new policy, certified on held-out rounds to be better than production.

    Exit code 0 if it is certified (with an objective about the value: if that is bounded), 3 if not: then keep production.
    The policy is written either way.""",
    "power": "How many more rounds like these would certify the candidate? A forecast with a range, not a guarantee.",
    "simulate": "How often does each method hold, and how wide is it, on these weights, with rewards of a known truth?",
    "verify": """Does a certificate follow from these logs? Everything is recomputed and compared.

    Exit code 0 if it is the same, 3 if it differs.""",
    "explain": "What a method promises, what a word means, what a certificate says, or what a learned policy is.",
    "reproduce": """Recompute the paper's tables and figures, next to surelift's own methods.

    Data sets are read from the folder named by SURELIFT_DATA; missing tables of ope and ops are fetched from OpenML. A
    killed run resumes where it stopped.""",
    "completion": """Print a shell completion script: source it, or put it where your shell looks for it.

    For bash: surelift completion bash > ~/.local/share/bash-completion/completions/surelift""",
    "demo": "A shop with a known truth: from a log to certified decisions, in a few seconds.",
}
