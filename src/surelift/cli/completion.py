"""surelift completion: a script that completes commands and flags."""

from typing import Annotated, Literal

from cyclopts import Parameter

from surelift.cli.app import app


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="The shell to write it for.")], /
) -> int:
    print(app.generate_completion(shell=shell))
    return 0
