"""surelift completion: the script with which a shell completes commands and flags."""

from typing import Annotated, Literal

from cyclopts import Parameter


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="The shell to write it for.")], /
) -> int:
    """Print what makes a shell complete commands and flags: source it, or put it where your shell looks.

    For bash: surelift completion bash > ~/.local/share/bash-completion/completions/surelift
    """
    from surelift.cli.app import app

    print(app.generate_completion(shell=shell))
    return 0
