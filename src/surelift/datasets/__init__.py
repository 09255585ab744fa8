"""Logs with known true values: an embedded shop, and any labelled data set turned into bandit feedback."""

from surelift.datasets.shop import Shop, shop
from surelift.datasets.supervised import (
    BanditFeedback,
    encode_labels,
    faulty_policy,
    ideal_policy,
    supervised_to_bandit,
)

__all__ = ["BanditFeedback", "Shop", "encode_labels", "faulty_policy", "ideal_policy", "shop", "supervised_to_bandit"]
