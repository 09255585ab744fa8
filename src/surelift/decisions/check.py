"""Are these logs fit for a guarantee, are their propensities right, and how much can they say about each policy?"""

from collections.abc import Sequence
from typing import Any

from surelift.logs.segments import By, SegmentColumn
from surelift.questions.health import HealthQuestion
from surelift.questions.question import Progress
from surelift.questions.stored import made
from surelift.results.health import Health
from surelift.traits.logs import Logs


def check(
    logs: Logs,
    policies: Any = None,
    *,
    level: float = 0.001,
    by: SegmentColumn | Sequence[By] | None = None,
    progress: Progress | None = None,
) -> Health:
    """Test whether logs are fit for a guarantee: rows, propensities, overlap, weights.

    Every round is read once. The propensities are tested overall, by action, by day where ``time`` is declared, and in
    the segments of ``by``. With production's whole distribution (``logging``) they are tested in both directions,
    otherwise only for being too small, by the candidates' weights and by the number of actions where it is declared;
    with a declared largest weight (``bounded``) the weights are tested in both. A column of ``by`` that tells of the
    action is refused.

    Where ``time`` is declared, rewards and propensities that differ from day to day by more than chance are warned of;
    independent rounds of one law are, with probability at most ``level`` too.

    >>> check(Logs(reward=[0, 1], propensity=[0.5, 1.2])).ok
    False

    Args:
        logs: The log to test.
        policies: Candidates whose weights are examined: a column, a list of columns, or a dict from names to policies.
        level: The probability with which right propensities are refused, for all tests together, however often you look
            at a list of segments that does not grow.
        by: Columns known before the action, each tested by itself; those of an inner list are tested in combination.
        progress: Called with the number of rounds read so far.

    Returns:
        A ``Health``, with ``.ok``, ``.findings`` and their remedies, and the weights of each policy.
    """
    answer: Health = made(HealthQuestion, logs, policies, level=level, by=by).ask(logs, progress=progress)
    return answer
