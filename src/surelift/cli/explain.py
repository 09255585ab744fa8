"""surelift explain: what a method promises, what a word means, what a certificate says."""

from pathlib import Path
from textwrap import fill
from typing import Annotated

from cyclopts import Parameter

from surelift.bounds import BOUNDS
from surelift.cli.output import say
from surelift.decisions.certificate import Certificate
from surelift.decisions.verify import damage_told
from surelift.errors import UsageError
from surelift.estimates import ESTIMATES
from surelift.report.words import WORDS, explain_certificate


def explain(
    topic: Annotated[str | None, Parameter(help="A method, a word, or the file of a certificate.")] = None, /
) -> int:
    """What a method promises, what a word means, or what a certificate says."""
    if topic is None:
        say("surelift explain TOPIC, where TOPIC is one of\n")
        say(fill(f"methods: {', '.join(BOUNDS)}", initial_indent="  ", subsequent_indent="    "))
        say(fill(f"estimates: {', '.join(ESTIMATES)}", initial_indent="  ", subsequent_indent="    "))
        say(fill(f"words: {', '.join(WORDS)}", initial_indent="  ", subsequent_indent="    "))
        say("  or the file of a certificate")
    elif topic in BOUNDS:
        bound = BOUNDS[topic]
        say(f"{topic}\n\n{fill(bound.says)}\n")
        say(f"Promise: {bound.promise}.  Needs: {bound.needs}.  Options: {', '.join(bound.options) or 'none'}.")
        say(f"Proved: {bound.proved}.")
        if topic in ESTIMATES:
            say(f"\nAs a point estimate (estimator={topic!r}): {ESTIMATES[topic].says}")
    elif topic in ESTIMATES:
        estimate = ESTIMATES[topic]
        say(f"{topic}\n\n{fill(estimate.says)} {fill('A point estimate carries no promise.')}\n")
        say(f"Hyper-parameter: {estimate.parameter or 'none'}.  From: {estimate.seen}.")
    elif word := WORDS.get(topic) or WORDS.get(topic.replace("-", " ")):
        say(f"{topic}\n\n{fill(word)}")
    elif Path(topic).is_file():
        certificate = Certificate.load(topic)
        with damage_told():
            say(explain_certificate(certificate))
    else:
        raise UsageError(f"nothing is known about {topic!r}; 'surelift explain' lists the topics.")
    return 0
