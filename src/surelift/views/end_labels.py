"""Names at the ends of lines, moved just far enough not to cover each other."""

from collections.abc import Sequence


def spread(places: Sequence[float], *, apart: float) -> list[float]:
    """Places at least ``apart`` from each other, in the same order and as near to their own as that allows.

    >>> spread([0.0, 0.1, 5.0], apart=1.0)
    [-0.45, 0.55, 5.0]
    """
    groups: list[list[int]] = []
    centres: list[float] = []
    for index in sorted(range(len(places)), key=places.__getitem__):
        groups.append([index])
        centres.append(places[index])
        while len(groups) > 1 and centres[-1] - centres[-2] < apart * (len(groups[-1]) + len(groups[-2])) / 2:
            merged = groups[-2] + groups[-1]
            groups[-2:], centres[-2:] = [merged], [sum(places[member] for member in merged) / len(merged)]
    spaced = [0.0] * len(places)
    for group, centre in zip(groups, centres, strict=True):
        for place, member in enumerate(group):
            spaced[member] = centre + (place - (len(group) - 1) / 2) * apart
    return spaced
