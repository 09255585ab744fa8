"""What is wrong with a command line, in our words: cyclopts speaks of tokens and parameters."""

from difflib import get_close_matches

from cyclopts.exceptions import CycloptsError, MissingArgumentError, UnknownCommandError, UnusedCliTokensError

from surelift.cli.commands import SECTIONS


def complaint(error: CycloptsError) -> str:
    command = " ".join(("surelift", *(error.command_chain or ())))
    return f"surelift: {_words(error, command)}\nSee '{command} --help'."


def _words(error: CycloptsError, command: str) -> str:
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        given = error.unused_tokens[0]
        known = [name for section in SECTIONS.values() for name in section]
        later = next((token for token in error.unused_tokens[1:] if token in known), None)
        if later is not None:
            return f"there is no command {given!r}; the command comes first: surelift {later} {given} ..."
        near = get_close_matches(given, [*known, "--help", "--version"], n=1)
        return f"there is no command {given!r}." + (f" Did you mean '{near[0]}'?" if near else "")
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        told = error.argument.parameter
        flag = error.keyword or next((token.keyword for token in error.argument.tokens if token.keyword), None)
        if flag is not None:
            return f"{flag} needs a value: {flag} {told.metavar or 'VALUE'}. {told.help}"
        return f"'{command}' needs {error.argument.name}: {told.help}"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"what is {error.unused_tokens[0]!r}? Sources come before the flags, and every other value after its flag."
    return str(error)
