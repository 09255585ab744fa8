"""What a monitor cannot ask, since it looks again and again, and keeps sums; and what it does not count."""

from surelift.controls.refitted import Refitted
from surelift.errors import LogsError, UsageError
from surelift.logs.declaration import Declaration
from surelift.logs.settled import aloud
from surelift.questions.loggers import NO_MONITOR
from surelift.questions.question import Question
from surelift.statistics.sums import Sums


def refuse_one_look(question: Question) -> None:
    """A monitor looks again and again, and keeps sums, not rounds."""
    method = question.method
    if question.declaration.balances_counts:
        raise UsageError(NO_MONITOR)
    if method.bound.in_blocks:
        raise UsageError(
            "a monitor looks again and again, but method 'blocks' holds at one look: rounds that come later would be dealt "
            "into blocks that were bet on already. Leave the default, 'mixture', and use blocks on a log that is complete."
        )
    if method.promise != "any number of looks":
        raise UsageError(
            f"a monitor looks again and again, but method {method.name!r} with these options promises {method.promise}; "
            "leave them at their defaults, or name a smoothing."
        )
    if isinstance(method.model, Refitted):
        raise UsageError(
            "a monitor keeps sums, not rounds, so it cannot refit a reward model; give one that is fitted: "
            "models.fitted_on(other_logs) or models.given('column')."
        )
    described = {f"policy {name!r}": policy.describe() for name, policy in question.everyone.items()}
    if method.model is not None:
        described["the reward model"] = method.model.describe()
    for subject, form in described.items():
        while "of" in form:
            form = form["of"]
        if form.get("kind") == "array":
            raise UsageError(f"{subject} is an array, which lies beside one batch only; give a column or a function.")


def refuse_unsettled(declared: Declaration, sums: Sums) -> None:
    """What is left out of a batch would never be counted, or the batch would count twice when it is sent again."""
    for told in aloud(declared, sums.left_out, sums.rows):
        said = told.replace(", and were left out", " in this batch")
        raise LogsError(f"{said}\nSend them in a later batch, once their rewards are final; nothing was counted.")
