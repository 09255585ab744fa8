"""surelift learn: a new policy from the log, with its certificate."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from surelift import learning
from surelift.cli.flag import WHOLE
from surelift.cli.log_flags import LogFlags
from surelift.cli.options import JsonFlag, PolicyFlags, Sources
from surelift.cli.output import require_writable, show
from surelift.cli.terminal import bar, say, watched
from surelift.errors import UsageError
from surelift.learning.files import refuse_other_files
from surelift.results.guarantee import Guarantee

LEARNING = Group.create_ordered("The learning")


def learn(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    output: Annotated[
        str, Parameter(name=["--output", "-o"], help="File to write the policy to.", group=LEARNING)
    ] = "policy.safetensors",
    policy: Annotated[
        str,
        Parameter(help="linear: a softmax of linear scores. network: of a hidden layer of 256 units. gaussian: a random "
                       "linear rule, certified on the rounds it learns from. Or MODULE:NAME, a torch module to import.",
                  group=LEARNING),
    ] = "linear",
    search: Annotated[
        bool,
        Parameter(help="Try linear and network policies at several learning rates and regularizations, choose one on rounds "
                       "that certify nothing, and certify it once.", negative="", group=LEARNING),
    ] = False,
    objective: Annotated[
        str | None,
        Parameter(help="What to maximise: logarithmic-smoothing, ips, snips; for a gaussian policy improvement, value, "
                       "ls-lin, ...", show_default=False, group=LEARNING),
    ] = None,
    control: Annotated[
        Literal["auto", "none", "weights", "model"],
        Parameter(help="What narrows the bound of a gaussian policy: weights, or a reward model refitted along the way, in "
                       "the order of --time.", group=LEARNING),
    ] = "auto",
    method: Annotated[
        str, Parameter(help="The bound on held-out rounds: mixture, or blocks for independent rounds.", group=LEARNING)
    ] = "mixture",
    delta: Annotated[float, Parameter(help="The probability of error.", group=LEARNING)] = 0.05,
    holdout: Annotated[float, Parameter(help="The share of rounds held out to certify the policy.", group=LEARNING)] = 0.3,
    progressive: Annotated[
        int | None, WHOLE,
        Parameter(help="Instead of holding out rounds: this many stages, each learned from all rounds before a stretch of "
                       "the log and judged on it. The policy draws one of them at every decision.", show_default=False,
                  group=LEARNING),
    ] = None,
    prior: Annotated[
        Literal["fitted", "zero"],
        Parameter(help="Where a gaussian policy starts: fitted on the first rounds, which then certify nothing, or zero.",
                  group=LEARNING),
    ] = "fitted",
    prior_share: Annotated[float, Parameter(help="The share of rounds to fit the prior on.", group=LEARNING)] = 0.1,
    epochs: Annotated[int, WHOLE, Parameter(help="Passes over the rounds, at most.", group=LEARNING)] = 100,
    batch_size: Annotated[int, WHOLE, Parameter(help="Rounds per step.", group=LEARNING)] = 128,
    learning_rate: Annotated[
        float | None,
        Parameter(help="Learning rate (Adam); by default 0.001 for networks and modules, else 0.01.", show_default=False,
                  group=LEARNING),
    ] = None,
    seed: Annotated[int, WHOLE, Parameter(help="Random seed; the same seed gives the same policy.", group=LEARNING)] = 0,
    device: Annotated[str, Parameter(help="Where to train: cpu or cuda.", group=LEARNING)] = "cpu",
    checkpoint: Annotated[
        str | None,
        Parameter(help="File that keeps the training state; a killed run resumes from it.", show_default=False,
                  group=LEARNING),
    ] = None,
    json: JsonFlag = False,
) -> int:  # fmt: skip
    logs = log.logs(sources)
    require_writable(sources, PolicyFlags(), output, checkpoint)
    refuse_other_files(output)
    options: dict[str, Any] = {
        "policy": policy if ":" not in policy else imported(policy), "objective": objective, "control": control,
        "method": method, "delta": delta, "holdout": holdout, "progressive": progressive, "prior": prior,
        "prior_share": prior_share, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate,
        "seed": seed, "device": device, "checkpoint": checkpoint,
    }  # fmt: skip
    with _progress(epochs) as tell:
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
    learner.save(output)
    show(shown, json=json)
    answer = learner.answer_
    bounded = isinstance(answer, Guarantee) and answer.about == "value" and not answer.doubts
    if not answer.certified and not bounded:
        say(f"The policy was written to {output} all the same, with what was found; it is not certified, so do not deploy "
            "it.")  # fmt: skip
        return 3
    say(f"Policy written to {output}. Its certificate is inside: surelift verify {output} SOURCE confirms it, and "
        f"surelift compare FRESH --learned {output} ... tries it on fresh rounds.")  # fmt: skip
    return 0


def imported(place: str) -> Any:
    """The torch module at MODULE:NAME; a class or function is called without arguments."""
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"--policy {place} cannot be imported: {error}. Name MODULE:NAME, on the Python path."
        ) from error
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


@contextmanager
def _progress(epochs: int) -> Iterator[Callable[[int, int, float], None] | None]:
    """Passes over the rounds, with the bound so far; on a terminal only."""
    if not watched():
        yield None
        return
    from rich.progress import BarColumn, TextColumn

    done, bound = TextColumn("pass {task.completed} of {task.total}"), TextColumn("bound {task.fields[bound]}")
    with bar(done, BarColumn(), bound, total=epochs, bound="...") as update:
        yield lambda epoch, _, bound: update(completed=epoch, bound=f"{bound:+.5f}")
