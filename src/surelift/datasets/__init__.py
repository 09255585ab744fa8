"""Logs with known true values: a shop, a router of language models, and any labelled data set as bandit feedback."""

from surelift.datasets.routing import Routing, routing
from surelift.datasets.shop import Shop, shop
from surelift.datasets.supervised import BanditFeedback, encode_labels, faulty_policy, ideal_policy, supervised_to_bandit

__all__ = [
    "BanditFeedback", "Routing", "Shop", "encode_labels", "faulty_policy", "ideal_policy", "routing", "shop",
    "supervised_to_bandit",
]  # fmt: skip
