"""Rounding never makes a bound look better than it is."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from surelift.views.formats import decimals_for, rounded


@given(number=st.floats(-1e6, 1e6), decimals=st.integers(2, 12))
def test_a_lower_bound_rounds_down_and_an_upper_bound_up(number: float, decimals: int) -> None:
    down, up = (Decimal(rounded(number, decimals, towards=side).replace(",", "")) for side in ("down", "up"))
    assert down <= Decimal(number) <= up
    assert up - down <= Decimal(1).scaleb(-decimals)


def test_zero_has_no_minus_sign() -> None:
    assert rounded(-0.0001, 2) == "0.00"
    assert rounded(-0.0001, 2, towards="down") == "-0.01"
    assert rounded(-0.0, 3, sign=True) == "+0.000"
    assert decimals_for(0.0) == 4
