"""The words of an answer, each in a few lines, and a certificate retold in them."""

from collections.abc import Iterator, Mapping
from typing import Any

from surelift.decisions.certificate import Certificate
from surelift.views.numbers import rounded

WORDS = {
    "propensity": (
        "The probability with which production took the action it took, recorded when it did. Every guarantee rests on "
        "it, and it cannot be recovered afterwards."
    ),
    "weight": (
        "How much more often the candidate would have taken the logged action than production did: its probability "
        "divided by the propensity. The mean weight is near 1 where production can take every action of the candidate."
    ),
    "lower bound": (
        "A number that the true value (or improvement) exceeds with probability at least 1 - delta. At the bottom of the "
        "range it says that there is no evidence, not that there is no value."
    ),
    "upper bound": (
        "A number that the true value (or improvement) does not exceed, with probability at least 1 - delta. It is made "
        "from the rewards that did not come; where rewards are rare and weights large, these are many, and it is far away."
    ),
    "estimate": (
        "The plain mean of weight times reward: what these rounds say by themselves, without a promise. Where a few rounds "
        "carry the weight it is far off; the bounds know that."
    ),
    "delta": "The chance you accept of a bound being wrong: 0.05 is one in twenty.",
    "improvement": (
        "The value of the candidate minus the value of production over the same rounds. It is bounded as one paired "
        "quantity, which is far sharper than comparing two intervals."
    ),
    "certified": (
        "The lower bound on the improvement exceeds the margin. If production were as good, this would happen with "
        "probability at most delta; on the default grid, however often one looked."
    ),
    "margin": "How much better the candidate has to be, in units of the reward, before it counts as better.",
    "e-value": (
        "The winnings of a bet against 'not better than the margin', starting at 1. If that were true, reaching 1/delta "
        "would have probability at most delta; so 20 certifies at delta = 0.05."
    ),
    "effective rounds": (
        "As many equally weighted rounds would say about as much: the squared sum of the weights over the sum of their "
        "squares. Few of them, and every bound is wide."
    ),
    "missing support": (
        "The share of a candidate's decisions that production could never take. What they would earn counts as nothing: "
        "lower bounds stay true and get looser."
    ),
    "mixture policy": (
        "Production in most decisions and the candidate in a share alpha of them (--mix NAME=ALPHA). Its weights are at "
        "least 1 - alpha, so that on the default grid its certificate is alpha times the candidate's own: caution costs no "
        "evidence."
    ),
    "control": (
        "What narrows a bound without voiding it. With weights, where the whole distributions of production and candidate "
        "are known, the size of a weight is no surprise any more: only its reward is. It narrows most where rewards are "
        "frequent and costs a few per cent where they are rare; auto uses it where it can, none never. A policy with a "
        "declared largest weight (bounded) needs no distributions for it. With a model, even the reward is a surprise only "
        "as far as the model did not foresee it."
    ),
    "reward model": (
        "What each action is expected to earn, in each context. It may be as wrong as it likes, and narrows the more the "
        "better it is; it only has to be known before the round it speaks of. So it is refitted along the way on earlier "
        "rounds (control=model, in the order of --time), fitted on another log, or given as a column of predictions."
    ),
    "segment": (
        "A group of rounds told apart before the action, such as a country (--by COLUMN). Each is judged at delta divided "
        "by their number, so that all answers hold together."
    ),
    "guardrail": (
        "A second reward that must not get worse by more than its margin (gate --guardrail COL:MARGIN). Improvement and "
        "guardrails share delta evenly."
    ),
    "false discovery rate": (
        "Of the candidates listed as better (select --many e-bh), the expected share that is not. It finds more among "
        "dozens of candidates than demanding that all bounds hold at once, and certifies no single one."
    ),
    "grid": (
        "The smoothings that are tried at once, fixed beforehand. anytime is the same whatever the number of rounds; "
        "planned is centred on it, a little narrower, and good for one look."
    ),
    "smoothing": (
        "The paper's lambda: how strongly large weights are tamed, on rewards scaled to [0, 1]. It has to be fixed before "
        "the data is seen; the default of single-smoothing methods is 1/sqrt(rounds)."
    ),
    "reward range": (
        "The least and the largest a reward can be by its nature, declared beforehand and never read off the data. Wider "
        "than needed is safe, and costs width."
    ),
    "looks": (
        "How often the growing log may be examined. The default grid holds at any number of looks; a planned grid, or a "
        "smoothing of 1/sqrt(rounds), at one look at a number of rounds fixed beforehand."
    ),
    "certificate": (
        "An answer with the question, the options, the declared range and a fingerprint of the rounds, as JSON. Whoever "
        "has the rounds can compute it again: surelift verify CERTIFICATE SOURCE."
    ),
}


def explain_certificate(certificate: Certificate) -> str:
    content = certificate.content
    answer, options = content["answer"], content["options"]
    baseline = options.get("over")
    candidates = [repr(name) for name in content["policies"] if name != baseline]
    over = "" if baseline is None else f" over {'production' if baseline == 'production' else repr(baseline)}"
    lines = [
        f"A certificate of '{content['question']}', made by surelift {content['surelift']} from"
        f" {content['rounds']:,} rounds:",
        f"{', '.join(candidates)}{over}; delta {options['delta']:g}, margin {options.get('margin', 0):g}, "
        f"method {options['method']}.",
        "",
    ]
    for name, result in _results_in(answer):
        bounds = [
            f"{words} {rounded(result[side], 6, towards=towards)}"
            for side, words, towards in (("lower", "at least", "down"), ("upper", "at most", "up"))
            if result.get(side) is not None
        ]
        verdict = "" if "certified" not in result else ", certified" if result["certified"] else ", not certified"
        lines.append(f"  {name}: {', '.join(bounds)}{verdict}")
    if answer.get("many") == "e-bh":
        lines.append(
            f"  found better, at a false discovery rate of {options['delta']:g}: {answer['discoveries'] or 'none'}"
        )
    elif content["question"] == "select":
        lines.append(f"  chosen: {answer['chosen']!r}" if answer["chosen"] else "  chosen: none, keep production")
    if content["question"] == "gate":
        lines.append(f"  {'may' if answer['certified'] else 'may not'} be launched")
    assumptions = next(result["assumptions"] for _, result in _results_in(answer))
    lines += ["", "It holds if", *(f"- {assumption}" for assumption in assumptions)]
    lines += ["", f"Confirm it with: surelift verify CERTIFICATE SOURCE (fingerprint {content['fingerprint']})"]
    return "\n".join(lines)


def _results_in(answer: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every bounded result of an answer, with what it is about."""
    for segment, inner in answer.get("segments", {}).items():
        for name, result in _results_in(inner):
            yield f"{answer['by']} {segment!r}, {name}", result
    if "guardrails" in answer:
        yield from _results_in(answer["improvement"])
        for column, result in answer["guardrails"].items():
            yield f"guardrail {column!r}", result
    for name, result in (answer.get("improvements") or answer.get("policies") or {}).items():
        yield repr(name), result
    if "lower" in answer:
        yield repr(answer["policy"]), answer
