"""Sums become a point estimate."""

from surelift.estimates.ips import plain_mean

__all__ = ["plain_mean"]
