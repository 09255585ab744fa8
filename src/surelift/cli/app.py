"""The command line: parse, run one command, and turn every outcome into an exit code."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.exceptions import CycloptsError

from surelift.cli.check import check
from surelift.cli.compare import compare
from surelift.cli.demo import demo
from surelift.cli.evaluate import evaluate
from surelift.cli.explain import explain
from surelift.cli.gate import gate
from surelift.cli.learn import learn
from surelift.cli.monitor import monitor
from surelift.cli.options import LogFlags, MethodFlags, MomentFlags, OutputFlags, OverFlags, PolicyFlags, SegmentFlags
from surelift.cli.output import say
from surelift.cli.power import power
from surelift.cli.report import report
from surelift.cli.reproduce import reproduce
from surelift.cli.select import select
from surelift.cli.simulate import simulate
from surelift.cli.verify import verify
from surelift.errors import SureliftError
from surelift.kernels.library import loops_in_use
from surelift.version import __version__

FLAGS = {
    field.name
    for kind in (LogFlags, PolicyFlags, MethodFlags, MomentFlags, OverFlags, SegmentFlags, OutputFlags)
    for field in fields(kind)
}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
HELP = """Is the new policy better than production, and how sure is that?

Off-policy evaluation from logged decisions, with confidence bounds that hold
in finite samples and at any number of looks. Each row of a log needs the
reward (--reward), production's probability of the logged action (--propensity),
and the candidate's probability of the same action (--policy).

    surelift compare LOG.parquet --reward click --propensity p --policy p_new

Exit codes: 0 done or certified, 3 not certified, 4 logs not fit,
2 wrong usage, 1 unexpected error.
"""

app = App(
    name="surelift",
    help=HELP,
    version=lambda: f"surelift {__version__} (loops: {loops_in_use()})",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), negative_iterable=()),
)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="The shell to write it for.")], /
) -> int:
    """Print a shell completion script: source it, or put it where your shell looks for it.

    For bash: surelift completion bash > ~/.local/share/bash-completion/completions/surelift
    """
    print(app.generate_completion(shell=shell))
    return 0


for command in (
    check, evaluate, compare, select, gate, report, monitor, learn, power, simulate, verify, explain, reproduce,
    completion, demo,
):  # fmt: skip
    app.command(command)


def as_flags(message: str) -> str:
    """Turn the Python arguments in a message into flags.

    >>> as_flags("declare it in reward_range=(low, high), or actions=[...]; name it in action=.")
    'declare it in --reward-range LOW,HIGH, or --actions A,B,...; name it in --action.'
    """

    def flag(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in FLAGS:
            return match[0]
        plain = " " + value.strip("'") if value else ""
        given = {"(low, high)": " LOW,HIGH", "[...]": " A,B,...", "True": ""}.get(value, plain)
        return f"--{name.replace('_', '-')}{given}"

    return re.sub(r"\b([a-z_]+)=(\(low, high\)|\[\.\.\.\]|True|'[^']*')?", flag, message)


def joined(tokens: list[str]) -> list[str]:
    """A range may be given as two numbers.

    >>> joined(["--reward-range", "0", "80", "log.csv"])
    ['--reward-range', '0,80', 'log.csv']
    """
    for place in [i for i, token in enumerate(tokens) if token == "--reward-range"][::-1]:
        pair = tokens[place + 1 : place + 3]
        if len(pair) == 2 and all(NUMBER.fullmatch(token) for token in pair):
            tokens[place + 1 : place + 3] = [",".join(pair)]
    return tokens


def main(arguments: Sequence[str] | None = None) -> int:
    tokens = joined(list(sys.argv[1:] if arguments is None else arguments))
    try:
        code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        command = f"{tokens[0]} " if tokens and tokens[0] in app else ""
        say(f"surelift: {error}\nSee 'surelift {command}--help'.")
        return 2
    except SureliftError as error:
        say(f"surelift: {as_flags(str(error))}")
        return error.exit_code
    except KeyboardInterrupt:
        say("surelift: interrupted; nothing was written.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("SURELIFT_DEBUG"):
            raise
        say(f"surelift: unexpected {type(error).__name__}: {error}\nThis is a fault in surelift, not a verdict on your "
            "policy. SURELIFT_DEBUG=1 shows where it happened.")  # fmt: skip
        return 1


def run() -> None:
    code = main()
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # One of several processes that learned together. Everything is written; do not wait for the threads of torch,
        # which now and then abort the exit.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
