"""Messages in the words of the command line.

The library names Python arguments in its advice, and cyclopts speaks of tokens and parameters.
"""

import re
import shlex
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.exceptions import CycloptsError

# Flags of single commands that messages name.
_OWN = {
    "many", "name", "prior", "prior_share", "holdout", "epochs", "objective", "checkpoint", "level", "estimator", "alpha",
    "strength", "model",
}  # fmt: skip
_CALLS = {
    "by=bins('column', [18, 30, 50])": "--by COL:18,30,50",
    "such as bins('column', [18, 30, 50]), or list several for": "--by COL:18,30,50, or repeat --by for",
    "Outcome(column, range=(low, high))": "the range, COL:range=LOW,HIGH,",
    "models.given('column')": "--control model:COL",
    'propensity=wins("k", "m")': "--propensity-wins K,M",
    "propensity=wins(...)": "--propensity-wins",
    "leave includes_played out": "leave ',played' out",
    "in policies=": "in --predictions, or in Python as policies=",
    "in module=": "in Python, as module=",
}
_ARGUMENT = re.compile(r"(?<!as )\b([a-z_]+)=(\(low, high\)|\[\.\.\.\]|True|'[^']*')?")
_VALUES = {"(low, high)": " LOW,HIGH", "[...]": " A,B,...", "True": ""}


def as_flags(message: str) -> str:
    """Turn the Python arguments in a message into flags.

    >>> as_flags("declare it in reward_range=(low, high), or actions=[...]; name it in action=.")
    'declare it in --reward-range LOW,HIGH, or --actions A,B,...; name it in --action.'
    """
    from surelift.cli.log_flags import LogFlags
    from surelift.cli.method_flags import ValueFlags
    from surelift.cli.output import OutputFlags
    from surelift.cli.policy_flags import PolicyFlags
    from surelift.cli.question_flags import OverFlags, SegmentFlags

    groups = (LogFlags, PolicyFlags, ValueFlags, OverFlags, SegmentFlags, OutputFlags)
    known = _OWN.union(item.name for group in groups for item in fields(group))

    def flag(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in known:
            return match[0]
        plain = " " + shlex.quote(value.strip("'")) if value else ""
        return f"--{name.replace('_', '-')}{_VALUES.get(value, plain)}"

    for call, spelled in _CALLS.items():
        message = message.replace(call, spelled)
    return _ARGUMENT.sub(flag, message)


def complaint(error: "CycloptsError") -> str:
    from difflib import get_close_matches

    from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnusedCliTokensError

    from surelift.cli.commands import EXAMPLES

    command, wrong = " ".join(("surelift", *(error.command_chain or ()))), str(error)
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        given, *rest = error.unused_tokens
        later = next((token for token in rest if token in EXAMPLES), None)
        near = get_close_matches(given, [*EXAMPLES, "--help", "--version"], n=1)
        hint = f". Did you mean '{near[0]}'?" if near else "."
        hint = hint if later is None else f"; the command comes first: surelift {later} {given} ..."
        wrong = f"there is no command {given!r}{hint}"
    elif isinstance(error, MissingArgumentError) and error.argument is not None:
        parameter = error.argument.parameter
        flag = error.keyword or next((token.keyword for token in error.argument.tokens if token.keyword), None)
        needed = f"'{command}' needs {error.argument.name}:"
        if flag is not None:
            needed = f"{flag} needs a value: {flag} {parameter.metavar or 'VALUE'}."
        wrong = f"{needed} {parameter.help}"
    elif isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        wrong = f"what is {error.unused_tokens[0]!r}? Sources come before the flags, and every other value after its flag."
    return f"surelift: {wrong}\nSee '{command} --help'."
