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
from surelift.learning.summary import summary
from surelift.questions.certificate import Certificate, damage_told
from surelift.results.outcomes import outcome_from
from surelift.results.provenance import counted_in
from surelift.views.glossary import ALIASES, WORDS, word_for
from surelift.views.numbers import rounded

COMBINATIONS = "combinations"


def explain(
    *words: Annotated[
        str, Parameter(name="TOPIC", help="A method, an estimator, a word, a certificate file or a policy file.")
    ],
) -> int:
    print_answer("\n".join(_told(" ".join(words))))
    return 0


def _told(topic: str) -> Iterator[str]:
    if topic.lower() in (*BOUNDS, *ESTIMATES) and not os.path.isfile(topic):
        topic = topic.lower()
    if not topic:
        yield "surelift explain TOPIC, where TOPIC is one of\n"
        for kind, topics in (("methods", BOUNDS), ("estimates", ESTIMATES), ("words", WORDS)):
            listed = f"  {kind}: {', '.join(topics)}"
            yield fill(listed, subsequent_indent="    ", break_on_hyphens=False)
        yield "  combinations: what does not go together, and why"
        yield "  or a certificate file, or a policy file"
    elif topic == COMBINATIONS and not os.path.isfile(topic):
        yield from _combinations()
    elif topic in BOUNDS:
        bound = BOUNDS[topic]
        yield f"{topic}\n\n{fill(bound.says)}\n"
        yield f"Promise: {bound.promise}.  Needs: {bound.needs}.  Options: {', '.join(bound.options) or 'none'}."
        yield f"Proved: {bound.proved}."
        if topic in ESTIMATES:
            yield f"\nAs a point estimate (--estimator {topic}): {ESTIMATES[topic].says}"
    elif topic in ESTIMATES:
        estimate = ESTIMATES[topic]
        yield f"{topic}\n\n{fill(f'{estimate.says} A point estimate carries no promise.')}\n"
        yield f"Hyper-parameter: {estimate.parameter or 'none'}.  From: {estimate.seen}."
    elif (word := word_for(topic)) and not os.path.isfile(topic):
        yield f"{word}\n\n{fill(WORDS[word])}"
    elif os.path.isfile(topic):
        with damage_told():
            policy = topic.lower().endswith(".safetensors") or files.is_policy(topic)
            yield explain_policy(topic) if policy else explain_certificate(Certificate.load(topic))
    else:
        near = get_close_matches(topic.lower(), [*BOUNDS, *ESTIMATES, *WORDS, *ALIASES, COMBINATIONS], n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UsageError(f"nothing is known about {topic!r}.{hint} 'surelift explain' lists the topics.")


def _combinations() -> Iterator[str]:
    yield "What does not go together, and why; everything else does.\n"
    for (one, other), reason in capabilities.NOT_TOGETHER.items():
        yield f"{capabilities.declared(one)} and {capabilities.declared(other)}"
        yield fill(f"{reason}.", initial_indent="    ", subsequent_indent="    ")
    yield "\nWhat needs something else\n"
    for feature, (_, reason) in capabilities.NEEDS.items():
        yield fill(f"{feature} {reason}.", subsequent_indent="    ")


def explain_policy(path: str) -> str:
    """Read without torch and without safetensors."""
    content = files.description(path)
    files.sealed_bytes(path)
    layout = FeatureLayout.from_description(content["features"])
    first, *more = summary(content["kind"], layout, content["actions"], content["action_count"])
    head = [f"A policy learned by surelift {content['surelift']}: {first}", *more, ""]
    if content["certificate"] is None:
        return "\n".join([*head, "It has no certificate: nothing is promised about it."])
    certificate = Certificate.from_content(content["certificate"], place=path)
    return "\n".join([*head, explain_certificate(certificate, path)])


def explain_certificate(certificate: Certificate, path: str = "CERTIFICATE") -> str:
    content = certificate.content
    answer, question = content["answer"], content["question"]
    candidates = [repr(name) for name in question["policies"]]
    over = "".join(f" over {'production' if name == 'production' else repr(name)}" for name in question.get("over", {}))
    lines = [
        f"A certificate for '{question['kind']}', made by surelift {content['surelift']} from"
        f" {content['rounds']:,} {counted_in(question)}:",
        f"{', '.join(candidates)}{over}; delta {question['delta']:g}, {_margin(question)}"
        f"method {question['method']['method']}.",
        "",
    ]
    for name, result in _results_in(answer):
        bounds = [
            f"{words} {rounded(result[side], 6, towards=towards)}"
            for side, words, towards in (("lower", "at least", "down"), ("upper", "at most", "up"))
            if result.get(side) is not None
        ]
        if result.get("relative_lower") is not None and result.get("relative_upper") is not None:
            share = [rounded(100.0 * result[f"relative_{side}"], 1, towards=to, sign=True)
                     for side, to in (("lower", "down"), ("upper", "up"))]  # fmt: skip
            bounds.append(f"relative {share[0]}% to {share[1]}%")
        verdict = "" if "certified" not in result else ", certified" if result["certified"] else ", not certified"
        lines.append(f"  {name}: {', '.join(bounds)}{verdict}")
    if answer.get("many") == "e-bh":
        discoveries = answer["discoveries"] or "none"
        lines.append(f"  discovered, at a false discovery rate of {question['delta']:g}: {discoveries}")
    elif "chosen" in answer:
        by = {"e-holm": " (e-Holm: all of this holds at once)"}.get(answer.get("many", ""), "")
        lines.append(f"  chosen: {answer['chosen']!r}{by}" if answer["chosen"] else f"  chosen: none, keep production{by}")
    if question["kind"] == "gate":
        lines.append(f"  {'can' if answer['certified'] else 'cannot'} be launched")
    lines += ["", "It holds if:", *(f"- {assumption}" for assumption in _assumptions(answer))]
    lines += ["", f"Verify it with: surelift verify {path} SOURCE (fingerprint {content['fingerprint']})"]
    return "\n".join(lines)


def _assumptions(answer: Mapping[str, Any]) -> Iterator[str]:
    """Each once; what not all results have in common, such as the range of an outcome, with the name of its result."""
    stated = {name: result["assumptions"] for name, result in _results_in(answer)}
    shared = set.intersection(*map(set, stated.values()))
    said = (text if text in shared else f"{name}: {text}" for name, texts in stated.items() for text in texts)
    return iter(dict.fromkeys(said))


def _margin(question: Mapping[str, Any]) -> str:
    """What was asked of the improvement, or of each outcome."""
    if "outcomes" not in question:
        share = question.get("relative_margin")
        return f"margin {question.get('margin', 0):g}, " if share is None else f"margin {100 * share:g}%, "
    claims = {name: outcome_from(description) for name, description in question["outcomes"].items()}
    return "".join(f"{name!r} ({claim.column}) {claim.words}, " for name, claim in claims.items())


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
