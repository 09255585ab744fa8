"""Advice in the spelling of the command line: messages of the library name Python arguments."""

import re
import shlex

# Flags of single commands that messages name.
_OWN = {
    "many",
    "sides",
    "name",
    "prior",
    "prior_share",
    "holdout",
    "epochs",
    "objective",
    "checkpoint",
    "level",
    "estimator",
    "alpha",
    "strength",
    "model",
}
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


def as_flags(message: str) -> str:
    """Turn the Python arguments in a message into flags.

    >>> as_flags("declare it in reward_range=(low, high), or actions=[...]; name it in action=.")
    'declare it in --reward-range LOW,HIGH, or --actions A,B,...; name it in --action.'
    """
    from surelift.cli.options import FLAGS

    def flag(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in FLAGS | _OWN:
            return match[0]
        plain = " " + shlex.quote(value.strip("'")) if value else ""
        given = {"(low, high)": " LOW,HIGH", "[...]": " A,B,...", "True": ""}.get(value, plain)
        return f"--{name.replace('_', '-')}{given}"

    for call, spelled in _CALLS.items():
        message = message.replace(call, spelled)
    return _ARGUMENT.sub(flag, message)
