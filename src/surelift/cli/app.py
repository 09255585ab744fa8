"""The command line: parse, run one command, and turn every outcome into an exit code."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from textwrap import indent
from typing import Annotated, Literal

from cyclopts import App, Group, Parameter
from cyclopts.exceptions import CycloptsError

from surelift import saving
from surelift.cli.commands import EXAMPLES, HELP, QUESTIONS, SECTIONS
from surelift.cli.invocation import typed, with_input
from surelift.cli.messages import as_flags, complaint
from surelift.cli.terminal import errors_heard, reopen_closed, say, silence
from surelift.errors import SureliftError
from surelift.version import __version__

NARROWEST = 40
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def version_and_loops() -> str:
    from surelift.kernels.library import loops_in_use

    return f"surelift {__version__} (loops: {loops_in_use()})"


app = App(
    name="surelift",
    help=HELP,
    version=version_and_loops,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), negative_iterable=()),
)
for title, commands in SECTIONS.items():
    section = Group.create_ordered(title)
    for place, (command, text) in enumerate(commands.items()):
        help_text = f"{text}\n\nExamples\n\n{indent(EXAMPLES[command], '    ')}"
        module = "questions" if command in QUESTIONS else "app" if command == "completion" else command
        # Imported when it is run.
        app.command(f"surelift.cli.{module}:{command}", help=help_text, group=section, sort_key=place)
for option in ("--help", "--version"):
    app[option].group = section


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="The shell to write it for.")], /
) -> int:
    print(app.generate_completion(shell=shell))
    return 0


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


def widen() -> None:
    """Give the help enough columns: in very few it would wrap its words for ever."""
    given = os.environ.get("COLUMNS", "")
    if (int(given) if given.isdecimal() else shutil.get_terminal_size().columns) < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)


def main(arguments: Sequence[str] | None = None) -> int:
    tokens = joined(list(sys.argv[1:] if arguments is None else arguments))
    saving.last_written = None
    try:
        with errors_heard(), typed(tokens):
            if "-" in tokens:
                # What is wrong is told, and --quiet known, before standard input is awaited.
                named = ["stdin" if token == "-" else token for token in tokens]
                app.parse_args(named, exit_on_error=False, print_error=False)
            with with_input(tokens) as given:
                code = app(given, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        say(complaint(error))
        return 2
    except SureliftError as error:
        say(f"surelift: {as_flags(str(error))}")
        return error.exit_code
    except KeyboardInterrupt:
        last = saving.last_written
        kept = "nothing was written" if last is None else f"what was written before that is whole, {last} the last"
        say(f"surelift: interrupted; {kept}.")
        return 130
    except BrokenPipeError:
        silence(sys.stdout)
        return 1
    except OSError as error:
        if error.filename is None:
            silence(sys.stdout)
        say(f"surelift: {error.filename or 'standard output'} cannot be used: {saving.reason(error)}.")
        return 2
    except Exception as error:
        if os.environ.get("SURELIFT_DEBUG"):
            raise
        say(f"surelift: unexpected {type(error).__name__}: {error}\nThis is a fault in surelift, not a verdict on your "
            "policy. SURELIFT_DEBUG=1 shows where it happened.")  # fmt: skip
        return 1


def run() -> None:
    reopen_closed()
    widen()
    code = main()
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # One of several processes that learned together. Everything is written; do not wait for the threads of torch,
        # which now and then abort the exit.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
