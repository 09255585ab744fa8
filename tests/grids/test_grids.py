import math

import pytest

from surelift import UsageError, grids
from surelift.grids import Grid


def test_the_anytime_grid_by_hand() -> None:
    grid = grids.anytime()
    assert len(grid.smoothings) == 27
    assert grid.smoothings[0] == 2.0**-20
    assert grid.smoothings[-1] == 64.0
    # The heaviest share is at 2^-4: (2 + 0)^-1.5 against its neighbour's (2 + 1)^-1.5.
    assert grid.prior[16] / grid.prior[17] == pytest.approx((3 / 2) ** 1.5)
    assert grid.any_looks


def test_planned_grids_by_hand() -> None:
    value, gain = grids.planned(400), grids.improvement(400)
    assert value.smoothings[8] == pytest.approx(2 / 20)
    assert gain.smoothings[8] == pytest.approx(4 / 20)
    assert value.smoothings[0] == pytest.approx(2 / 20 / 256)
    assert value.prior[8] / value.prior[11] == pytest.approx(1 + (3 / 1.5) ** 2)
    assert gain.prior[8] / gain.prior[11] == pytest.approx(1 + (3 / 2) ** 2)
    assert not value.any_looks


def test_single_smoothings() -> None:
    assert grids.single(0.3).any_looks
    assert grids.from_rounds(100).smoothings == (0.1,)
    assert not grids.from_rounds(100).any_looks


@pytest.mark.parametrize("grid", [grids.anytime(), grids.planned(7), grids.improvement(10**9), grids.single(2.0)])
def test_priors_sum_to_one(grid: Grid) -> None:
    assert math.fsum(grid.prior) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    "smoothings, prior", [((), ()), ((1.0,), (0.5,)), ((0.0,), (1.0,)), ((1.0, 2.0), (1.0,)), ((math.inf,), (1.0,))]
)
def test_a_grid_that_would_void_the_guarantee_is_rejected(smoothings: tuple[float, ...], prior: tuple[float, ...]) -> None:
    with pytest.raises(UsageError):
        Grid("mine", smoothings, prior)


def test_a_grid_round_trips_through_its_description() -> None:
    assert Grid.from_description(grids.anytime().describe()) == grids.anytime()
    with pytest.raises(UsageError, match="cannot be read"):
        Grid.from_description({"name": "x"})
