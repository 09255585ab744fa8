"""surelift completion: a shell completion script."""

from typing import Annotated, Literal

from cyclopts import Parameter


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="Your shell.")], /) -> int:
    """Print a shell completion script: source it, or put it where your shell looks for it.

    For bash: surelift completion bash > ~/.local/share/bash-completion/completions/surelift
    """
    from surelift.cli.app import app

    print(app.generate_completion(shell=shell))
    return 0
