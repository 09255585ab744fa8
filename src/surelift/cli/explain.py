"""surelift explain: what a method promises, what a word means, what a certificate says, what a policy is."""

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from textwrap import fill
from typing import Annotated, Any

from cyclopts import Parameter

from surelift import capabilities
from surelift.bounds import BOUNDS
from surelift.cli.terminal import print_answer
from surelift.errors import UsageError
from surelift.estimates import ESTIMATES
from surelift.learning import files
from surelift.learning.data.layout import FeatureLayout
from surelift.learning.learned import summary
from surelift.questions.certificate import Certificate, as_damage
from surelift.results.outcomes import outcome_from
from surelift.results.provenance import counted_in
from surelift.views.formats import rounded
from surelift.views.glossary import ALIASES, WORDS, word_for

COMBINATIONS = "combinations"


def explain(
    *words: Annotated[
        str, Parameter(name="TOPIC", help="A method, an estimator, a word, a certificate file or a policy file.")
    ],
) -> int:
    print_answer("\n".join(_explained(" ".join(words))))
    return 0


def _explained(topic: str) -> Iterator[str]:
    is_file = os.path.isfile(topic)
    name = topic if is_file else topic.lower()
    if not topic:
        yield "surelift explain TOPIC, where TOPIC is one of\n"
        for kind, topics in (("methods", BOUNDS), ("estimates", ESTIMATES), ("words", WORDS)):
            yield fill(f"  {kind}: {', '.join(topics)}", subsequent_indent="    ", break_on_hyphens=False)
        yield "  combinations: what does not go together, and why"
        yield "  or a certificate file, or a policy file"
    elif name in BOUNDS:
        bound = BOUNDS[name]
        yield f"{name}\n\n{fill(bound.says)}\n"
        yield f"Promise: {bound.promise}.  Needs: {bound.needs}.  Options: {', '.join(bound.options) or 'none'}."
        yield f"Proved: {bound.proved}."
        if name in ESTIMATES:
            yield f"\nAs a point estimate (--estimator {name}): {ESTIMATES[name].says}"
    elif name in ESTIMATES:
        estimate = ESTIMATES[name]
        yield f"{name}\n\n{fill(f'{estimate.says} A point estimate carries no promise.')}\n"
        yield f"Hyper-parameter: {estimate.parameter or 'none'}.  From: {estimate.seen}."
    elif is_file:
        with as_damage():
            policy = topic.lower().endswith(".safetensors") or files.is_policy(topic)
            yield from explain_policy(topic) if policy else explain_certificate(Certificate.load(topic))
    elif topic == COMBINATIONS:
        yield "What does not go together, and why; everything else does.\n"
        for (one, other), reason in capabilities.NOT_TOGETHER.items():
            yield f"{capabilities.declared(one)} and {capabilities.declared(other)}"
            yield fill(f"{reason}.", initial_indent="    ", subsequent_indent="    ")
        yield "\nWhat needs something else\n"
        for feature, (_, reason) in capabilities.NEEDS.items():
            yield fill(f"{feature} {reason}.", subsequent_indent="    ")
    elif word := word_for(topic):
        yield f"{word}\n\n{fill(WORDS[word])}"
    else:
        near = get_close_matches(topic.lower(), [*BOUNDS, *ESTIMATES, *WORDS, *ALIASES, COMBINATIONS], n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UsageError(f"nothing is known about {topic!r}.{hint} 'surelift explain' lists the topics.")


def explain_policy(path: str) -> Iterator[str]:
    """Lines about a policy, which is read without torch and without safetensors."""
    content = files.description(path)
    files.sealed_bytes(path)
    layout = FeatureLayout.from_description(content["features"])
    first, *more = summary(content["kind"], layout, content["actions"], content["action_count"])
    yield from (f"A policy learned by surelift {content['surelift']}: {first}", *more, "")
    if content["certificate"] is None:
        yield "It has no certificate: nothing is promised about it."
    else:
        yield from explain_certificate(Certificate.from_content(content["certificate"], place=path), path)


def explain_certificate(certificate: Certificate, path: str = "CERTIFICATE") -> Iterator[str]:
    content = certificate.content
    answer, question = content["answer"], content["question"]
    candidates = ", ".join(map(repr, question["policies"]))
    over = "".join(f" over {'production' if name == 'production' else repr(name)}" for name in question.get("over", {}))
    share = question.get("relative_margin")
    margin = f"margin {question.get('margin', 0):g}, " if share is None else f"margin {100 * share:g}%, "
    claims = {name: outcome_from(description) for name, description in question.get("outcomes", {}).items()}
    asked = "".join(f"{name!r} ({claim.column}) {claim.words}, " for name, claim in claims.items()) or margin
    made = f"made by surelift {content['surelift']} from {content['rounds']:,} {counted_in(question)}"
    yield f"A certificate for '{question['kind']}', {made}:"
    yield f"{candidates}{over}; delta {question['delta']:g}, {asked}method {question['method']['method']}.\n"
    results = [*_results_in(answer)]
    yield from (f"  {name}: {_bounds(result)}" for name, result in results)
    if answer.get("many") == "e-bh":
        discoveries = answer["discoveries"] or "none"
        yield f"  discovered, at a false discovery rate of {question['delta']:g}: {discoveries}"
    elif "chosen" in answer:
        by = " (e-Holm: all of this holds at once)" if answer.get("many") == "e-holm" else ""
        yield f"  chosen: {repr(answer['chosen']) if answer['chosen'] else 'none, keep production'}{by}"
    if question["kind"] == "gate":
        yield f"  {'can' if answer['certified'] else 'cannot'} be launched"
    yield "\nIt holds if:"
    # Each once; what not all results have in common, such as the range of an outcome, with the name of its result.
    shared = set.intersection(*(set(result["assumptions"]) for _, result in results))
    stated = ((name, text) for name, result in results for text in result["assumptions"])
    yield from dict.fromkeys(f"- {text}" if text in shared else f"- {name}: {text}" for name, text in stated)
    yield f"\nVerify it with: surelift verify {path} SOURCE (fingerprint {content['fingerprint']})"


def _bounds(result: Mapping[str, Any]) -> str:
    bounds = [
        f"{words} {rounded(result[side], 6, towards=towards)}"
        for side, words, towards in (("lower", "at least", "down"), ("upper", "at most", "up"))
        if result.get(side) is not None
    ]
    relative = [100.0 * result[name] for name in ("relative_lower", "relative_upper") if result.get(name) is not None]
    if len(relative) == 2:
        low, high = (rounded(end, 1, towards=to, sign=True) for end, to in zip(relative, ("down", "up"), strict=True))
        bounds.append(f"relative {low}% to {high}%")
    verdict = "" if "certified" not in result else ", certified" if result["certified"] else ", not certified"
    return f"{', '.join(bounds)}{verdict}"


def _results_in(answer: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every bounded result in an answer, with a label."""
    for segment, inner in answer.get("segments", {}).items():
        for name, result in _results_in(inner):
            yield f"{answer['by']} {segment!r}, {name}", result
    if "guardrails" in answer:
        yield from _results_in(answer["improvement"])
        for column, result in answer["guardrails"].items():
            yield f"guardrail {column!r}", result
    for name, result in (answer.get("improvements") or answer.get("outcomes") or answer.get("policies") or {}).items():
        yield repr(name), result
    if "lower" in answer:
        yield repr(answer["policy"]), answer
