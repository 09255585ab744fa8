"""surelift learn: a new policy from the log, with its certificate."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from surelift import learning
from surelift.cli.options import WHOLE, JsonFlag, LogFlags, PolicyFlags, Sources
from surelift.cli.output import require_writable, show
from surelift.cli.terminal import bar, say, watched
from surelift.learning.files import refuse_other_files
from surelift.results.guarantee import Guarantee

LEARNING = Group.create_ordered("The learning")


def learn(
    sources: Sources,
    /,
    *,
    log: LogFlags = LogFlags(),
    policy: Annotated[
        str, Parameter(name=["--output", "-o"], help="File to write the policy to.", group=LEARNING)
    ] = "policy.safetensors",
    kind: Annotated[
        Literal["gaussian", "softmax"],
        Parameter(name="--kind", help="gaussian: a random linear rule, certified on all rounds. softmax: on held-out ones.",
                  group=LEARNING),
    ] = "gaussian",
    objective: Annotated[
        str | None,
        Parameter(help="What to maximise: improvement, value, ls-lin, ... (gaussian); logarithmic-smoothing, ips, snips "
                       "(softmax).", show_default=False, group=LEARNING),
    ] = None,
    control: Annotated[
        Literal["auto", "none", "weights", "model"],
        Parameter(help="What narrows the bound: weights, or a reward model refitted along the way, in the order of --time.",
                  group=LEARNING),
    ] = "auto",
    delta: Annotated[float, Parameter(help="The probability of error.", group=LEARNING)] = 0.05,
    prior: Annotated[
        Literal["fitted", "zero"],
        Parameter(help="Where the rule starts: fitted on the first rounds, which then do not certify anything, or zero.",
                  group=LEARNING),
    ] = "fitted",
    prior_share: Annotated[float, Parameter(help="The share of rounds to fit the prior on.", group=LEARNING)] = 0.1,
    holdout: Annotated[float, Parameter(help="For a softmax, the share of held-out rounds.", group=LEARNING)] = 0.3,
    epochs: Annotated[int, WHOLE, Parameter(help="Passes over the rounds, at most.", group=LEARNING)] = 10,
    batch_size: Annotated[int, WHOLE, Parameter(help="Rounds per step.", group=LEARNING)] = 128,
    learning_rate: Annotated[float, Parameter(help="Learning rate (Adam).", group=LEARNING)] = 1e-2,
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
    require_writable(sources, PolicyFlags(), policy, checkpoint)
    refuse_other_files(policy)
    learner = learning.PolicyLearner(
        kind, objective=objective, control=control, delta=delta, prior=prior, prior_share=prior_share, holdout=holdout,
        epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, seed=seed, device=device, checkpoint=checkpoint,
    )  # fmt: skip
    with _progress(epochs) as tell:
        learner.fit(logs, progress=tell)
    from surelift.learning.training.processes import process_group  # imports torch, which no other command needs

    if not process_group().first:
        return 0
    learner.save(policy)
    show(learner.answer_, json=json)
    say(f"Policy written to {policy}. Its certificate is inside: surelift verify {policy} SOURCE confirms it, and "
        f"surelift compare FRESH --learned {policy} ... tries it on fresh rounds.")  # fmt: skip
    answer = learner.answer_
    bounded = isinstance(answer, Guarantee) and answer.about == "value" and not answer.doubts
    return 0 if answer.certified or bounded else 3


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
