"""Many questions at once: the e-values that are large enough together."""

from collections.abc import Mapping


def discoveries(e_values: Mapping[str, float], *, rate: float) -> tuple[str, ...]:
    r"""The e-BH procedure (Wang and Ramdas 2022): reject the k largest, for the largest k with

    .. math:: e_{(k)} \ge \frac{m}{k \cdot \text{rate}}

    On average at most a share ``rate`` of them is false, however the e-values depend on each other. Each must be taken at
    one and the same moment, never as its running maximum. Of three at a rate of 0.1, two need 15 each, one needs 30:

    >>> discoveries({"a": 16.0, "b": 15.0, "c": 1.0}, rate=0.1)
    ('a', 'b')
    """
    assert all(value >= 0.0 for value in e_values.values()), "an e-value is never negative, and always a number"
    ordered = sorted(e_values, key=lambda name: -e_values[name])
    enough = [k for k, name in enumerate(ordered, start=1) if e_values[name] * k * rate >= len(ordered)]
    return tuple(ordered[: max(enough, default=0)])
