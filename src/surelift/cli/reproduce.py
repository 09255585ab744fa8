"""surelift reproduce: the paper's tables and figures on real data, next to the published numbers."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.terminal import say, watched
from surelift.errors import UsageError


def reproduce(
    what: Annotated[
        Literal["ope", "ops", "opl", "obd"],
        Parameter(help="Evaluation, selection, learning, or real logs (Open Bandit Dataset)."),
    ],
    /,
    *,
    quick: Annotated[
        bool, Parameter(negative="", help="A reduced run of at most two minutes; its page says so.")
    ] = False,
    output: Annotated[
        str | None, Parameter(help="Folder for tables, figures and a summary page.", show_default=False)
    ] = None,
) -> int:
    folder = Path(output or f"reproduce-{what}{'-quick' if quick else ''}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be used as a folder: {error.strerror}; name another in --output.") from error
    # Imported when it is asked for: learning brings torch.
    page: Path = import_module(f"surelift.reproduce.{what}").reproduce(folder, quick=quick, tell=_tell)
    say(page.read_text())
    say(f"Tables, figures and this page are in {folder}: {page}")
    return 0


def _tell(done: int, of: int, name: str) -> None:
    if watched():
        sys.stderr.write(f"\r\x1b[K{done} of {of} done, last {name}" + ("\n" if done == of else ""))
        sys.stderr.flush()
    elif done == of or done % max(1, of // 10) == 0:
        say(f"{done} of {of} done, last {name}")
