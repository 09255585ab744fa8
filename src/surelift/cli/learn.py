"""surelift learn: a new policy from the log, with its certificate."""

from importlib import import_module
from typing import Any, Literal

from surelift import learning
from surelift.cli.flag import ANSWER, LEARNING, OUTPUT, flag, flags
from surelift.cli.log_flags import LogFlags
from surelift.cli.method_flags import delta
from surelift.cli.output import AnswerFlags, require_writable, show
from surelift.cli.policy_flags import InputFlags, Sources
from surelift.cli.progress import steps
from surelift.cli.terminal import say
from surelift.errors import UsageError
from surelift.learning.files import refuse_other_files
from surelift.results.learned import Guarantee


@flags(LEARNING)
class LearnFlags:
    policy: str = flag(
        "NAME", "linear: a softmax of linear scores. network: of a hidden layer of 256 units. gaussian: a random linear "
        "rule, certified on the rounds it learns from. Or MODULE:NAME, a torch module to import.", default="linear"
    )  # fmt: skip
    search: bool = flag(
        "", "Try linear and network policies at several learning rates and regularizations, choose one on rounds that "
        "certify nothing, and certify it once.", default=False
    )  # fmt: skip
    objective: str | None = flag(
        "NAME", "What to maximise: logarithmic-smoothing, ips, snips; for a gaussian policy improvement, value, ls-lin, ..."
    )
    control: Literal["auto", "none", "weights", "model"] = flag(
        "auto|none|weights|model", "What narrows the bound of a gaussian policy: weights, or a reward model refitted along "
        "the way, in the order of --time.", default="auto"
    )  # fmt: skip
    holdout: float = flag("P", "The share of rounds held out to certify the policy.", default=0.3)
    progressive: int | None = flag(
        "N", "Instead of holding out rounds: this many stages, each learned from all rounds before a stretch of the log "
        "and judged on it. The policy draws one of them at every decision."
    )  # fmt: skip
    prior: Literal["fitted", "zero"] = flag(
        "fitted|zero", "Where a gaussian policy starts: fitted on the first rounds, which then certify nothing, or "
        "zero.", default="fitted"
    )  # fmt: skip
    prior_share: float = flag("P", "The share of rounds to fit the prior on.", default=0.1)
    epochs: int = flag("N", "Passes over the rounds, at most.", default=100)
    batch_size: int = flag("N", "Rounds per step.", default=128)
    learning_rate: float | None = flag("X", "Learning rate (Adam); by default 0.001 for networks and modules, else 0.01.")
    seed: int = flag("N", "The same seed gives the same policy.", default=0)
    device: str = flag("cpu|cuda", "Where to train.", default="cpu")
    checkpoint: str | None = flag("FILE", "Keeps the training state; a killed run resumes from it.")
    method: str = flag(
        "mixture|blocks", "The bound on held-out rounds; blocks are for independent rounds.", default="mixture", group=ANSWER
    )
    delta: float = delta()
    output: str = flag(
        "FILE", "Where to write the policy.", default="policy.safetensors", name=["--output", "-o"], group=OUTPUT
    )


def learn(
    sources: Sources, /, *, log: LogFlags = LogFlags(), learner: LearnFlags = LearnFlags(),
    output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    logs = log.logs(sources)
    options = dict(vars(learner))
    file, search = options.pop("output"), options.pop("search")
    require_writable(sources, InputFlags(), file, learner.checkpoint)
    refuse_other_files(file)
    if ":" in learner.policy:
        options["policy"] = imported(learner.policy)
    with steps(lambda epoch, of, bound: f"pass {epoch} of {of}, bound {bound:+.5f}") as tell:
        if search:
            each = None if tell is None else lambda _, *done: tell(*done)
            shown: Any = learning.search(logs, _settings(options), progress=each)
            learned = shown.learner
        else:
            learned = learning.PolicyLearner(**options).fit(logs, progress=tell)
            shown = learned.answer_
    from surelift.learning.training.processes import process_group  # imports torch, which no other command needs

    if not process_group().first:
        return 0
    learned.save(file)
    show(shown, json=output.json)
    answer = learned.answer_
    bounded = isinstance(answer, Guarantee) and answer.about == "value" and not answer.doubts
    if not answer.certified and not bounded:
        say(f"The policy was written to {file} all the same, with what was found; it is not certified, so do not deploy "
            "it.")  # fmt: skip
        return 3
    say(f"Policy written to {file}, its certificate inside; confirm it with: surelift verify {file} SOURCE\n"
        f"Try it on fresh rounds with: surelift compare FRESH --learned {file} ...")  # fmt: skip
    return 0


def imported(place: str) -> Any:
    """The torch module at MODULE:NAME; a class or function is called without arguments."""
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"--policy {place} cannot be imported: {error}. Name MODULE:NAME, on the Python path.") from error
    return found() if isinstance(found, type) or not hasattr(found, "parameters") else found


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    fixed = {"policy": "linear", "learning_rate": None, "checkpoint": None, "progressive": None}
    if fixed != {name: options[name] for name in fixed}:
        raise UsageError(
            "--search tries policies and learning rates itself; remove --policy, --learning-rate, --progressive and "
            "--checkpoint."
        )
    return {
        f"{policy}, learning rate {rate:g}, weight decay {decay:g}": learning.PolicyLearner(
            **{**options, "policy": policy, "learning_rate": rate, "weight_decay": decay}
        )
        for policy, rates in (("linear", (0.001, 0.01, 0.1)), ("network", (0.0003, 0.001, 0.003)))
        for rate in rates
        for decay in (0.0, 0.0001)
    }
