"""surelift learn: a new policy from the log, with its certificate."""

from importlib import import_module
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from surelift import learning
from surelift.cli.flag import ANSWER, LEARNING, OUTPUT, WHOLE, flag
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import AnswerFlags, DeltaFlag
from surelift.cli.output import require_writable, show
from surelift.cli.policy_flags import PolicyFlags, Sources
from surelift.cli.progress import steps
from surelift.cli.terminal import say
from surelift.errors import UsageError
from surelift.learning.files import refuse_other_files
from surelift.results.guarantee import Guarantee


def learn(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policy: Annotated[
        str,
        Parameter(help="linear: a softmax of linear scores. network: of a hidden layer of 256 units. gaussian: a random "
                       "linear rule, certified on the rounds it learns from. Or MODULE:NAME, a torch module to import.",
                  metavar="NAME", group=LEARNING),
    ] = "linear",
    search: Annotated[
        bool,
        flag("", "Try linear and network policies at several learning rates and regularizations, choose one on rounds that "
             "certify nothing, and certify it once.", group=LEARNING),
    ] = False,
    objective: Annotated[
        str | None,
        flag("NAME", "What to maximise: logarithmic-smoothing, ips, snips; for a gaussian policy improvement, value, "
             "ls-lin, ...", group=LEARNING),
    ] = None,
    control: Annotated[
        Literal["auto", "none", "weights", "model"],
        Parameter(help="What narrows the bound of a gaussian policy: weights, or a reward model refitted along the way, in "
                       "the order of --time.", metavar="auto|none|weights|model", show_choices=False, group=LEARNING),
    ] = "auto",
    holdout: Annotated[
        float, Parameter(help="The share of rounds held out to certify the policy.", metavar="P", group=LEARNING)
    ] = 0.3,
    progressive: Annotated[
        int | None, WHOLE,
        flag("N", "Instead of holding out rounds: this many stages, each learned from all rounds before a stretch of the "
             "log and judged on it. The policy draws one of them at every decision.", group=LEARNING),
    ] = None,
    prior: Annotated[
        Literal["fitted", "zero"],
        Parameter(help="Where a gaussian policy starts: fitted on the first rounds, which then certify nothing, or zero.",
                  metavar="fitted|zero", show_choices=False, group=LEARNING),
    ] = "fitted",
    prior_share: Annotated[
        float, Parameter(help="The share of rounds to fit the prior on.", metavar="P", group=LEARNING)
    ] = 0.1,
    epochs: Annotated[
        int, WHOLE, Parameter(help="Passes over the rounds, at most.", metavar="N", group=LEARNING)
    ] = 100,
    batch_size: Annotated[int, WHOLE, Parameter(help="Rounds per step.", metavar="N", group=LEARNING)] = 128,
    learning_rate: Annotated[
        float | None,
        flag("X", "Learning rate (Adam); by default 0.001 for networks and modules, else 0.01.", group=LEARNING),
    ] = None,
    seed: Annotated[
        int, WHOLE, Parameter(help="The same seed gives the same policy.", metavar="N", group=LEARNING)
    ] = 0,
    device: Annotated[str, Parameter(help="Where to train.", metavar="cpu|cuda", group=LEARNING)] = "cpu",
    checkpoint: Annotated[
        str | None, flag("FILE", "Keeps the training state; a killed run resumes from it.", group=LEARNING)
    ] = None,
    method: Annotated[
        str,
        Parameter(help="The bound on held-out rounds; blocks are for independent rounds.", metavar="mixture|blocks",
                  group=ANSWER),
    ] = "mixture",
    delta: DeltaFlag = 0.05,
    file: Annotated[
        str, Parameter(name=["--output", "-o"], help="Where to write the policy.", metavar="FILE", group=OUTPUT)
    ] = "policy.safetensors",
    output: AnswerFlags = AnswerFlags(),
) -> int:  # fmt: skip
    logs = log.logs(sources)
    require_writable(sources, PolicyFlags(), file, checkpoint)
    refuse_other_files(file)
    options: dict[str, Any] = {
        "policy": policy if ":" not in policy else imported(policy), "objective": objective, "control": control,
        "method": method, "delta": delta, "holdout": holdout, "progressive": progressive, "prior": prior,
        "prior_share": prior_share, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate,
        "seed": seed, "device": device, "checkpoint": checkpoint,
    }  # fmt: skip
    with steps(lambda epoch, of, bound: f"pass {epoch} of {of}, bound {bound:+.5f}") as tell:
        if search:
            each = None if tell is None else lambda _, *told: tell(*told)
            shown: Any = learning.search(logs, _settings(options), progress=each)
            learner = shown.learner
        else:
            learner = learning.PolicyLearner(**options).fit(logs, progress=tell)
            shown = learner.answer_
    from surelift.learning.training.processes import process_group  # imports torch, which no other command needs

    if not process_group().first:
        return 0
    learner.save(file)
    show(shown, json=output.json)
    answer = learner.answer_
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
    """The learners of a search, by name."""
    fixed = {name: options[name] for name in ("policy", "learning_rate", "checkpoint", "progressive")}
    if fixed != {"policy": "linear", "learning_rate": None, "checkpoint": None, "progressive": None}:
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
