"""surelift explain: what a method promises, what a word means, what a certificate says."""

from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import Annotated

from cyclopts import Parameter

from surelift.bounds import BOUNDS
from surelift.decisions.certificate import Certificate
from surelift.decisions.verify import damage_told
from surelift.errors import UsageError
from surelift.estimates import ESTIMATES
from surelift.views.words import WORDS, explain_certificate


def explain(
    *words: Annotated[
        str, Parameter(name="TOPIC", help="A method, an estimate, a word, or the file of a certificate.")
    ],
) -> int:
    """What a method promises, what a word means, or what a certificate says."""
    topic = " ".join(words)
    if topic.lower() in (*BOUNDS, *ESTIMATES, *WORDS) and not Path(topic).is_file():
        topic = topic.lower()
    if not topic:
        print("surelift explain TOPIC, where TOPIC is one of\n")
        print(
            fill(f"methods: {', '.join(BOUNDS)}", initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        )
        print(
            fill(
                f"estimates: {', '.join(ESTIMATES)}",
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            )
        )
        print(fill(f"words: {', '.join(WORDS)}", initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
        print("  or the file of a certificate")
    elif topic in BOUNDS:
        bound = BOUNDS[topic]
        print(f"{topic}\n\n{fill(bound.says)}\n")
        print(f"Promise: {bound.promise}.  Needs: {bound.needs}.  Options: {', '.join(bound.options) or 'none'}.")
        print(f"Proved: {bound.proved}.")
        if topic in ESTIMATES:
            print(f"\nAs a point estimate (estimator={topic!r}): {ESTIMATES[topic].says}")
    elif topic in ESTIMATES:
        estimate = ESTIMATES[topic]
        print(f"{topic}\n\n{fill(estimate.says)} {fill('A point estimate carries no promise.')}\n")
        print(f"Hyper-parameter: {estimate.parameter or 'none'}.  From: {estimate.seen}.")
    elif word := WORDS.get(topic) or WORDS.get(topic.replace("-", " ")):
        print(f"{topic}\n\n{fill(word)}")
    elif Path(topic).is_file():
        certificate = Certificate.load(topic)
        with damage_told():
            print(explain_certificate(certificate))
    else:
        near = get_close_matches(topic.lower(), [*BOUNDS, *ESTIMATES, *WORDS], n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UsageError(f"nothing is known about {topic!r}.{hint} 'surelift explain' lists the topics.")
    return 0
