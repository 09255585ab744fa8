"""surelift reproduce: the paper's tables and figures on real data, next to the published numbers."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.flag import OUTPUT, flag, flags
from surelift.cli.output import quiet
from surelift.cli.progress import steps
from surelift.cli.terminal import print_answer, say
from surelift.errors import UsageError


@flags(OUTPUT)
class RunFlags:
    quick: bool = flag("", "A reduced run of at most two minutes; its page says so.", default=False)
    output: str | None = flag("FOLDER", "For tables, figures and a summary page.")
    quiet: bool = quiet()


def reproduce(
    what: Annotated[
        Literal["ope", "ops", "opl", "obd"],
        Parameter(help="ope: evaluation. ops: selection. opl: learning. obd: real logs (Open Bandit Dataset)."),
    ],
    /, *, run: RunFlags = RunFlags(),
) -> int:  # fmt: skip
    folder = Path(run.output or f"reproduce-{what}{'-quick' if run.quick else ''}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be used as a folder: {error.strerror}; name another in --output.") from error
    with steps(lambda done, of, name: f"{done} of {of} done, last {name}") as tell:
        # Imported when it is asked for: learning brings torch.
        page: Path = import_module(f"surelift.reproduce.{what}").reproduce(folder, quick=run.quick, tell=tell)
    print_answer(page.read_text())
    say(f"Tables, figures and this page are in {folder}: {page}")
    return 0
